#pragma once

// Which kernels convolve, which of them take a problem, and how long each would take.

#include "tessera/core/element_type.h"
#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/cuda/kernels/conv2d/conv2d_arguments.h"
#include "tessera/targets/cuda/kernels/conv2d/conv2d_shared.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::cuda {

// y = pooled(activation(x * w + bias + residual)), all of one element type, channels last, sums in float32.
struct Conv2dProblem {
  int n = 1, h = 1, w = 1, c = 1, oc = 1, kh = 1, kw = 1;
  std::array<int, 2> stride{1, 1}, dilation{1, 1};
  std::array<int, 4> pads{};  // top, left, bottom, right
  int groups = 1;
  ElementType type = ElementType::float16;
  bool tf32 = false;  // float32: factors may be rounded to 10 bits behind the point, as tensor cores do
  bool residual = false;
  Activation activation = {};
  int pool = 1;  // 2: the largest of each 2x2, without what is left over at the edge
  // A transposed convolution whose windows do not overlap is one of a single pixel with oc channels for every place of
  // the window: y has phases[0] times the rows, phases[1] times the columns, and y_channels() channels.
  std::array<int, 2> phases{1, 1};
  int x_pixel = 0, y_pixel = 0, residual_pixel = 0;  // elements from one pixel to the next; 0: as many as channels

  int oh() const { return (h + pads[0] + pads[2] - dilation[0] * (kh - 1) - 1) / stride[0] + 1; }
  int ow() const { return (w + pads[1] + pads[3] - dilation[1] * (kw - 1) - 1) / stride[1] + 1; }
  // Pixels of a row of the folded image: whole strides, and 8 pixels for the last window.
  int folded_w() const {
    const int needed = (ow() - 1) * stride[1] + 8, whole = pads[1] + w;
    return ((needed > whole ? needed : whole) + stride[1] - 1) / stride[1] * stride[1];
  }
  int bytes() const { return static_cast<int>(element_bytes(type)); }  // of an element
  int block_channels() const { return kBlockBytes / bytes(); }         // of one step on tensor cores
  int fold_channels() const { return 16 / bytes(); }                   // of a pixel, where 8 of them are one step
  bool has_phases() const { return phases[0] * phases[1] > 1; }
  int y_channels() const { return oc / (phases[0] * phases[1]); }
  int y_pitch() const { return y_pixel > 0 ? y_pixel : y_channels(); }
  double flops() const { return 2.0 * n * oh() * ow() * oc * (c / groups) * kh * kw; }
  std::int64_t x_elements() const { return std::int64_t{n} * h * w * c; }
  std::int64_t w_elements() const { return std::int64_t{oc} * kh * kw * (c / groups); }
  std::int64_t y_elements() const { return std::int64_t{n} * (oh() / pool) * (ow() / pool) * oc; }
  std::int64_t residual_elements() const { return std::int64_t{n} * oh() * ow() * oc; }
};

// An Error of Code::invalid_argument where the numbers make no convolution.
TSR_API void check_problem(const Conv2dProblem& problem);

struct Conv2dRow {
  std::string_view name;
  ElementType type;
  std::optional<Conv2dTiling> tiling;  // on tensor cores; of float32 operands, which are rounded to tf32
  int exact_oc = 0;                    // without them: output channels of a tile; 0 and no tiling: direct

  bool rounds() const { return tiling.has_value() && type == ElementType::float32; }
};
TSR_API std::span<const Conv2dRow> conv2d_rows();

// Whether tensor-core kernels end with it, behind a residual or not: bounds, silu and gelu. Others would make their
// code several times as long.
TSR_API bool tiles_take(const Activation& activation, bool residual);

struct Conv2dRefusal {
  enum class Reason : std::uint8_t {
    element_type,
    groups,
    input_channels,   // not in whole 16 bytes
    output_channels,  // phases are written in whole 16 bytes
    window,           // patch kernels: not 3x3 with stride 1
    stride,           // more than the copy engine steps over
    shared_memory,
    tf32,        // exact results are asked for
    splits,      // cannot share its sum among that many blocks
    activation,  // tiles end with bounds, and with silu, gelu or a residual before them
  };
  Reason reason;
  std::int64_t found = 0, limit = 0;
  TSR_API std::string text() const;
};

enum class Conv2dBound : std::uint8_t { tensor_cores, multipliers, l2, memory, latency };
TSR_API std::string_view name(Conv2dBound bound);

// How a row would do it.
struct Conv2dOffer {
  int box_n = 1, box_h = 1, box_w = 1;  // output pixels of a tile
  int splits = 1;
  int tiles = 0;           // rounded up to whole clusters
  int blocks = 0;          // of threads, that take turns at the tiles
  bool flattened = false;  // 1x1: all pixels are one row
  bool folded = false;     // up to 16 bytes of channels: 8 pixels of a row are one step (conv2d_fold.cu)
  double seconds = 0;
  Conv2dBound bound = Conv2dBound::latency;
};

using Conv2dAnswer = std::variant<Conv2dOffer, Conv2dRefusal>;
// The best of the row's ways, by the time model. `splits`: only that many, 0: any.
TSR_API Conv2dAnswer consider(const Conv2dRow& row, const Conv2dProblem& problem, const GpuSpec& gpu, int splits = 0);

struct Conv2dPlan {
  struct Refused {
    const Conv2dRow* row;
    Conv2dRefusal refusal;
  };
  struct Slower {
    const Conv2dRow* row;
    double seconds;
  };
  const Conv2dRow* row = nullptr;
  Conv2dOffer offer;
  std::vector<Refused> refused;
  std::vector<Slower> slower;
};
// The row with the least time. There is always one: direct takes everything.
TSR_API Conv2dPlan plan_conv2d(const Conv2dProblem& problem, const GpuSpec& gpu);

}  // namespace tessera::cuda
