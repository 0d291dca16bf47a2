#pragma once

// Weights of products whose parameters change all the time: for every place of the packed forms, forward and backward,
// it is known once and for all which parameter goes there.

#include "tessera/core/function_ref.h"

#include <cstdint>
#include <vector>

namespace tessera::ncp {

// In the dense kernel's layout. `from` are places in one row of all parameters; the last place of it is a zero.
struct GatheredWeights {
  std::int64_t inputs = 0;
  std::int64_t blocks = 0;
  std::vector<std::int32_t> from{};
  std::vector<float> values{};
  std::vector<std::uint32_t> pairs{};  // of a kernel that takes pairs
  void take(const float* row);
  // From values that bfloat16 has; `width` is that of a block.
  void pair(std::int64_t width);
};

struct TrainedProduct {
  bool quads = false;
  std::int64_t blocks = 0;
  std::int64_t width = 0;          // of its sums, padded
  std::int64_t first_inputs = 0;   // from one place
  std::int64_t second_inputs = 0;  // and from another
  GatheredWeights first{}, second{}, bias{};
  GatheredWeights first_back{}, second_back{};  // from gradients of sums to those of inputs
  // Where gradients of weights from either place and of the bias are in a row of packed gradients.
  std::int64_t first_gradient = 0, second_gradient = 0, bias_gradient = 0;

  void take(const float* row);
};

// place(part, unit, input) is the parameter's place, with input -1 for the bias; inputs of the second kind follow those
// of the first. There are four parts where quads are asked for.
TrainedProduct make_trained_product(int lanes, bool quads, std::int64_t units, std::int64_t first, std::int64_t second,
                                    std::int32_t nowhere,
                                    FunctionRef<std::int32_t(int part, std::int64_t unit, std::int64_t input)> place);

// Packed gradients of chunks of a batch, and where they belong among the parameters.
class PackedGradients {
 public:
  // Returns where the gradients begin in a packed row.
  std::int64_t add(const GatheredWeights& weights);
  void add(TrainedProduct& product);

  std::int64_t size() const { return static_cast<std::int64_t>(from_.size()); }
  // Sums of the rows, one after the other, into the row of all parameters.
  void unpack(const std::vector<const float*>& packed, std::int32_t nowhere, std::vector<float>& row) const;

 private:
  std::vector<std::int32_t> from_{};
};

}  // namespace tessera::ncp
