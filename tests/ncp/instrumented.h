#pragma once

// Layers computed once more by plain loops over numbers that count what is done with them and arrays that note what is
// touched: what formulas for work are held against.

#include "tessera/ncp/layer.h"
#include "tessera/ncp/sequence.h"

#include <vector>

namespace tessera::ncp::for_tests {

struct Tally {
  double flops = 0;     // of synapses that exist
  double executed = 0;  // of all that a dense kernel goes through
  double specials = 0;  // executed
  double bytes = 0;     // distinct values that each kernel reads or writes, four bytes each
  int launches = 0;
};

struct Counted {
  Tally tally{};
  std::vector<double> output{};  // as run_reference() gives it
};

// Every product with what follows it as one kernel. `skip_absent`: synapses that do not exist are not looked at.
Counted run_counted(const Layer& layer, const ParameterSet<double>& parameters, const Sequence<double>& sequence,
                    bool skip_absent = false);

}  // namespace tessera::ncp::for_tests
