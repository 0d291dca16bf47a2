#pragma once

// Functions of two numbers that element-wise operators of the card compute, under the names that TTNN gives them: the
// lines of binary_functions.def.

#include "tessera/core/export.h"
#include "tessera/graph/ops/binary.h"
#include "tessera/targets/tensix/ops/elementwise/operand_types.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera::tensix {

// Whether two different floating types may meet.
enum class MixedFractions : std::uint8_t { refused, taken };

struct BinaryFunction {
  std::string_view name;
  OperandTypes operands;
  MixedFractions mixed;
  bool in_place;  // TTNN has the form that writes over its first operand: its name with an underscore
  std::optional<Binary::Kind> arithmetic;                // what the matrix engine may do, too
  double (*value)(double a, double b);                   // null: integers only
  std::int64_t (*integers)(std::int64_t, std::int64_t);  // null: `value` is exact
};

TSR_API std::span<const BinaryFunction> binary_functions();
// An Error with all names for one that does not exist.
TSR_API const BinaryFunction& binary_function(std::string_view name);
TSR_API const BinaryFunction& binary_function(Binary::Kind kind);

}  // namespace tessera::tensix
