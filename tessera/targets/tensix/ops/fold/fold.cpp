#include "tessera/targets/tensix/ops/fold/fold.h"

#include "tessera/core/elements.h"
#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"

#include <cstring>

namespace tessera::tensix {
namespace {

// A height-sharded image keeps its cores, as many as there are whole rows of blocks for each.
MemoryConfig folded_place(const TensorSpec& from, const Shape& shape, const FoldOptions& options) {
  const MemoryConfig& config = from.memory_config();
  if (!config.is_sharded()) return config;
  check(config.layout() == TensorMemoryLayout::height_sharded && config.shard_spec(), Code::unsupported,
        Hint{"use HEIGHT_SHARDED or interleaved"}, "fold: {} tensors are not supported", name(config.layout()));
  const ShardSpec& shard = *config.shard_spec();
  const std::int64_t width = from.logical_shape()[2] + options.padding[2] + options.padding[3];
  const std::int64_t out_width = width / options.stride_w, rows = shape[0] * shape[1] * out_width;
  const std::int64_t pixels = round_up(shard.shape.height, width * options.stride_h);
  const std::int64_t height = pixels / (options.stride_h * options.stride_w);
  const std::int64_t cores = ceil_div(rows, height);
  const CoreRange box = shard.grid.bounding_box();
  const CoreRangeSet used =
      cores >= shard.num_cores()
          ? shard.grid
          : num_cores_to_corerangeset(box.start, cores, CoreGrid{box.rows(), box.columns()}, true);
  return MemoryConfig(config.layout(), config.buffer_type(), ShardSpec{used, {height, shape[3]}, shard.orientation});
}

// What TTNN makes on the way, for the memory that it takes: rows out of tiles, a border of zeros, shards of whole rows
// of blocks.
std::vector<DeviceTensor> working_copies(const DeviceTensor& x, const FoldOptions& options, const TensorSpec& target) {
  const TensorSpec& from = x.spec();
  const Shape& in = from.logical_shape();
  const MemoryConfig& place = from.memory_config();
  std::vector<DeviceTensor> out;
  const auto add = [&](const Shape& shape, const MemoryConfig& config) {
    out.push_back(DeviceTensor::allocate(x.device(), TensorSpec(shape, from.dtype(), Layout::row_major, config)));
  };
  if (from.layout() == Layout::tile && in[2] % from.tile().height == 0) add(in, place);
  const std::int64_t h = in[1] + options.padding[0] + options.padding[1],
                     w = in[2] + options.padding[2] + options.padding[3];
  if (h != in[1] || w != in[2]) add({in[0], h, w, in[3]}, place.is_sharded() ? kDramMemoryConfig : place);
  if (place.is_sharded()) {
    ShardSpec shard = *target.memory_config().shard_spec();
    if (shard.grid != place.shard_spec()->grid) {
      shard.shape = {shard.shape.height * options.stride_h * options.stride_w, in[3]};
      add(in, MemoryConfig(place.layout(), place.buffer_type(), shard));
    }
  }
  return out;
}

// The pixels of each step of the window, one after the other; `to` is the folded image.
std::vector<std::byte> folded_pixels(const Tensor& x, const Shape& to, const FoldOptions& options) {
  const Shape& in = x.shape();
  const auto size = static_cast<std::size_t>(element_bytes(x.dtype()) * in[3]);
  const Bytes pixels = x.to_elements(x.dtype());
  std::vector<std::byte> out(static_cast<std::size_t>(to.volume() * element_bytes(x.dtype())));
  std::size_t at = 0;
  for (std::int64_t n = 0; n < to[0]; ++n)
    for (std::int64_t r = 0; r < to[1]; ++r)
      for (std::int64_t q = 0; q < to[2]; ++q)
        for (std::int64_t i = 0; i < options.stride_h; ++i)
          for (std::int64_t j = 0; j < options.stride_w; ++j, at += size) {
            const std::int64_t row = r * options.stride_h + i - options.padding[0],
                               column = q * options.stride_w + j - options.padding[2];
            if (row < 0 || row >= in[1] || column < 0 || column >= in[2]) continue;
            if (size > 0)
              std::memcpy(out.data() + at,
                          pixels.data() + static_cast<std::size_t>((n * in[1] + row) * in[2] + column) * size, size);
          }
  return out;
}

}  // namespace

DeviceTensor fold(const DeviceTensor& x, const FoldOptions& options) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& in = from.logical_shape();
  check(in.rank() == 4, Code::invalid_argument, "fold: an image of rank 4 [n, h, w, c] is expected, not {}",
        in.to_string());
  check(options.stride_h > 0 && options.stride_w > 0, Code::invalid_argument,
        "fold: strides {} and {} must be positive", options.stride_h, options.stride_w);
  for (const std::int64_t pad : options.padding)
    check(pad >= 0, Code::invalid_argument, "fold: padding {} is negative", pad);
  check(is_floating(from.dtype()) && !is_block_float(from.dtype()), Code::unsupported, Hint{"use typecast"},
        "fold: {} is not supported, only FLOAT32 and BFLOAT16", name(from.dtype()));
  const std::int64_t h = in[1] + options.padding[0] + options.padding[1],
                     w = in[2] + options.padding[2] + options.padding[3], c = in[3];
  check(h % options.stride_h == 0, Code::invalid_argument, "fold: logical H ({}) must be divisible by stride_h ({})", h,
        options.stride_h);
  check(w % options.stride_w == 0, Code::invalid_argument, "fold: logical W ({}) must be divisible by stride_w ({})", w,
        options.stride_w);
  const std::int64_t oh = h / options.stride_h, ow = w / options.stride_w;
  const Shape image{in[0], oh, ow, c * options.stride_h * options.stride_w};
  const Shape shape = options.collapse ? Shape{1, 1, in[0] * oh * ow, image[3]} : image;
  const TensorSpec target(shape, from.dtype(), Layout::row_major, folded_place(from, image, options));
  const std::vector<DeviceTensor> copies = working_copies(x, options, target);
  DeviceTensor y = DeviceTensor::allocate(x.device(), target);

  std::vector<Transfer> moved = stream_transfers(x, y);
  write_values(y, [&] {
    return Tensor::from_elements(folded_pixels(read_pages(x), image, options), from.dtype(), shape, from.dtype(),
                                 Layout::row_major);
  });
  finish_program({ProgramKind::fold, fmt::format("{} by {} x {}", in.to_string(), options.stride_h, options.stride_w),
                  std::move(moved)},
                 {&x}, y);
  return y;
}

}  // namespace tessera::tensix
