#pragma once

// Images read at places between their pixels.

#include "tessera/core/export.h"
#include "tessera/core/tensor.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>
#include <utility>

namespace tessera::tensix {

enum class Sampling : std::uint8_t { nearest, bilinear };

struct GridSampleOptions {
  Sampling mode = Sampling::bilinear;
  bool align_corners = false;  // -1 and 1 are the centers of the outermost pixels, not their outer edges
  bool prepared = false;       // the grid is one of prepare_grid()
  bool into_channels = false;  // several places per point: side by side in channels, not in columns
  std::optional<MemoryConfig> memory_config = {};
  std::optional<ComputeConfig> compute = {};
};

// x [n, h, w, c] at the points of `grid` [n, oh, ow, 2 k], each k pairs (x, y) from -1 to 1: [n, oh, ow k, c]. What
// lies outside is 0. A prepared grid has 6 numbers for each place instead of 2, and 2 where the nearest pixel is taken.
TSR_API DeviceTensor grid_sample(const DeviceTensor& x, const DeviceTensor& grid, const GridSampleOptions& options);

// On the host: for each point the row and the column of the pixel above and left of it, as 16-bit integers in the bits
// of bfloat16, and the weights of that pixel, the one to its right, below it, and both; or the nearest pixel.
TSR_API Tensor prepare_grid(const Tensor& grid, const Shape& image, Sampling mode, bool align_corners, DType dtype);

struct RotateOptions {
  std::optional<std::pair<float, float>> center = {};  // x and y in pixels; default: the middle
  float fill = 0;                                      // what lies outside
  Sampling mode = Sampling::nearest;
  std::optional<MemoryConfig> memory_config = {};
};

// x [n, h, w, c] turned by so many degrees, against the clock.
TSR_API DeviceTensor rotate(const DeviceTensor& x, float degrees, const RotateOptions& options);

}  // namespace tessera::tensix
