#include "tessera/core/csv.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  bool done() const { return at_ >= text_.size(); }
  int line() const { return line_; }

  std::vector<std::string> record() {
    std::vector<std::string> fields;
    for (;;) {
      fields.push_back(field());
      if (done() || text_[at_] != ',') break;
      ++at_;
    }
    if (!done() && text_[at_] == '\r') ++at_;
    if (!done()) {
      check(text_[at_] == '\n', Code::parse, "line {}: '{}' after a quoted field", line_, text_[at_]);
      ++at_;
    }
    ++line_;
    return fields;
  }

 private:
  std::string field() {
    if (done() || text_[at_] != '"') {
      const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
      return std::string(text_.substr(std::exchange(at_, end), end - at_));
    }
    std::string out;
    const int opened = line_;
    for (++at_;; ++at_) {
      check(!done(), Code::parse, "line {}: a quoted field does not end", opened);
      if (text_[at_] == '"') {
        ++at_;
        if (done() || text_[at_] != '"') return out;
      }
      if (text_[at_] == '\n') ++line_;
      out += text_[at_];
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

int Csv::find(std::string_view column) const {
  const auto it = std::find(columns.begin(), columns.end(), column);
  return it == columns.end() ? -1 : static_cast<int>(it - columns.begin());
}

Csv parse_csv(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  CsvReader reader(text);
  Csv csv;
  while (!reader.done()) {
    const int line = reader.line();
    std::vector<std::string> fields = reader.record();
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (csv.columns.empty()) {
      csv.columns = std::move(fields);
      continue;
    }
    check(fields.size() == csv.columns.size(), Code::parse, "line {} has {} fields, the first line names {}", line,
          fields.size(), csv.columns.size());
    csv.rows.push_back(std::move(fields));
    csv.lines.push_back(line);
  }
  check(!csv.columns.empty(), Code::parse, "the table is empty: not even a heading");
  return csv;
}

}  // namespace tessera
