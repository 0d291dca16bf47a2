#include "tessera/report/table.h"

#include "tessera/core/error.h"
#include "tessera/report/units.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

constexpr int kTableSchema = 1;

struct Range {
  char32_t first, last;
};

// Combining marks and joiners, then the blocks that terminals draw in two columns.
constexpr std::array kZeroWidth = {Range{0x0300, 0x036F}, Range{0x200B, 0x200F}, Range{0x20D0, 0x20FF},
                                   Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}};
constexpr std::array kDoubleWidth = {Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0xA4CF},
                                     Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},
                                     Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},   Range{0x1F300, 0x1F64F},
                                     Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};

bool in(char32_t code, std::span<const Range> ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return code >= range.first && code <= range.last; });
}

// Takes one character off the front. A byte that starts no valid sequence is a character of its own.
char32_t next_code_point(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const int length = lead < 0x80 ? 1 : lead >> 5 == 0x6 ? 2 : lead >> 4 == 0xE ? 3 : lead >> 3 == 0x1E ? 4 : 0;
  char32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  bool valid = length > 0 && text.size() >= static_cast<std::size_t>(length);
  for (int i = 1; valid && i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[static_cast<std::size_t>(i)]);
    valid = byte >> 6 == 0x2;
    code = code << 6 | (byte & 0x3F);
  }
  text.remove_prefix(valid ? static_cast<std::size_t>(length) : 1);
  return valid ? code : 0xFFFD;
}

std::string heading(const Column& column) {
  return column.unit.empty() ? column.name : fmt::format("{} [{}]", column.name, column.unit);
}

const std::string& field(const Column& column) { return column.key.empty() ? column.name : column.key; }

// A line break or tab in a cell would break the line it stands in.
std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  return text;
}

void append_padded(std::string& out, const std::string& text, int width, Align align) {
  const std::string padding(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  out += align == Align::right ? padding + text : text + padding;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// The raw value with every digit; people's forms do the rounding.
std::string raw_text(const Cell& cell) {
  struct Visitor {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(const std::string& text) const { return text; }
  };
  return std::visit(Visitor{}, cell.value());
}

nlohmann::ordered_json json_value(const Cell& cell) {
  struct Visitor {
    nlohmann::ordered_json operator()(std::monostate) const { return nullptr; }
    nlohmann::ordered_json operator()(bool flag) const { return flag; }
    nlohmann::ordered_json operator()(std::int64_t number) const { return number; }
    nlohmann::ordered_json operator()(double number) const {
      return std::isfinite(number) ? nlohmann::ordered_json(number) : nlohmann::ordered_json(nullptr);
    }
    nlohmann::ordered_json operator()(const std::string& text) const { return text; }
  };
  return std::visit(Visitor{}, cell.value());
}

}  // namespace

std::string_view name(Format format) {
  switch (format) {
    case Format::table: return "table";
    case Format::markdown: return "md";
    case Format::csv: return "csv";
    case Format::json: return "json";
  }
  return "table";
}

std::span<const Format> all_formats() {
  static constexpr Format kAll[] = {Format::table, Format::markdown, Format::csv, Format::json};
  return kAll;
}

std::optional<Format> parse_format(std::string_view text) {
  for (const Format format : all_formats())
    if (text == name(format)) return format;
  return std::nullopt;
}

std::string Cell::text() const {
  if (shown_) return *shown_;
  if (const auto* number = std::get_if<double>(&value_)) return format_number(*number);
  return raw_text(*this);
}

void Table::add_row(std::vector<Cell> cells) {
  check(cells.size() == columns_.size(), Code::internal, "a row of {} cells does not fit a table of {} columns",
        cells.size(), columns_.size());
  rows_.push_back(std::move(cells));
}

int display_width(std::string_view utf8) {
  int width = 0;
  while (!utf8.empty()) {
    const char32_t code = next_code_point(utf8);
    if (code < 0x20 || in(code, kZeroWidth)) continue;
    width += in(code, kDoubleWidth) ? 2 : 1;
  }
  return width;
}

std::string render_text(const Table& table) {
  const std::size_t count = table.columns().size();
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : table.columns()) lines.front().push_back(one_line(heading(column)));
  for (const std::vector<Cell>& row : table.rows()) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const Cell& cell : row) line.push_back(one_line(cell.empty() ? "-" : cell.text()));
  }
  std::vector<int> widths(count, 0);
  for (const std::vector<std::string>& line : lines)
    for (std::size_t i = 0; i < count; ++i) widths[i] = std::max(widths[i], display_width(line[i]));

  std::string out;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out += "  ";
      append_padded(out, lines[n][i], widths[i], table.columns()[i].align);
    }
    out.erase(out.find_last_not_of(' ') + 1);  // what pads the last column is of no use
    out += '\n';
    if (n > 0) continue;
    for (std::size_t i = 0; i < count; ++i)
      out += (i > 0 ? "  " : "") + std::string(static_cast<std::size_t>(widths[i]), '-');
    out += '\n';
  }
  return out;
}

std::string render_markdown(const Table& table) {
  const auto cell = [](std::string text) {
    std::string escaped;
    for (const char c : one_line(std::move(text))) {
      if (c == '|' || c == '\\') escaped += '\\';
      escaped += c;
    }
    return " " + escaped + " |";
  };
  std::string out = "|";
  for (const Column& column : table.columns()) out += cell(heading(column));
  out += "\n|";
  for (const Column& column : table.columns()) out += column.align == Align::right ? " ---: |" : " --- |";
  out += '\n';
  for (const std::vector<Cell>& row : table.rows()) {
    out += '|';
    for (const Cell& value : row) out += cell(value.text());
    out += '\n';
  }
  return out;
}

std::string render_csv(const Table& table) {
  std::string out;
  for (std::size_t i = 0; i < table.columns().size(); ++i) out += (i ? "," : "") + csv_field(field(table.columns()[i]));
  out += "\r\n";
  for (const std::vector<Cell>& row : table.rows()) {
    for (std::size_t i = 0; i < row.size(); ++i) out += (i ? "," : "") + csv_field(raw_text(row[i]));
    out += "\r\n";
  }
  return out;
}

std::string render_json(const Table& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const std::vector<Cell>& row : table.rows()) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[field(table.columns()[i])] = json_value(row[i]);
    rows.push_back(std::move(object));
  }
  nlohmann::ordered_json document;
  document["schema"] = kTableSchema;
  document["rows"] = std::move(rows);
  // Text from files may not be UTF-8; the reader gets U+FFFD rather than no report at all.
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string render(const Table& table, Format format) {
  switch (format) {
    case Format::table: return render_text(table);
    case Format::markdown: return render_markdown(table);
    case Format::csv: return render_csv(table);
    case Format::json: return render_json(table);
  }
  return {};
}

}  // namespace tessera
