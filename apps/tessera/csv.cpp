#include "csv.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <utility>

namespace tessera::cli {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

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
  Reader reader(text);
  check(!reader.done(), Code::parse, "the table is empty: not even a heading");
  Csv csv;
  csv.columns = reader.record();
  while (!reader.done()) {
    const int line = reader.line();
    std::vector<std::string> row = reader.record();
    if (row.size() == 1 && row[0].empty()) continue;
    check(row.size() == csv.columns.size(), Code::parse, "line {}: {} fields, but the heading has {}", line, row.size(),
          csv.columns.size());
    csv.rows.push_back(std::move(row));
  }
  return csv;
}

}  // namespace tessera::cli
