#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/movement_buffers.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"

#include <algorithm>

namespace tessera::tensix {

DeviceTensor typecast(const DeviceTensor& x, DType dtype, const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const TensorSpec to(from.logical_shape(), dtype, from.layout(), config.value_or(from.memory_config()), from.tile());
  check(from.memory_config().layout() == to.memory_config().layout(), Code::invalid_argument,
        Hint{"use to_memory_config as well"},
        "typecast: input and output must have the same memory layout, they are {} and {}",
        name(from.memory_config().layout()), name(to.memory_config().layout()));
  DeviceTensor y = DeviceTensor::allocate(x.device(), to);
  place_program(*x.device(), typecast_buffers(from, to, x.device()->card()));
  // The vector unit rounds float32 to bfloat16: to nearest, ties to even. Every other type is the packer's.
  const bool by_vector_unit = from.dtype() == DType::float32 && dtype == DType::bfloat16;
  write_values(y, [&] { return typecast(read_pages(x), dtype, by_vector_unit ? Rounding::host : Rounding::packer); });
  finish_program(
      {ProgramKind::typecast, fmt::format("{} to {}", name(from.dtype()), name(dtype)), stream_transfers(x, y)}, {&x},
      y);
  return y;
}

DeviceTensor bitcast(const DeviceTensor& x, DType dtype, const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  check(element_bytes(dtype) > 0 && element_bytes(dtype) == element_bytes(from.dtype()), Code::invalid_argument,
        Hint{"typecast converts values"}, "bitcast: {} and {} have elements of {} and {} bytes", name(from.dtype()),
        name(dtype), element_bytes(from.dtype()), element_bytes(dtype));
  const TensorSpec to(from.logical_shape(), dtype, from.layout(), config.value_or(from.memory_config()), from.tile());
  DeviceTensor y = DeviceTensor::allocate(x.device(), to);
  place_program(*x.device(), typecast_buffers(from, to, x.device()->card()));
  write_values(y, [&] {
    const Tensor given = read_pages(x);
    Tensor same(given.shape(), dtype, given.layout(), given.tile());
    std::ranges::copy(given.bytes(), same.bytes().begin());
    return same;
  });
  finish_program(
      {ProgramKind::typecast, fmt::format("bits of {} as {}", name(from.dtype()), name(dtype)), stream_transfers(x, y)},
      {&x}, y);
  return y;
}

}  // namespace tessera::tensix
