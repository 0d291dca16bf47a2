#include "tessera/targets/tensix/ops/image_layout/image_layout.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"

#include <span>
#include <vector>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kMostChannels = 32;    // one tile wide
constexpr std::int64_t kChannelMultiple = 8;  // 16 bytes of bfloat16
constexpr std::int64_t kSide = 32;

void check_element(std::string_view op, DType dtype) {
  check(dtype == DType::bfloat16 || dtype == DType::float32, Code::unsupported, Hint{"use typecast"},
        "{}: {} is not supported, only BFLOAT16 and FLOAT32", op, name(dtype));
}

// [b, c, i] to [b, i, c], c filled up with zeros. The other way round it is the same with the extents exchanged.
std::vector<float> channels_last(std::span<const float> image, std::int64_t batch, std::int64_t c, std::int64_t pixels,
                                 std::int64_t channels) {
  std::vector<float> out(static_cast<std::size_t>(batch * pixels * channels), 0.0f);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t k = 0; k < c; ++k)
      for (std::int64_t i = 0; i < pixels; ++i)
        out[static_cast<std::size_t>((b * pixels + i) * channels + k)] =
            image[static_cast<std::size_t>((b * c + k) * pixels + i)];
  return out;
}

// x is [batch, c, pixels]; see channels_last().
DeviceTensor finish(ProgramKind kind, const DeviceTensor& x, DeviceTensor y, std::int64_t batch, std::int64_t c,
                    std::int64_t pixels, std::int64_t channels) {
  std::vector<Transfer> moved = stream_transfers(x, y);
  const TensorSpec& spec = y.spec();
  write_values(y, [&] {
    return Tensor::from_float32(channels_last(read_pages(x).to_float32(), batch, c, pixels, channels),
                                spec.logical_shape(), spec.dtype(), spec.layout(), spec.tile(), Rounding::packer);
  });
  finish_program({kind, x.spec().logical_shape().to_string(), std::move(moved)}, {&x}, y);
  return y;
}

DeviceTensor allocate_beside(const DeviceTensor& x, const Shape& shape, std::optional<DType> dtype) {
  const TensorSpec& from = x.spec();
  return DeviceTensor::allocate(
      x.device(), TensorSpec(shape, dtype.value_or(from.dtype()), Layout::row_major, from.memory_config()));
}

}  // namespace

DeviceTensor convert_to_hwc(const DeviceTensor& x, const std::optional<MemoryConfig>& config,
                            std::optional<DType> dtype) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& in = from.logical_shape();
  const bool interleaved = from.memory_config().layout() == TensorMemoryLayout::interleaved;
  if (interleaved && !config) {
    check(in.rank() == 4 && in[0] == 1, Code::invalid_argument,
          "convert_to_hwc: the input must be of shape [1, B, C, HW], it is {}", in.to_string());
    check_element("convert_to_hwc", dtype.value_or(from.dtype()));
    const std::int64_t channels = round_up(in[2], kChannelMultiple);
    DeviceTensor y = allocate_beside(x, {1, 1, in[1] * in[3], channels}, dtype);
    return finish(ProgramKind::convert_to_hwc, x, std::move(y), in[1], in[2], in[3], channels);
  }
  check(from.memory_config().is_l1() || config, Code::invalid_argument,
        "convert_to_hwc: when the input is in DRAM, the output's memory_config must be given");
  check(in.rank() == 4 && in[0] == 1, Code::invalid_argument,
        "convert_to_hwc: the input must be of shape [1, B, C, HW], it is {}", in.to_string());
  check(from.layout() == Layout::row_major, Code::invalid_argument, Hint{"use to_layout"},
        "convert_to_hwc: the input must be in ROW_MAJOR layout");
  check(in[2] <= kMostChannels, Code::unsupported, "convert_to_hwc: C must be {} at most, it is {}", kMostChannels,
        in[2]);
  check_element("convert_to_hwc", from.dtype());
  check_element("convert_to_hwc", dtype.value_or(from.dtype()));
  const MemoryConfig& source = from.memory_config();
  check(source.layout() == TensorMemoryLayout::width_sharded && source.shard_spec(), Code::invalid_argument,
        Hint{"use to_memory_config"}, "convert_to_hwc: the input must be WIDTH_SHARDED, it is {}",
        name(source.layout()));
  const std::int64_t channels = round_up(in[2], kChannelMultiple), rows = in[1] * in[3];
  MemoryConfig place =
      config.value_or(MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1,
                                   ShardSpec{source.shard_spec()->grid,
                                             {ceil_div(rows, source.shard_spec()->num_cores()), channels},
                                             source.shard_spec()->orientation}));
  check(place.layout() == TensorMemoryLayout::height_sharded && place.shard_spec(), Code::invalid_argument,
        "convert_to_hwc: the output's memory_config must be HEIGHT_SHARDED with shards, it is {}",
        name(place.layout()));
  const std::int64_t shard_rows = place.shard_spec()->shape.height;
  check(shard_rows % kSide == 0, Code::invalid_argument,
        "convert_to_hwc: the output's shard height {} must be a multiple of the tile's width ({})", shard_rows, kSide);
  const Shape shape{1, 1, rows, channels};
  DeviceTensor y =
      DeviceTensor::allocate(x.device(), TensorSpec(shape, dtype.value_or(from.dtype()), Layout::row_major, place));
  return finish(ProgramKind::convert_to_hwc, x, std::move(y), in[1], in[2], in[3], channels);
}

DeviceTensor convert_to_chw(const DeviceTensor& x, std::optional<DType> dtype) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& in = from.logical_shape();
  const MemoryConfig& source = from.memory_config();
  if (source.layout() == TensorMemoryLayout::interleaved) {
    check(in.rank() == 4 && in[0] == 1 && in[1] == 1, Code::invalid_argument,
          "convert_to_chw: the input must be of shape [1, 1, HW, C], it is {}", in.to_string());
    const DType kept = is_block_float(from.dtype()) ? DType::bfloat16 : from.dtype();
    check_element("convert_to_chw", dtype.value_or(kept));
    DeviceTensor y = allocate_beside(x, {1, 1, in[3], in[2]}, dtype.value_or(kept));
    return finish(ProgramKind::convert_to_chw, x, std::move(y), 1, in[2], in[3], in[2]);
  }
  check(source.layout() == TensorMemoryLayout::height_sharded && source.shard_spec(), Code::invalid_argument,
        "convert_to_chw: the input must be HEIGHT_SHARDED, it is {}", name(source.layout()));
  check(in.rank() == 4 && in[0] == 1 && in[1] == 1, Code::invalid_argument,
        "convert_to_chw: the input must be of shape [1, 1, HW, C], it is {}", in.to_string());
  check(in[2] % kSide == 0, Code::invalid_argument, "convert_to_chw: HW {} must be divisible by the tile's size {}",
        in[2], kSide);
  check(in[3] <= kMostChannels, Code::unsupported, "convert_to_chw: C must be {} at most, it is {}", kMostChannels,
        in[3]);
  check_element("convert_to_chw", dtype.value_or(from.dtype() == DType::bfloat8_b ? DType::bfloat16 : from.dtype()));
  const ShardSpec& shard = *source.shard_spec();
  // The program reads whole tiles out of the input's shards.
  const std::int64_t need = ceil_div(shard.shape.height, kSide) * tile_bytes(from.dtype());
  const std::int64_t have = from.pages_per_shard() * x.aligned_page_bytes();
  check(need <= have, Code::invalid_argument, Hint{"use TILE layout"},
        "convert_to_chw: the circular buffer of {} B is larger than the shard of {} B that it lies in", need, have);
  const Shape shape{1, 1, in[3], in[2]};
  const MemoryConfig place(TensorMemoryLayout::width_sharded, BufferType::l1,
                           ShardSpec{shard.grid, {in[3], shard.shape.height}, shard.orientation});
  DeviceTensor y =
      DeviceTensor::allocate(x.device(), TensorSpec(shape, dtype.value_or(from.dtype()), Layout::row_major, place));
  return finish(ProgramKind::convert_to_chw, x, std::move(y), 1, in[2], in[3], in[2]);
}

}  // namespace tessera::tensix
