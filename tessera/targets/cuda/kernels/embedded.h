#pragma once

// The compiled kernels, which the library carries as bytes.

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::cuda {

enum class Binary : std::uint8_t { conv2d_direct, conv2d_fold, conv2d_f16, conv2d_bf16 };
inline constexpr std::size_t kBinaries = 4;

std::span<const std::byte> embedded(Binary which);

}  // namespace tessera::cuda
