#pragma once

// Functions of one and two numbers as MLX has them, and arrays in another order of dimensions.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/graph/ops/binary.h"
#include "tessera/graph/ops/unary.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::apple {

using Extents = std::vector<std::int64_t>;

Extents extents_of(const Shape& shape);
// float32 alone.
Array permuted(const Array& x, const Extents& order);

// Python; x, a and b stand for numbers. Nothing where MLX has no such function.
TSR_API std::optional<std::string> function_text(const Unary& op, const std::string& x);
std::optional<std::string> binary_text(Binary::Kind kind, const std::string& a, const std::string& b);

}  // namespace tessera::apple
