#pragma once

#include <cstdint>

namespace tessera::internal {

// Along one axis. Attributes of a model are not to be believed: products of a few such extents still fit 64 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

}  // namespace tessera::internal
