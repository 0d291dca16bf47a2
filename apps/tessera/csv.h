#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

// A table with a heading line, as RFC 4180 has it; lines may end in \n alone.
struct Csv {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // as long as `columns`

  // Where a column is; -1 if there is none.
  int find(std::string_view column) const;
};

// An Error names the line that is not part of a table.
Csv parse_csv(std::string_view text);

}  // namespace tessera::cli
