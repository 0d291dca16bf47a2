#pragma once

// Losses whose samples are in several processes, and whether these still have the same parameters.

#include "tessera/ncp/gradient_exchange.h"
#include "tessera/ncp/loss.h"
#include "tessera/ncp/parameters.h"

#include <cstdint>
#include <vector>

namespace tessera::ncp {

struct TotalLoss {
  LossSums sums{};
  int not_finite_at = -1;  // the first process with a loss that is not; -1: none
};

class SampleLosses {
 public:
  // Samples that are added now are numbered from here on.
  void begin_at(std::int64_t first) { first_ = first; }
  void add(std::int64_t sample, const LossSums& sums);
  // Over all processes, the same in each. In the order of samples in one process and with an exchange in order.
  TotalLoss total(GradientExchange* exchange) const;

 private:
  struct Item {
    std::int64_t sample = 0;
    LossSums sums{};
  };
  std::int64_t first_ = 0;
  std::vector<Item> items_{};
};

// An Error in every process unless all have the same bits.
void check_same_everywhere(GradientExchange& exchange, const ParameterSet<float>& parameters, std::int64_t epoch);

}  // namespace tessera::ncp
