#pragma once

// A window over images as the graph has it, in the card's words.

#include "tessera/graph/ops/window.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_problem.h"

#include <string>

namespace tessera::tensix {

// Two spatial dimensions.
inline SlidingWindow window_of(const ResolvedWindow& w) {
  return {.kernel_h = w.kernel[0],
          .kernel_w = w.kernel[1],
          .stride_h = w.strides[0],
          .stride_w = w.strides[1],
          .dilation_h = w.dilations[0],
          .dilation_w = w.dilations[1],
          .top = w.begins[0],
          .bottom = w.ends[0],
          .left = w.begins[1],
          .right = w.ends[1]};
}

// For digests of plans.
std::string digest_text(const SlidingWindow& window);

}  // namespace tessera::tensix
