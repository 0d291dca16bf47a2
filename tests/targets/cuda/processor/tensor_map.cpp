#include "tests/targets/cuda/processor/tensor_map.h"

#include "tests/targets/cuda/processor/machine.h"

#include <bit>
#include <cstring>

namespace tessera::cuda::processor {

std::int32_t load_box(const CUtensorMap* map, std::uint32_t to, const int (&at)[5]) {
  TensorMap tensor;
  std::memcpy(&tensor, map, sizeof tensor);
  std::uint32_t counts[5] = {1, 1, 1, 1, 1};
  std::int32_t elements = 1;
  for (int d = 0; d < tensor.rank; ++d) {
    counts[d] = (tensor.box[d] + tensor.steps[d] - 1u) / tensor.steps[d];
    elements *= static_cast<std::int32_t>(counts[d]);
  }
  const std::uint32_t bytes = tensor.element_bytes;
  for (std::int32_t i = 0; i < elements; ++i) {
    auto rest = static_cast<std::uint32_t>(i);
    std::int64_t offset = 0;
    bool inside = true;
    for (int d = 0; d < tensor.rank; ++d) {
      const std::int64_t place = at[d] + static_cast<std::int64_t>(rest % counts[d]) * tensor.steps[d];
      rest /= counts[d];
      inside = inside && place >= 0 && place < static_cast<std::int64_t>(tensor.sizes[d]);
      offset += place * static_cast<std::int64_t>(tensor.strides[d]);
    }
    std::uint32_t address = to + static_cast<std::uint32_t>(i) * bytes;
    address ^= (address >> 7 & 7) << 4;
    std::uint32_t value = 0;
    if (inside) std::memcpy(&value, tensor.data + offset, bytes);
    // To the nearest, ties away from 0; infinities and NaN stay.
    if (tensor.rounds && (value & 0x7F800000) != 0x7F800000) value = (value + 0x1000) & ~0x1FFFu;
    std::memcpy(shared_pointer(address), &value, bytes);
  }
  return elements * static_cast<std::int32_t>(bytes);
}

}  // namespace tessera::cuda::processor
