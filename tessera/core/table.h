#pragma once

// A table as a value. Its forms (text, Markdown, CSV, JSON) are in report/table.h. People read the text of a cell; CSV
// and JSON carry its raw value.

#include "tessera/core/export.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string name;       // heading for people
  std::string key = {};   // field name in CSV and JSON, with the unit of the raw value: "l1_bytes"; empty: the heading
  std::string unit = {};  // shown with the heading
  Align align = Align::left;
  int detail = 0;  // where a table is too wide, columns of more detail are left out first, the last of them before
};

class Cell {
 public:
  using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

  Cell() = default;
  Cell(std::string text) : value_(std::move(text)) {}
  Cell(std::string_view text) : value_(std::string(text)) {}
  Cell(const char* text) : value_(std::string(text)) {}
  template <std::same_as<bool> T>  // so that no pointer becomes a bool
  Cell(T flag) : value_(flag) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Cell(T number) : value_(static_cast<std::int64_t>(number)) {}
  Cell(double number) : value_(number) {}
  // A raw value with the words that people get to see instead: Cell(1499136, "1.43 MiB").
  template <class T>
  Cell(T&& raw, std::string shown) : Cell(std::forward<T>(raw)) {
    shown_ = std::move(shown);
  }

  const Value& value() const { return value_; }
  bool empty() const { return value_.index() == 0; }
  TSR_API std::string text() const;

 private:
  Value value_;
  std::optional<std::string> shown_;
};

class TSR_API Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns, or an Error.
  void add_row(std::vector<Cell> cells);

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace tessera
