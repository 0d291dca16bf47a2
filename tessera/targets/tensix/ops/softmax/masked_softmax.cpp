#include "tessera/targets/tensix/ops/softmax/masked_softmax.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/compute_defaults.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_values.h"
#include "tessera/targets/tensix/ops/softmax/softmax.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <string>
#include <vector>

namespace tessera::tensix {
namespace {

// Dimensions in front, up to four.
Shape in_batches(const Shape& shape) {
  std::vector<std::int64_t> dims = shape.dims();
  while (dims.size() < 4) dims.insert(dims.begin(), 1);
  return Shape(dims);
}

void check_mask(std::string_view op, const TensorSpec& x, const DeviceTensor& mask, bool in_place) {
  const TensorSpec& m = mask.spec();
  check(is_floating(m.dtype()), Code::unsupported, Hint{"use typecast"}, "{}: the mask is {}, it must be floating", op,
        name(m.dtype()));
  if (m.memory_config().is_sharded()) {
    check(m.layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
          "{}: a mask in shards must be in TILE layout", op);
    check(m.padded_shape() == x.padded_shape(), Code::invalid_argument,
          "{}: a mask in shards must have the shape {} of the input, it has {}", op, x.padded_shape().to_string(),
          m.padded_shape().to_string());
    return;
  }
  const Shape from = in_batches(x.padded_shape()), shape = in_batches(m.padded_shape());
  if (m.layout() == Layout::row_major)
    check(shape.rank() == 4 && shape[1] == 1 && shape[2] == from[-1] / kTile && shape[3] == kTile,
          Code::invalid_argument, "{}: a mask in ROW_MAJOR must have shape [{}, 1, {}, {}], it has {}", op, shape[0],
          from[-1] / kTile, kTile, shape.to_string());
  else
    check(shape[-1] == from[-1], Code::invalid_argument,
          "{}: the mask has {} columns, the input {}; both must have the same number", op, shape[-1], from[-1]);
  check(shape[0] == from[0], Code::invalid_argument,
        "{}: batch sizes of input and mask must match, the input is {} and the mask {}", op, from.to_string(),
        shape.to_string());
  for (int d = 1; d < from.rank() - 2; ++d)
    check(shape[d] == 1, Code::invalid_argument, "{}: dimension {} of the mask must be 1, it is {}", op, d, shape[d]);
  check(in_place || m.layout() == Layout::row_major || shape[-2] == kTile, Code::unsupported,
        Hint{"use the form in place"}, "{}: a mask must be 1 or {} rows high, not {}", op, kTile, shape[-2]);
}

void check_blocks(std::string_view op, const TensorSpec& x, const SoftmaxBlocks& blocks, bool in_place, bool masked) {
  const auto& shards = x.memory_config().shard_spec();
  check(x.memory_config().is_sharded() && shards, Code::invalid_argument, Hint{"leave the program config out"},
        "{}: a sharded program config needs an input in shards", op);
  check(!masked || (blocks.subblock_w > 0 && blocks.block_w % blocks.subblock_w == 0), Code::invalid_argument,
        "{}: block_w ({}) must be divisible by subblock_w ({})", op, blocks.block_w, blocks.subblock_w);
  check(in_place, Code::unsupported, "{}: a sharded program config works in place only", op);
  const Extent2d tiles{shards->shape.height / kTile, shards->shape.width / kTile};
  check(blocks.block_h == tiles.height, Code::invalid_argument,
        "{}: block_h ({}) must match the shard height in tiles ({}); shards are [{}, {}], tiles {} high", op,
        blocks.block_h, tiles.height, shards->shape.height, shards->shape.width, kTile);
  check(blocks.block_w == tiles.width, Code::invalid_argument,
        "{}: block_w ({}) must match the shard width in tiles ({}); shards are [{}, {}], tiles {} wide", op,
        blocks.block_w, tiles.width, shards->shape.height, shards->shape.width, kTile);
  check(blocks.block_w * kTile == x.padded_shape()[-1], Code::invalid_argument,
        "{}: a shard must hold whole rows of {} columns, block_w is {}", op, x.padded_shape()[-1], blocks.block_w);
  const std::int64_t cores = std::int64_t{blocks.grid.x} * blocks.grid.y;
  check(shards->grid.num_cores() <= cores, Code::invalid_argument,
        "{}: {} shards need as many cores, the program config has a grid of {} x {}", op, shards->grid.num_cores(),
        blocks.grid.x, blocks.grid.y);
}

// The scores times the scale plus their mask, each step as Dst holds it.
void scale_and_mask(std::vector<float>& scores, const Shape& shape, const MaskedSoftmaxOptions& options, bool wide) {
  const float scale = options.scale.value_or(1);
  for (float& v : scores) v = into_dst(v * scale, wide);
  if (!options.mask) return;
  const TensorSpec& m = options.mask->spec();
  const std::vector<float> mask = read_pages(*options.mask).to_float32();
  const Shape batches = in_batches(shape), masks = in_batches(m.logical_shape());
  const std::int64_t columns = shape[-1], rows = shape[-2], matrices = shape.volume() / (rows * columns);
  const std::int64_t in_batch = matrices / batches[0];
  const bool whole = m.memory_config().is_sharded(), row_of_tiles = m.layout() == Layout::row_major;
  const std::int64_t of_batch = static_cast<std::int64_t>(mask.size()) / masks[0];
  const std::int64_t width = row_of_tiles ? of_batch : masks[-1], mask_rows = row_of_tiles ? 1 : masks[-2];
  for (std::int64_t matrix = 0; matrix < matrices; ++matrix)
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t first = whole ? (matrix * rows + r) * width
                                       : matrix / in_batch * of_batch + (options.causal ? r % mask_rows * width : 0);
      float* const row = scores.data() + (matrix * rows + r) * columns;
      for (std::int64_t c = 0; c < columns; ++c)
        row[c] = into_dst(row[c] + mask[static_cast<std::size_t>(first + c)], wide);
    }
}

}  // namespace

DeviceTensor masked_softmax(std::string_view op, const DeviceTensor& x, const MaskedSoftmaxOptions& options) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& shape = from.logical_shape();
  check(from.layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
        "{}: the input must be in TILE layout, it is in {}", op, name(from.layout()));
  check(from.dtype() == DType::float32 || from.dtype() == DType::bfloat16 || from.dtype() == DType::bfloat8_b,
        Code::unsupported, Hint{"use typecast"}, "{}: the input must be FLOAT32, BFLOAT16 or BFLOAT8_B, it is {}", op,
        name(from.dtype()));
  check(options.mask || !options.scale, Code::invalid_argument, Hint{"multiply first"}, "{}: a scale needs a mask", op);
  if (options.mask) {
    check_together(op, {&x, &*options.mask});
    check_mask(op, from, *options.mask, options.in_place);
  }
  if (options.blocks) check_blocks(op, from, *options.blocks, options.in_place, options.mask.has_value());

  DeviceTensor y = options.in_place
                       ? x
                       : DeviceTensor::allocate(
                             x.device(), from.with_memory_config(place_of_result(options.memory_config, x, shape)));
  if (shape.volume() > 0 && !options.blocks)
    check_program_fits(*x.device(), plan_softmax(from, from.dtype(), shape.rank() - 1, x.device()->grid(),
                                                 free_l1_bytes(*x.device())));
  const ComputeConfig how = options.compute.value_or(precise_compute(x.device()->card()));
  DeviceTensors inputs{&x};
  if (options.mask) inputs.push_back(&*options.mask);
  std::vector<Transfer> moved = stream_transfers(x, y);
  write_values(y, [&] {
    std::vector<float> values = read_pages(x).to_float32();
    scale_and_mask(values, shape, options, how.fp32_dest_acc_en);
    values = softmax_values(values, shape.volume() / shape[-1], shape[-1], how);
    return Tensor::from_float32(values, shape, from.dtype(), Layout::tile, from.tile(), Rounding::packer);
  });
  finish_program({ProgramKind::softmax, shape.to_string(), std::move(moved), nullptr, std::string(op)}, inputs, y);
  return y;
}

}  // namespace tessera::tensix
