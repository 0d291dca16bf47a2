#pragma once

// Element-wise functions of three operands, the lines of ternary_functions.def: where, addcmul, ...

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/elementwise/operand_types.h"

#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace tessera::tensix {

// What the result's dtype is that of: the first operand, or the second (where it is a number: the third).
enum class TernaryResult : std::uint8_t { first, chosen };

struct TernaryFunction {
  std::string_view name;
  TernaryResult result;
  OperandTypes operands;
  bool takes_value;  // a number that goes with it, 1 when nobody says
  double (*value)(double a, double b, double c, double v);
};

TSR_API std::span<const TernaryFunction> ternary_functions();
TSR_API const TernaryFunction& ternary_function(std::string_view name);

struct TernaryOptions {
  double value = 1;
  std::optional<MemoryConfig> memory_config = {};  // default: that of the first operand
  std::optional<DeviceTensor> output = {};         // written instead of a new tensor
  std::optional<CoreRangeSet> cores = {};          // that work on it; default: all
};

using TensorOrNumber = std::variant<DeviceTensor, double>;

// Shapes are broadcast. Tensors in ROW_MAJOR go through tiled copies.
TSR_API DeviceTensor ternary(const TernaryFunction& function, const DeviceTensor& a, const TensorOrNumber& b,
                             const TensorOrNumber& c, const TernaryOptions& options = {});

}  // namespace tessera::tensix
