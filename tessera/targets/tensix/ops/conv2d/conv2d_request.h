#pragma once

// A convolution as a caller words it: what he leaves out is read from the shapes of the tensors, what he says twice
// must agree.

#include "tessera/core/export.h"
#include "tessera/core/shape.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_problem.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::tensix {

struct Conv2dRequest {
  std::optional<std::int64_t> batch, height, width, in_channels, out_channels;
  std::optional<std::int64_t> groups;               // none: what the shapes show; 1 if everything else is said
  std::optional<std::vector<std::int64_t>> kernel;  // height, width
  std::vector<std::int64_t> stride{1, 1}, dilation{1, 1};
  std::vector<std::int64_t> padding{0, 0};  // height, width; or top, bottom, left, right
  // Of a transposed convolution: weights are in_channels x out_channels / groups x kernel_h x kernel_w, groups that are
  // not said are 1, and the window may be larger than the image.
  bool transposed = false;
};

// True if nothing has to be read from shapes: the long form of TTNN's API.
TSR_API bool says_everything(const Conv2dRequest& request);

// Sizes and window of the problem; types, places and configs are the caller's to fill in. `weights` is
// out_channels x in_channels / groups x kernel_h x kernel_w, or none if they are prepared: their shape says nothing
// then.
TSR_API Conv2dProblem conv2d_problem(const Conv2dRequest& request, const Shape& input,
                                     const std::optional<Shape>& weights);

}  // namespace tessera::tensix
