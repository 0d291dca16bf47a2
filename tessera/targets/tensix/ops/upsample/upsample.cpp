#include "tessera/targets/tensix/ops/upsample/upsample.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/movement_buffers.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/pool/pool_values.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::tensix {
namespace {

struct Scaling {
  std::int64_t out_h = 0, out_w = 0;
  bool whole = false;
};

Scaling scaling(const Shape& in, const UpsampleOptions& options) {
  for (const double s : options.scale)
    check(std::isfinite(s) && s > 0, Code::invalid_argument, "upsample: scale factors {} and {} must be positive",
          options.scale[0], options.scale[1]);
  constexpr double kMost = 1 << 24;  // pixels a side
  check(
      static_cast<double>(in[1]) * options.scale[0] <= kMost && static_cast<double>(in[2]) * options.scale[1] <= kMost,
      Code::invalid_argument, "upsample: {} by {} and {} is too large", in.to_string(), options.scale[0],
      options.scale[1]);
  Scaling out;
  out.out_h = static_cast<std::int64_t>(std::floor(static_cast<double>(in[1]) * options.scale[0]));
  out.out_w = static_cast<std::int64_t>(std::floor(static_cast<double>(in[2]) * options.scale[1]));
  out.whole = options.scale[0] == std::floor(options.scale[0]) && options.scale[1] == std::floor(options.scale[1]);
  check(out.out_h > 0 && out.out_w > 0, Code::invalid_argument, "upsample: {} by {} and {} leaves {} x {} pixels",
        in.to_string(), options.scale[0], options.scale[1], out.out_h, out.out_w);
  return out;
}

// Shards grow with the image when they are repeated whole; otherwise rows are dealt anew.
MemoryConfig nearest_place(const TensorSpec& x, const Scaling& to, const UpsampleOptions& options) {
  const MemoryConfig& from = x.memory_config();
  if (!from.is_sharded() || (options.memory_config && options.memory_config->shard_spec()))
    return options.memory_config.value_or(from);
  if (options.memory_config && !options.memory_config->is_sharded() && !to.whole) return *options.memory_config;
  check(!options.memory_config || options.memory_config->is_sharded(), Code::unsupported,
        Hint{"leave memory_config out and use to_memory_config afterwards"},
        "upsample: a {} image scaled by whole numbers stays sharded, {} was asked for", name(from.layout()),
        name(options.memory_config ? options.memory_config->layout() : from.layout()));
  check(from.shard_spec().has_value(), Code::unsupported, "upsample: {} tensors are not supported",
        name(from.layout()));
  ShardSpec shard = *from.shard_spec();
  const std::int64_t rows = x.logical_shape()[0] * to.out_h * to.out_w;
  if (to.whole)
    shard.shape.height *= static_cast<std::int64_t>(options.scale[0]) * static_cast<std::int64_t>(options.scale[1]);
  else if (from.layout() == TensorMemoryLayout::width_sharded)
    shard.shape.height = rows;
  else if (from.layout() == TensorMemoryLayout::height_sharded)
    shard.shape.height = ceil_div(rows, shard.num_cores());
  else
    shard.shape.height =
        ceil_div(rows, shard.orientation == ShardOrientation::row_major ? shard.grid.bounding_box().rows()
                                                                        : shard.grid.bounding_box().columns());
  return MemoryConfig(from.layout(), from.buffer_type(), shard);
}

template <class Compute>
void finish(const DeviceTensor& x, DeviceTensor& y, const UpsampleOptions& options, Compute&& compute) {
  std::vector<Transfer> moved = stream_transfers(x, y);
  write_values(y, compute);
  finish_program({ProgramKind::upsample,
                  fmt::format("{} by {} x {}, {}", x.spec().logical_shape().to_string(), options.scale[0],
                              options.scale[1], options.mode == UpsampleMode::nearest ? "nearest" : "bilinear"),
                  std::move(moved)},
                 {&x}, y);
}

std::vector<std::byte> nearest_pixels(const Bytes& image, const Shape& in, const Shape& to, DType element,
                                      const UpsampleOptions& options) {
  const auto pixel = static_cast<std::size_t>(in[3] * element_bytes(element));
  std::vector<std::byte> out;
  out.reserve(static_cast<std::size_t>(to.volume() * element_bytes(element)));
  const auto source = [](std::int64_t at, double scale, std::int64_t extent) {
    return std::min(static_cast<std::int64_t>(std::floor(static_cast<double>(at) / scale)), extent - 1);
  };
  for (std::int64_t n = 0; n < to[0]; ++n)
    for (std::int64_t r = 0; r < to[1]; ++r)
      for (std::int64_t c = 0; c < to[2]; ++c) {
        const std::int64_t row = source(r, options.scale[0], in[1]), column = source(c, options.scale[1], in[2]);
        const std::byte* at = image.data() + static_cast<std::size_t>((n * in[1] + row) * in[2] + column) * pixel;
        out.insert(out.end(), at, at + pixel);
      }
  return out;
}

DeviceTensor nearest(const DeviceTensor& x, const Scaling& to, const UpsampleOptions& options) {
  const TensorSpec& from = x.spec();
  const Shape& in = from.logical_shape();
  const bool tiled = from.layout() == Layout::tile;
  check(!tiled || (to.whole && !from.memory_config().is_sharded()), Code::unsupported,
        Hint{"use to_layout(ROW_MAJOR_LAYOUT)"},
        "upsample: TILE layout is supported for interleaved images and whole scale factors only, this one is {}, by {} "
        "and {}",
        name(from.memory_config().layout()), options.scale[0], options.scale[1]);
  check(!tiled || from.padded_shape() == in, Code::unsupported, Hint{"use to_layout(ROW_MAJOR_LAYOUT)"},
        "upsample: a tiled image must fill its tiles, {} is padded to {}", in.to_string(),
        from.padded_shape().to_string());
  const MemoryConfig place = nearest_place(from, to, options);
  const Shape shape{in[0], to.out_h, to.out_w, in[3]};
  // Tiles leave as rows.
  const DType element = is_block_float(from.dtype()) ? DType::bfloat16 : from.dtype();
  const TensorSpec target(shape, element, Layout::row_major, place);
  check(tiled || target.page_bytes() == from.page_bytes(), Code::unsupported, Hint{"use to_memory_config afterwards"},
        "upsample: input and output pages must be of one size, they are {} B and {} B", from.page_bytes(),
        target.page_bytes());
  DeviceTensor y = DeviceTensor::allocate(x.device(), target);
  place_program(*x.device(), repeat_buffers(from, x.device()->card()));
  finish(x, y, options, [&] {
    return Tensor::from_elements(nearest_pixels(read_pages(x).to_elements(element), in, shape, element, options),
                                 element, shape, element, Layout::row_major);
  });
  return y;
}

// The upper or left neighbours of pixels of the result, in the image with a border of 1. Where a coordinate is a whole
// number, rounding decides: TTNN adds up steps of float32.
std::vector<std::int64_t> neighbours_before(std::int64_t count, double scale) {
  const float step = 1.0F / static_cast<float>(scale);
  float at = 0.5F * step + 0.5F;
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i, at += step) out.push_back(static_cast<std::int64_t>(std::floor(at)));
  return out;
}

// The most sticks that a core needs of that image: from the upper left neighbour of its first pixels to the lower right
// one of its last.
std::int64_t gathered_sticks(const Shape& in, const Shape& out, const UpsampleOptions& options,
                             std::int64_t rows_per_core) {
  const std::vector<std::int64_t> rows = neighbours_before(out[1], options.scale[0]);
  const std::vector<std::int64_t> columns = neighbours_before(out[2], options.scale[1]);
  const std::int64_t width = in[2] + 2, total = out[0] * out[1] * out[2];
  std::int64_t most = 0;
  for (std::int64_t first = 0; first < total; first += rows_per_core) {
    std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = 0;
    for (std::int64_t at = first; at < std::min(first + rows_per_core, total); ++at) {
      const std::int64_t n = at / (out[1] * out[2]);
      const auto y = static_cast<std::size_t>(at / out[2] % out[1]), x = static_cast<std::size_t>(at % out[2]);
      const std::int64_t corner = (n * (in[1] + 2) + rows[y]) * width + columns[x];
      low = std::min(low, corner);
      high = std::max(high, corner + width + 1);
    }
    most = std::max(most, high - low + 1);
  }
  return most;
}

// The halo's: a stick for each of its two readers.
std::vector<CircularBuffer> gather_buffers(const CoreRangeSet& cores, std::int64_t channels) {
  return {{"sticks", cores, 2 * channels * element_bytes(DType::bfloat16)}};
}

// Four neighbours of a pixel and what they come to, by pieces of so many channels, twice; and their weights.
std::vector<CircularBuffer> weigh_buffers(const CoreRangeSet& cores, std::int64_t channels) {
  constexpr std::int64_t kPiece = 8 * kTile, kNeighbours = 4;
  const std::int64_t pixel = 2 * kNeighbours * element_bytes(DType::bfloat16);
  return {{"neighbours", cores, channels * pixel},
          {"sums", cores, std::min(channels, kPiece) * pixel},
          {"weights", cores, 4 * tile_bytes(DType::bfloat16)}};
}

DeviceTensor bilinear(const DeviceTensor& x, const Scaling& to, const UpsampleOptions& options) {
  const TensorSpec& from = x.spec();
  const Shape& in = from.logical_shape();
  check(to.whole, Code::unsupported, "upsample: bilinear mode requires whole scale factors, got ({}, {})",
        options.scale[0], options.scale[1]);
  check(from.dtype() == DType::bfloat16, Code::unsupported, Hint{"use typecast"},
        "upsample: bilinear mode requires BFLOAT16, not {}", name(from.dtype()));
  check(!options.compute || !options.compute->fp32_dest_acc_en, Code::unsupported,
        "upsample: bilinear mode does not sum in float32, fp32_dest_acc_en must be false");
  check(in[3] % kTile == 0, Code::unsupported, "upsample: bilinear mode requires channels in multiples of {}, not {}",
        kTile, in[3]);
  check(!options.memory_config || options.memory_config->layout() == TensorMemoryLayout::height_sharded,
        Code::unsupported, Hint{"leave memory_config out and use to_memory_config afterwards"},
        "upsample: the result of bilinear mode is HEIGHT_SHARDED, {} was asked for",
        name(options.memory_config ? options.memory_config->layout() : TensorMemoryLayout::interleaved));
  if (!from.memory_config().is_sharded()) {
    // By pixels: tiles, which TTNN does not round them up to, are refused. Cores for which none is left take part in
    // the result.
    const CoreGrid grid = x.device()->grid();
    const std::int64_t pixels = in[0] * in[1] * in[2], cores = std::min(pixels, std::int64_t{grid.x} * grid.y);
    const MemoryConfig shards(TensorMemoryLayout::height_sharded, BufferType::l1,
                              ShardSpec{first_cores(cores, grid), {ceil_div(pixels, cores), in[3]}});
    const DeviceTensor sharded = to_memory_config(x, shards);
    return bilinear(sharded, to, options);
  }
  check(from.memory_config().layout() == TensorMemoryLayout::height_sharded && from.memory_config().shard_spec(),
        Code::unsupported, Hint{"use HEIGHT_SHARDED or interleaved"},
        "upsample: bilinear mode requires HEIGHT_SHARDED or interleaved images, this one is {}",
        name(from.memory_config().layout()));
  const ShardSpec& shard = *from.memory_config().shard_spec();
  const Shape shape{in[0], to.out_h, to.out_w, in[3]};
  const std::int64_t out_rows = ceil_div(shape[0] * shape[1] * shape[2], shard.num_cores());
  const std::int64_t sticks = gathered_sticks(in, shape, options, out_rows);
  const Shape gathered{1, 1, sticks * shard.num_cores(), in[3]};
  const DeviceTensor rows = DeviceTensor::allocate(
      x.device(), TensorSpec(gathered, from.dtype(), Layout::row_major,
                             MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1,
                                          ShardSpec{shard.grid, {sticks, in[3]}, shard.orientation})));
  place_program(*x.device(), gather_buffers(shard.grid, in[3]));
  DeviceTensor y = DeviceTensor::allocate(
      x.device(), TensorSpec(shape, from.dtype(), Layout::row_major,
                             MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1,
                                          ShardSpec{shard.grid, {out_rows, in[3]}, shard.orientation})));
  place_program(*x.device(), weigh_buffers(shard.grid, in[3]));
  const PoolValues image{.batch = in[0],
                         .height = in[1],
                         .width = in[2],
                         .channels = in[3],
                         .compute = options.compute.value_or(ComputeConfig{})};
  finish(x, y, options, [&] {
    return Tensor::from_float32(
        upsample_bilinear_values(image, static_cast<std::int64_t>(options.scale[0]),
                                 static_cast<std::int64_t>(options.scale[1]), read_pages(x).to_float32()),
        shape, from.dtype(), Layout::row_major, {}, Rounding::packer);
  });
  return y;
}

}  // namespace

ComputeConfig upsample_compute(ComputeConfig compute, UpsampleMode mode) {
  if (mode == UpsampleMode::bilinear) compute.fp32_dest_acc_en = false;
  return compute;
}

DeviceTensor upsample(const DeviceTensor& x, const UpsampleOptions& options) {
  x.check_allocated();
  const Shape& in = x.spec().logical_shape();
  check(in.rank() == 4, Code::invalid_argument, "upsample: an image of rank 4 [n, h, w, c] is expected, not {}",
        in.to_string());
  check(in.volume() > 0, Code::invalid_argument, "upsample: the image {} is empty", in.to_string());
  const Scaling to = scaling(in, options);
  return options.mode == UpsampleMode::nearest ? nearest(x, to, options) : bilinear(x, to, options);
}

}  // namespace tessera::tensix
