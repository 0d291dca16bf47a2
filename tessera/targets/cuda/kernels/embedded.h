#pragma once

// The compiled kernels, which the library carries as bytes.

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::cuda {

enum class Binary : std::uint8_t {
#define TSR_BINARY(name) name,
#include "tessera/targets/cuda/kernels/binaries.def"
#undef TSR_BINARY
};
inline constexpr std::size_t kBinaries = 0
#define TSR_BINARY(name) +1
#include "tessera/targets/cuda/kernels/binaries.def"
#undef TSR_BINARY
    ;

// Empty where the build has none: it plans only.
std::span<const std::byte> embedded(Binary which);

}  // namespace tessera::cuda
