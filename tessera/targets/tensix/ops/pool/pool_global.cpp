#include "tessera/targets/tensix/ops/pool/pool_global.h"

#include "tessera/targets/tensix/card/operand_facts.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

// A reduction over images of so many rows of tiles. Long ones that would keep few cores busy are summed in two steps,
// through partial sums of float32.
struct GlobalSum {
  std::vector<CircularBuffer> first, second;
  std::optional<TensorSpec> partial;
};

constexpr std::int64_t kLongSum = 20;         // rows of tiles
constexpr std::int64_t kLongSumOfRows = 16;   // of an image that lies in rows
constexpr std::int64_t kDstTiles = 16;        // half as many of float32
constexpr std::int64_t kMostTilizedRows = 8;  // of tiles, at once

// Rows are made tiles, so many rows of tiles at once, before they are summed.
std::int64_t tilized_at_once(std::int64_t rows) { return std::clamp<std::int64_t>(rows, 2, kMostTilizedRows); }

GlobalSum global_sum(const TensorSpec& image, const PoolOptions& o, const Device& device) {
  const std::int64_t rows = ceil_div(o.height * o.width, kTile), columns = o.batch * ceil_div(o.channels, kTile);
  const std::int64_t cores = std::int64_t{device.grid().x} * device.grid().y, tile = tile_bytes(image.dtype());
  const std::int64_t bf16 = tile_bytes(DType::bfloat16), f32 = tile_bytes(DType::float32);
  const std::int64_t at_once = o.compute && !o.compute->fp32_dest_acc_en ? kDstTiles : kDstTiles / 2;
  const CoreRangeSet all = first_cores(std::min(columns, cores), device.grid());
  GlobalSum sum;
  const bool tiled = image.layout() == Layout::tile;
  const bool two = rows >= (tiled ? kLongSum : kLongSumOfRows) && 2 * columns <= cores;
  const bool many = tiled && (two || columns / cores >= at_once / 2);
  sum.first = {{"in", all, (many ? at_once : 2) * tile}, {"scaler", all, bf16}, {"out", all, 2 * (two ? f32 : tile)}};
  if (!tiled) {
    sum.first.push_back({"rows", all, two ? f32 : bf16});
    sum.first.push_back({"tiles", all, tilized_at_once(rows) * bf16});
    sum.first.push_back({"sum", all, bf16});
  }
  if (!two) return sum;
  const std::int64_t parts = std::min(rows, cores / columns);
  sum.second = {{"in", all, 2 * f32}, {"scaler", all, f32},
                {"rows", all, tile},  {"tiles", all, tilized_at_once(ceil_div(parts, kTile)) * f32},
                {"sum", all, f32},    {"out", all, 2 * tile}};
  const MemoryConfig place(TensorMemoryLayout::interleaved, image.memory_config().buffer_type());
  sum.partial = TensorSpec(Shape{1, 1, o.batch * parts, o.channels}, DType::float32, Layout::row_major, place);
  return sum;
}

// In which layout a reduction leaves the averages of all images, each a matrix of one row.
Layout summed_layout(const TensorSpec& image, const PoolOptions& o, bool two_steps) {
  if (is_block_float(image.dtype())) return Layout::tile;
  if (image.layout() == Layout::tile) return two_steps ? o.layout : Layout::tile;
  return o.batch == 1 ? o.layout : Layout::row_major;
}

}  // namespace

bool is_global(PoolKind kind, const TensorSpec& x, const PoolOptions& o) {
  const SlidingWindow& w = o.window;
  if (kind != PoolKind::average || o.scheme || w.kernel_h != o.height || w.kernel_w != o.width ||
      w.top + w.bottom + w.left + w.right != 0 || o.divisor_override)
    return false;
  if (x.layout() != Layout::tile || o.height * o.width % kTile == 0) return true;
  // Images that begin within tiles are taken out of them, if padding and all they divide into so many.
  return !is_block_float(x.dtype()) && x.padded_shape().as_2d().height % o.batch == 0;
}

DeviceTensor global_average(const DeviceTensor& x, const PoolOptions& options,
                            const std::function<std::vector<float>()>& values) {
  const TensorSpec& from = x.spec();
  const std::shared_ptr<Device> device = x.device();
  const MemoryConfig apart(TensorMemoryLayout::interleaved, from.memory_config().buffer_type());
  DeviceTensor image = from.memory_config().is_sharded() ? to_memory_config(x, apart) : x;
  if (from.layout() == Layout::tile && options.height * options.width % kTile != 0)
    image = to_layout(image, Layout::row_major);
  const GlobalSum sum = global_sum(image.spec(), options, *device);
  std::optional<DeviceTensor> partial;
  if (sum.partial) {
    partial = DeviceTensor::allocate(device, *sum.partial);
    place_program(*device, sum.first);
  }
  const Shape rows{options.batch, 1, 1, options.channels}, together{1, 1, options.batch, options.channels};
  const MemoryConfig place = options.memory_config.value_or(apart);
  const Layout layout = summed_layout(image.spec(), options, sum.partial.has_value());
  // Rows of all images lie as those of one do.
  const Shape& shape = layout == Layout::tile ? rows : together;
  DeviceTensor y = DeviceTensor::allocate(device, TensorSpec(shape, from.dtype(), layout, place));
  place_program(*device, partial ? sum.second : sum.first);
  std::vector<Transfer> moved = stream_transfers(image, y);
  write_values(y,
               [&] { return Tensor::from_float32(values(), shape, y.spec().dtype(), layout, {}, Rounding::packer); });
  finish_program({ProgramKind::reduce, from.logical_shape().to_string(), std::move(moved), nullptr, "avg_pool2d"},
                 {&image}, y);
  partial.reset();
  // Block floats are gathered in tiles, others as rows if rows are wanted.
  if (!is_block_float(from.dtype()) && layout == Layout::tile) y = to_layout(y, options.layout);
  y = reshape(y, together, place);
  return to_layout(y, options.layout);
}

}  // namespace tessera::tensix
