#include "tessera/targets/tensix/ops/pad/pad.h"

#include "tessera/core/convert.h"
#include "tessera/core/elements.h"
#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"

#include <cstring>

namespace tessera::tensix {
namespace {

// Rows of a height-sharded tensor may get longer; any other growth has to fit the shards there are.
MemoryConfig grown_placement(const TensorSpec& from, const Shape& shape) {
  const MemoryConfig& config = from.memory_config();
  if (!config.is_sharded() || !config.shard_spec()) return config;
  const TensorSpec whole(shape, from.dtype(), from.layout(),
                         MemoryConfig(TensorMemoryLayout::interleaved, config.buffer_type()), from.tile());
  ShardSpec shard = *config.shard_spec();
  if (config.layout() == TensorMemoryLayout::height_sharded) shard.shape.width = whole.physical().width;
  return MemoryConfig(config.layout(), config.buffer_type(), shard);
}

// `count` elements of `dtype` that hold `value`.
std::vector<std::byte> filled(DType dtype, float value, std::int64_t count) {
  std::vector<std::byte> one(static_cast<std::size_t>(element_bytes(dtype)));
  convert(reinterpret_cast<const std::byte*>(&value), DType::float32, one.data(), dtype, 1, Rounding::packer);
  std::vector<std::byte> all(static_cast<std::size_t>(count) * one.size());
  for (std::size_t i = 0; i < all.size(); i += one.size()) std::memcpy(all.data() + i, one.data(), one.size());
  return all;
}

}  // namespace

DeviceTensor pad(const DeviceTensor& x, std::span<const std::pair<std::int64_t, std::int64_t>> padding, float value,
                 const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& shape = from.logical_shape();
  const std::size_t rank = static_cast<std::size_t>(shape.rank());
  check(padding.size() <= rank, Code::invalid_argument, "pad: {} pairs were given for a tensor of rank {}",
        padding.size(), rank);
  std::vector<std::int64_t> dims = shape.dims(), front(rank, 0);
  for (std::size_t i = 0; i < padding.size(); ++i) {
    const std::size_t d = rank - padding.size() + i;
    const auto [before, after] = padding[i];
    check(before >= 0 && after >= 0, Code::invalid_argument, "pad: ({}, {}) of dimension {} is negative", before, after,
          d);
    check(before == 0 || from.layout() == Layout::row_major, Code::unsupported,
          Hint{"convert to ROW_MAJOR layout first"},
          "pad: TILE layout does not support front padding on the device, dimension {} asks for {}", d, before);
    dims[d] += before + after;
    front[d] = before;
  }
  const Shape grown(std::move(dims));
  const TensorSpec to(grown, from.dtype(), from.layout(), config ? *config : grown_placement(from, grown), from.tile());
  const bool stays = to.memory_config() == from.memory_config();
  if (grown == shape && stays) return x;

  const bool in_padding = from.layout() == Layout::tile && to.padded_shape() == from.padded_shape() && stays;
  DeviceTensor y = in_padding ? x.view(to) : DeviceTensor::allocate(x.device(), to);
  write_values(y, [&] {
    const DType element = is_block_float(from.dtype()) ? DType::float32 : from.dtype();
    std::vector<std::byte> elements = filled(element, value, grown.volume());
    copy_box({shape, shape, grown, std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 1), front},
             element_bytes(element), read_pages(x).to_elements(element).data(), elements.data());
    return Tensor::from_elements(elements, element, grown, to.dtype(), to.layout(), to.tile(), Rounding::packer);
  });
  finish_program(
      {ProgramKind::pad, fmt::format("{} to {}", shape.to_string(), grown.to_string()), stream_transfers(x, y)}, {&x},
      y);
  return y;
}

}  // namespace tessera::tensix
