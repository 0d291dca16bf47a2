#include "tessera/report/table.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/report/units.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

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
  return is_printable(text) ? text : printable(text);
}

void append_padded(std::string& out, const std::string& text, int width, Align align) {
  const std::string padding(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  out += align == Align::right ? padding + text : text + padding;
}

// Words of a text in lines of so many columns; a longer word is cut.
std::vector<std::string> wrapped(std::string_view text, int width) {
  std::vector<std::string> lines{""};
  int used = 0;
  while (!text.empty()) {
    const std::size_t space = text.find(' '), end = std::min(space, text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const int gap = used > 0 ? 1 : 0;
    if (used > 0 && used + gap + display_width(word) > width) {
      lines.emplace_back();
      used = 0;
    } else if (gap > 0) {
      lines.back() += ' ';
      ++used;
    }
    while (!word.empty()) {
      std::string_view rest = word;
      next_code_point(rest);
      const std::string_view letter = word.substr(0, word.size() - rest.size());
      const int columns = display_width(letter);
      if (used > 0 && used + columns > width) {
        lines.emplace_back();
        used = 0;
      }
      lines.back() += letter;
      used += columns;
      word = rest;
    }
  }
  return lines;
}

// A table on its way to being lines of text.
class TextTable {
 public:
  explicit TextTable(const Table& table) : columns_(table.columns()) {
    for (const Column& column : columns_) head_.push_back(one_line(heading(column)));
    for (const std::vector<Cell>& row : table.rows()) {
      std::vector<std::string>& line = rows_.emplace_back();
      for (const Cell& cell : row) line.push_back(one_line(cell.empty() ? "-" : cell.text()));
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      shown_.push_back(i);
      widths_.push_back(display_width(head_[i]));
      for (const std::vector<std::string>& line : rows_) widths_[i] = std::max(widths_[i], display_width(line[i]));
    }
  }

  void fit(int width) {
    while (total() > width && (narrow_one(width) || leave_one_out())) {
    }
    if (total() < width)  // what was left out may have been more than there was to save
      for (const std::size_t i : shown_) widths_[i] = std::min(natural(i), widths_[i] + width - total());
  }

  std::string text() const {
    std::string out = line_of(head_);
    for (const std::size_t i : shown_)
      out += (i == shown_.front() ? "" : "  ") + std::string(static_cast<std::size_t>(widths_[i]), '-');
    out += '\n';
    for (const std::vector<std::string>& row : rows_) out += line_of(row);
    if (!left_out_.empty()) {
      std::vector<std::string> names;
      for (const std::size_t i : left_out_) names.push_back(head_[i]);
      out += fmt::format("({} more: {}; --wide shows them)\n",
                         left_out_.size() == 1 ? "1 column" : fmt::format("{} columns", left_out_.size()),
                         fmt::join(names, ", "));
    }
    return out;
  }

 private:
  static constexpr int kNarrowest = 16;  // of a text that is wrapped

  int total() const {
    int sum = 2 * (static_cast<int>(shown_.size()) - 1);
    for (const std::size_t i : shown_) sum += widths_[i];
    return sum;
  }

  int natural(std::size_t i) const {
    int width = display_width(head_[i]);
    for (const std::vector<std::string>& line : rows_) width = std::max(width, display_width(line[i]));
    return width;
  }

  // The widest text, down to the next one.
  bool narrow_one(int width) {
    std::size_t widest = columns_.size();
    for (const std::size_t i : shown_)
      if (columns_[i].align == Align::left && widths_[i] > kNarrowest &&
          (widest == columns_.size() || widths_[i] > widths_[widest]))
        widest = i;
    if (widest == columns_.size()) return false;
    int next = kNarrowest;
    for (const std::size_t i : shown_)
      if (i != widest && columns_[i].align == Align::left && widths_[i] < widths_[widest])
        next = std::max(next, widths_[i]);
    widths_[widest] = std::max({next, widths_[widest] - (total() - width), kNarrowest});
    return true;
  }

  bool leave_one_out() {
    std::size_t out = 0;  // among those that are shown
    for (std::size_t s = 1; s < shown_.size(); ++s)
      if (out == 0 || columns_[shown_[s]].detail >= columns_[shown_[out]].detail) out = s;
    if (out == 0) return false;
    left_out_.insert(shown_[out]);
    shown_.erase(shown_.begin() + static_cast<std::ptrdiff_t>(out));
    for (const std::size_t i : shown_) widths_[i] = natural(i);  // perhaps none need be wrapped now
    return true;
  }

  std::string line_of(const std::vector<std::string>& cells) const {
    std::vector<std::vector<std::string>> lines;
    std::size_t height = 1;
    for (const std::size_t i : shown_) {
      lines.push_back(display_width(cells[i]) > widths_[i] ? wrapped(cells[i], widths_[i])
                                                           : std::vector<std::string>{cells[i]});
      height = std::max(height, lines.back().size());
    }
    std::string out;
    for (std::size_t n = 0; n < height; ++n) {
      for (std::size_t s = 0; s < shown_.size(); ++s) {
        if (s > 0) out += "  ";
        append_padded(out, n < lines[s].size() ? lines[s][n] : "", widths_[shown_[s]], columns_[shown_[s]].align);
      }
      out.erase(out.find_last_not_of(' ') + 1);  // what pads the last column is of no use
      out += '\n';
    }
    return out;
  }

  const std::vector<Column>& columns_;
  std::vector<std::string> head_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> shown_;
  std::vector<int> widths_;
  std::set<std::size_t> left_out_;
};

// A spreadsheet would take a text that begins so for a formula, and run it.
bool looks_like_a_formula(std::string_view text) {
  return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
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

std::string csv_cell(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell.value());
  if (text != nullptr && looks_like_a_formula(*text)) return csv_field("'" + *text);
  return csv_field(raw_text(cell));
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

std::string render_text(const Table& table) { return TextTable(table).text(); }

std::string render_text(const Table& table, int width) {
  TextTable text(table);
  text.fit(width);
  return text.text();
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
    for (std::size_t i = 0; i < row.size(); ++i) out += (i ? "," : "") + csv_cell(row[i]);
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
