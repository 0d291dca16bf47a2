#pragma once

// What the copy engine knows of a tensor, where the driver on the processor has written it into a CUtensorMap.

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace tessera::cuda::processor {

struct TensorMap {
  const std::byte* data;
  std::uint64_t sizes[5];
  std::uint64_t strides[5];  // bytes
  std::uint16_t box[5], steps[5];
  std::uint8_t rank, element_bytes;
  bool rounds;  // float32 to the nearest tf32
};
static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

// The box at these coordinates (the innermost first) to shared memory, swizzled by 128 bytes, zeros outside the tensor.
// Returns its bytes.
std::int32_t load_box(const CUtensorMap* map, std::uint32_t to, const int (&at)[5]);

}  // namespace tessera::cuda::processor
