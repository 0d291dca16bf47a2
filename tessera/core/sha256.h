#pragma once

#include "tessera/core/export.h"

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace tessera {

// SHA-256 (FIPS 180-4) of bytes: to name contents, not to guard secrets.
TSR_API std::array<std::byte, 32> sha256(std::span<const std::byte> bytes);
// Its first `digits` hexadecimal digits, at most 64.
TSR_API std::string sha256_hex(std::span<const std::byte> bytes, std::size_t digits = 64);

}  // namespace tessera
