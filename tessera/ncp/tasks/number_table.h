#pragma once

// CSV tables of numbers with a heading line, one row per time step. A column 'elapsed' holds the time since the row
// before; a column 'sequence' changes where a new sequence begins; columns whose names begin with 'target' are what a
// layer is trained for; all others are inputs.

#include "tessera/core/export.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::ncp {

struct NumberTable {
  std::vector<std::string> names;
  std::vector<std::vector<double>> rows;  // finite; times in 'elapsed' are not negative
};

// An Error names the line and the column.
TSR_API NumberTable parse_number_table(std::string_view text);

// The inputs of a table, in order, for a layer that is to run over them.
struct TableSequence {
  double name = 0;  // what the column 'sequence' says
  std::int64_t steps = 0;
  std::vector<float> input{};      // [steps, inputs]
  std::vector<float> timespans{};  // [steps]; none without 'elapsed'
};
struct TableInputs {
  std::vector<std::string> names;  // of inputs
  bool named = false;              // whether there is a column 'sequence'
  std::vector<TableSequence> sequences;
};
TSR_API TableInputs table_inputs(const NumberTable& table);

}  // namespace tessera::ncp
