#pragma once

#include "tessera/core/export.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// A table with a heading line, as RFC 4180 has it; lines may end in \n alone. Empty lines are skipped.
struct TSR_API Csv {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // as long as `columns`
  std::vector<int> lines;                      // where each row begins in the text, from 1

  // Where a column is; -1 if there is none.
  int find(std::string_view column) const;
};

// An Error names the line that is not part of a table.
TSR_API Csv parse_csv(std::string_view text);

}  // namespace tessera
