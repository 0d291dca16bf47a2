#pragma once

// What copies moved from and to each tensor in HBM, and how much of that was there to be had once.

#include "tessera/core/export.h"
#include "tessera/targets/neuron/core/view.h"

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace tessera::neuron {

struct TensorTraffic {
  std::string name;
  std::int64_t bytes = 0;  // of the tensor
  std::int64_t loads = 0, loaded_bytes = 0;
  std::int64_t distinct_loads = 0, distinct_bytes = 0;  // of those: copies of a part that none before had loaded
  std::int64_t stores = 0, stored_bytes = 0;
};

class Traffic {
 public:
  std::int64_t add(std::string name, std::int64_t bytes);  // a tensor's number
  void count(const View& src, const View& dst);            // a copy; either may lie on chip
  const std::vector<TensorTraffic>& tensors() const { return tensors_; }

 private:
  std::vector<TensorTraffic> tensors_;
  std::vector<std::unordered_set<std::string>> seen_;  // by tensor: the parts that were loaded
};

}  // namespace tessera::neuron
