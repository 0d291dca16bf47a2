#pragma once

// What a convolution on the card is asked to do: its shape, its types, where its input is. How it runs is a Conv2dPlan.

#include "tessera/core/dtype.h"
#include "tessera/core/shape.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/memory_config.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_config.h"

#include <array>
#include <cstdint>
#include <optional>

namespace tessera::tensix {

struct SlidingWindow {
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;  // padding

  std::int64_t out_h(std::int64_t h) const {
    return (h + top + bottom - dilation_h * (kernel_h - 1) - 1) / stride_h + 1;
  }
  std::int64_t out_w(std::int64_t w) const {
    return (w + left + right - dilation_w * (kernel_w - 1) - 1) / stride_w + 1;
  }
  bool operator==(const SlidingWindow&) const = default;
};

struct Conv2dProblem {
  std::int64_t batch = 1, height = 0, width = 0, in_channels = 0, out_channels = 0, groups = 1;
  SlidingWindow window;
  bool has_bias = false;
  DType input_dtype = DType::bfloat16;
  Layout input_layout = Layout::row_major;
  MemoryConfig input_memory;              // where the input is when the operator is called
  DType weights_dtype = DType::bfloat16;  // on the card: the config's, or those that came
  DType output_dtype = DType::bfloat16;
  Conv2dConfig config;
  ComputeConfig compute;

  std::int64_t out_h() const { return window.out_h(height); }
  std::int64_t out_w() const { return window.out_w(width); }
  bool operator==(const Conv2dProblem&) const = default;
};

}  // namespace tessera::tensix
