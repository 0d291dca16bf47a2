#pragma once

// Operators that work on each element by itself: functions of one tensor, and of two with broadcasting. Results go
// where TTNN puts them; a failed operator changes nothing.

#include "tessera/core/export.h"
#include "tessera/graph/ops/binary.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/elementwise/binary_function.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_values.h"
#include "tessera/targets/tensix/ops/elementwise/vector_function.h"

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::tensix {

struct UnaryOptions {
  std::optional<MemoryConfig> memory_config = {};  // default: where x is
  std::optional<DeviceTensor> output = {};         // written instead of a new tensor; may be x itself
  std::optional<CoreRangeSet> cores = {};          // that work on it; default: all
};

// The functions one after the other, in one program named `op`. Any layout; integers only for functions without
// fractions.
TSR_API DeviceTensor unary(std::string_view op, std::span<const VectorFunction> functions, const DeviceTensor& x,
                           const UnaryOptions& options = {});

struct BinaryOptions {
  std::optional<DType> dtype = {};                 // default: that of a (see .cpp for integers)
  std::optional<MemoryConfig> memory_config = {};  // default: that of the operand which is sharded, a's before b's
  std::optional<DeviceTensor> output = {};         // written instead of a new tensor; a itself for the forms in place
  std::vector<VectorFunction> activations = {}, a_activations = {}, b_activations = {};
  Multiplier multiplier = Multiplier::vector_unit;
  std::optional<CoreRangeSet> cores = {};  // that work on it; default: all
};

// A function of two numbers on all elements. Tensors in ROW_MAJOR that are sharded, or meet one in TILE, go through
// tiled copies.
TSR_API DeviceTensor binary(const BinaryFunction& function, const DeviceTensor& a, const DeviceTensor& b,
                            const BinaryOptions& options = {});
TSR_API DeviceTensor binary(const BinaryFunction& function, const DeviceTensor& a, double b,
                            const BinaryOptions& options = {});
TSR_API DeviceTensor binary(const BinaryFunction& function, double a, const DeviceTensor& b,
                            const BinaryOptions& options = {});

// add, sub, mul, div, min or max.
TSR_API DeviceTensor binary(Binary::Kind kind, const DeviceTensor& a, const DeviceTensor& b,
                            const BinaryOptions& options = {});
// With a number on the right, or on the left.
TSR_API DeviceTensor binary(Binary::Kind kind, const DeviceTensor& a, double b, const BinaryOptions& options = {});
TSR_API DeviceTensor binary(Binary::Kind kind, double a, const DeviceTensor& b, const BinaryOptions& options = {});

inline constexpr std::array kCardBinaries{Binary::Kind::add, Binary::Kind::sub, Binary::Kind::mul,
                                          Binary::Kind::div, Binary::Kind::min, Binary::Kind::max};
TSR_API std::string_view op_name(Binary::Kind kind);  // "add", "subtract", ...

// Shapes aligned at their last dimensions, 1 standing for any extent. Refuses others, naming `op`.
TSR_API Shape broadcast_shape(std::string_view op, const Shape& a, const Shape& b);

}  // namespace tessera::tensix
