#include "tessera/targets/tensix/ops/conv2d/conv2d_slice.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/tile_side.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

// From this width on a tiled image that is not taller than wide is cut by columns; measured by ttnn, not by us.
constexpr std::int64_t kWide = 200;

// One axis of a window over an image.
struct Axis {
  std::int64_t size, kernel, stride, dilation, before, after;
};

// The part of the axis that outputs [first, last) reach. The last slice takes all that is left, reached or not. Only
// every `spread`-th position is a pixel, zeros are between them: a slice begins and ends with a pixel.
Axis slice_axis(const Axis& axis, std::int64_t first, std::int64_t last, bool is_last, std::int64_t spread) {
  const std::int64_t start = first * axis.stride - axis.before;
  std::int64_t end = (last - 1) * axis.stride - axis.before + axis.dilation * (axis.kernel - 1) + 1;
  if (is_last) end = std::max(end, axis.size + axis.after);
  const std::int64_t from = round_up(std::max<std::int64_t>(start, 0), spread);
  const std::int64_t reach = std::min(end, axis.size) - 1;
  const std::int64_t to = reach < 0 ? -1 : reach / spread * spread;
  Axis out = axis;
  out.before = from - start;
  out.after = end - 1 - to;
  out.size = to - from + 1;
  check(out.size > 0, Code::invalid_argument, Hint{"take fewer slices"},
        "conv2d: outputs {} to {} of a slice see only padding", first, last - 1);
  return out;
}

}  // namespace

Conv2dSliceType natural_slice_type(const Conv2dProblem& problem) {
  const std::int64_t h = problem.out_h(), w = problem.out_w();
  const bool by_rows = problem.config.output_layout == Layout::tile ? w < kWide || h > w : h > 3 * w;
  return by_rows ? Conv2dSliceType::dram_height : Conv2dSliceType::dram_width;
}

std::int64_t most_slices(const Conv2dProblem& problem, Conv2dSliceType type) {
  if (type == Conv2dSliceType::dram_height) return problem.out_h();
  return problem.config.output_layout == Layout::tile ? ceil_div(problem.out_w(), kTile) : problem.out_w();
}

std::vector<Conv2dProblem> slice_conv2d(const Conv2dProblem& problem, Conv2dSliceType type, std::int64_t count,
                                        std::int64_t spread_h, std::int64_t spread_w) {
  const std::int64_t most = most_slices(problem, type);
  check(count >= 1, Code::invalid_argument, "conv2d: num_slices is {}", count);
  check(count <= most, Code::invalid_argument, Hint{"take fewer slices, or slice the other axis"},
        "Number of slices ({}) exceeds the maximum allowed ({}) for the given output dimension and alignment.", count,
        most);
  const bool rows = type == Conv2dSliceType::dram_height;
  const SlidingWindow& w = problem.window;
  const Axis axis = rows ? Axis{problem.height, w.kernel_h, w.stride_h, w.dilation_h, w.top, w.bottom}
                         : Axis{problem.width, w.kernel_w, w.stride_w, w.dilation_w, w.left, w.right};
  const bool tiles = problem.config.output_layout == Layout::tile;
  const std::int64_t unit = !rows && tiles ? kTile : 1;
  std::vector<Conv2dProblem> out;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t units = most / count + (i < most % count ? 1 : 0);
    const Axis part = slice_axis(axis, first, first + units * unit, i + 1 == count, rows ? spread_h : spread_w);
    first += units * unit;
    Conv2dProblem p = problem;
    (rows ? p.height : p.width) = part.size;
    (rows ? p.window.top : p.window.left) = part.before;
    (rows ? p.window.bottom : p.window.right) = part.after;
    // Outputs that fill the last tile of a row see more padding. Columns that no window reached stay: TTNN adds whole
    // steps to what there is.
    if (rows && tiles) p.window.right += (round_up(problem.out_w(), kTile) - problem.out_w()) * w.stride_w;
    p.input_dtype = problem.input_dtype == DType::float32 ? DType::float32 : DType::bfloat16;
    p.input_layout = Layout::row_major;
    p.input_memory = kDramMemoryConfig;
    p.config.output_layout = Layout::tile;
    p.config.enable_kernel_stride_folding = false;
    out.push_back(std::move(p));
  }
  return out;
}

}  // namespace tessera::tensix
