#include "tessera/ncp/tasks/number_table.h"

#include "tessera/core/csv.h"
#include "tessera/core/error.h"

#include <charconv>
#include <cmath>

namespace tessera::ncp {
namespace {

std::string_view trimmed(std::string_view field) {
  while (field.starts_with(' ')) field.remove_prefix(1);
  while (field.ends_with(' ')) field.remove_suffix(1);
  return field;
}

double number(std::string_view field, int line, std::string_view column) {
  double value = 0;
  const auto [next, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  check(error == std::errc{} && next == field.data() + field.size() && std::isfinite(value), Code::parse,
        "line {}, column '{}': '{}' is no finite number", line, column, field);
  return value;
}

}  // namespace

NumberTable parse_number_table(std::string_view text) {
  NumberTable table;
  if (text.find_first_not_of("\r\n") != std::string_view::npos) {
    const Csv csv = parse_csv(text);
    for (const std::string& name : csv.columns) table.names.emplace_back(trimmed(name));
    for (std::size_t i = 0; i < csv.rows.size(); ++i) {
      std::vector<double>& row = table.rows.emplace_back();
      for (std::size_t column = 0; column < table.names.size(); ++column)
        row.push_back(number(trimmed(csv.rows[i][column]), csv.lines[i], table.names[column]));
    }
  }
  check(!table.rows.empty(), Code::parse, "there is no line of numbers below the names");
  for (std::size_t column = 0; column < table.names.size(); ++column)
    if (table.names[column] == "elapsed")
      for (std::size_t i = 0; i < table.rows.size(); ++i)
        check(table.rows[i][column] >= 0, Code::parse,
              "row {} below the names has {} in 'elapsed': the time since the row before cannot be negative", i + 1,
              table.rows[i][column]);
  return table;
}

TableInputs table_inputs(const NumberTable& table) {
  TableInputs out;
  std::vector<std::size_t> inputs;
  std::size_t elapsed = table.names.size(), sequence = table.names.size();
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    if (table.names[i] == "elapsed") {
      elapsed = i;
    } else if (table.names[i] == "sequence") {
      sequence = i;
      out.named = true;
    } else if (!table.names[i].starts_with("target")) {
      inputs.push_back(i);
      out.names.push_back(table.names[i]);
    }
  }
  for (const std::vector<double>& row : table.rows) {
    const double name = out.named ? row[sequence] : 0;
    if (out.sequences.empty() || out.sequences.back().name != name) out.sequences.push_back({.name = name});
    TableSequence& to = out.sequences.back();
    ++to.steps;
    for (const std::size_t i : inputs) to.input.push_back(static_cast<float>(row[i]));
    if (elapsed < table.names.size()) to.timespans.push_back(static_cast<float>(row[elapsed]));
  }
  return out;
}

}  // namespace tessera::ncp
