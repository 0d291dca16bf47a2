#include "tessera/targets/tensix/ops/to_layout/to_layout.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/movement_buffers.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

DType untilized_dtype(const TensorSpec& from, std::optional<DType> dtype) {
  const DType natural = from.dtype() == DType::bfloat8_b ? DType::bfloat16 : from.dtype();
  check(!dtype || *dtype == from.dtype() || *dtype == natural, Code::invalid_argument,
        Hint{"use typecast before or after"},
        "to_layout: the dtype cannot change from {} to {} on the way to ROW_MAJOR_LAYOUT", name(from.dtype()),
        dtype ? name(*dtype) : "");
  return natural;
}

// Into tiles, a request for the input's own kind of sharding keeps the input's shards: TTNN tilizes them where they
// are.
MemoryConfig tilized_place(const MemoryConfig& from, const std::optional<MemoryConfig>& wanted) {
  if (!wanted) return from;
  return from.is_sharded() && wanted->layout() == from.layout() && wanted->buffer_type() == from.buffer_type()
             ? from
             : *wanted;
}

// Rows in shards are filled up to whole tiles in a copy, which lives until they are tiles.
std::optional<DeviceTensor> filled_up(const DeviceTensor& x, const TensorSpec& tiles) {
  const TensorSpec& from = x.spec();
  if (from.memory_config().layout() != TensorMemoryLayout::height_sharded || !from.memory_config().shard_spec() ||
      !tiles.memory_config().is_sharded() || tiles.padded_shape().as_2d().height == from.padded_shape().as_2d().height)
    return std::nullopt;
  DeviceTensor copy = DeviceTensor::allocate(
      x.device(), TensorSpec(tiles.padded_shape(), from.dtype(), from.layout(), from.memory_config()));
  place_program(*x.device(), fill_rows_buffers(from));
  finish_program({ProgramKind::pad, tiles.padded_shape().to_string(), stream_transfers(x, copy)}, {&x}, copy);
  return copy;
}

}  // namespace

DeviceTensor to_layout(const DeviceTensor& x, Layout layout, std::optional<DType> dtype,
                       const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  if (layout == from.layout()) return x;
  const bool tilize = layout == Layout::tile;
  const DType target = tilize ? dtype.value_or(from.dtype()) : untilized_dtype(from, dtype);
  const MemoryConfig place = tilize   ? tilized_place(from.memory_config(), config)
                             : config ? *config
                                      : untilized_place(from);
  const TensorSpec spec(from.logical_shape(), target, layout, place);
  check(!tilize || from.dtype() != DType::uint8 || spec.padded_shape() == from.padded_shape(), Code::unsupported,
        Hint{"pad the tensor to whole tiles first, or use another dtype"},
        "to_layout: uint8 of shape {} would need padding to {}, which the card can only do for bfloat16, float32, "
        "int32, uint32 and uint16",
        from.logical_shape().to_string(), spec.padded_shape().to_string());

  const std::optional<DeviceTensor> filled = tilize ? filled_up(x, spec) : std::nullopt;
  DeviceTensor y = DeviceTensor::allocate(x.device(), spec);
  place_program(*x.device(), tilize ? tilize_buffers(from, spec, x.device()->card())
                                    : untilize_buffers(from, spec, x.device()->card()));
  // The packer rounds elements, so a change of dtype goes by elements too.
  const DType element = is_block_float(from.dtype()) ? DType::float32 : from.dtype();
  write_values(y, [&] {
    return Tensor::from_elements(read_pages(x).to_elements(element), element, from.logical_shape(), target, layout, {},
                                 Rounding::packer);
  });
  finish_program({tilize ? ProgramKind::tilize : ProgramKind::untilize,
                  fmt::format("{} to {}", name(from.dtype()), name(target)), stream_transfers(x, y)},
                 {&x}, y);
  return y;
}

}  // namespace tessera::tensix
