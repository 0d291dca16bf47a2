#pragma once

// What a convolution on the card comes to: im2col in the card's order of k, then a product (product_values.h). Pure
// functions over host floats; nothing here knows a device.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_problem.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::tensix {

// In which order the reduction over window and channels runs: [part of the channels][kernel row][kernel column]
// [channel], each part cut into equal blocks of whole tiles with zeros behind.
struct Conv2dOrder {
  std::int64_t channels_padded = 0;  // of the input; 0: rounded up to 8
  std::int64_t channel_parts = 1;    // cores along the input's channels
  std::int64_t part_blocks = 1;      // blocks along the reduction for each part: kernel_h for height sharding
  bool operator==(const Conv2dOrder&) const = default;
};
TSR_API Conv2dOrder conv2d_order(const Conv2dProblem& problem, const Conv2dPlan& plan);

struct Conv2dValues {
  std::int64_t batch = 1, height = 0, width = 0, in_channels = 0, out_channels = 0, groups = 1;
  SlidingWindow window = {};
  PaddingMode padding_mode = PaddingMode::zeros;
  Conv2dOrder order = {};
  ComputeConfig compute = {};
  // What im2col is tilized to by the packer before it is multiplied: the output's type. A convolution that runs as a
  // matmul takes its input as it is: float32 here.
  DType tilized_dtype = DType::bfloat16;
  DType partials_dtype = DType::bfloat16;
  std::optional<DstActivation> activation = {};
};
TSR_API Conv2dValues conv2d_values_of(const Conv2dProblem& problem, const Conv2dPlan& plan);

// input: batch x height x width x in_channels, holding values of the input's type. weights: out_channels x
// in_channels / groups x kernel_h x kernel_w, holding values of theirs (see stored_weights). bias: out_channels, or
// empty. Gives batch x out_h x out_w x out_channels as Dst holds it: to be packed with Rounding::packer.
TSR_API std::vector<float> conv2d_values(const Conv2dValues& conv, std::span<const float> input,
                                         std::span<const float> weights, std::span<const float> bias);

// The definition: the matrix of im2col and product_values_reference.
TSR_API std::vector<float> conv2d_values_reference(const Conv2dValues& conv, std::span<const float> input,
                                                   std::span<const float> weights, std::span<const float> bias);

// Weights as they read back from the card: a matrix of kernel positions x output channels, converted by the host, so
// that 16 neighbouring output channels share an exponent.
TSR_API std::vector<float> stored_weights(std::span<const float> weights, std::int64_t out_channels, DType dtype);

}  // namespace tessera::tensix
