#pragma once

// Gradients of element-wise functions: the lines of backward.def.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/elementwise/vector_function.h"

#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace tessera::tensix {

struct BackwardFunction {
  std::string_view name;
  std::span<const VectorParameter> parameters;
  double (*value)(double g, double x, const double* parameters);
};
struct BackwardBinaryFunction {
  std::string_view name;
  double (*of_a)(double g, double a, double b, double alpha);
  double (*of_b)(double g, double a, double b, double alpha);
};

TSR_API std::span<const BackwardFunction> backward_functions();
TSR_API std::span<const BackwardBinaryFunction> backward_binary_functions();
TSR_API const BackwardFunction& backward_function(std::string_view name);
TSR_API const BackwardBinaryFunction& backward_binary_function(std::string_view name);

// The gradient of x, where `gradient` is that of the function's result.
TSR_API DeviceTensor backward(const BackwardFunction& function, const DeviceTensor& gradient, const DeviceTensor& x,
                              std::span<const float> parameters = {},
                              const std::optional<MemoryConfig>& config = std::nullopt,
                              const std::optional<DeviceTensor>& output = std::nullopt);
// Of both operands, which have one shape.
TSR_API std::pair<DeviceTensor, DeviceTensor> backward(const BackwardBinaryFunction& function,
                                                       const DeviceTensor& gradient, const DeviceTensor& a,
                                                       const DeviceTensor& b, float alpha = 1,
                                                       const std::optional<MemoryConfig>& config = std::nullopt);
// Of a tensor that met a number.
TSR_API DeviceTensor backward(const BackwardBinaryFunction& function, const DeviceTensor& gradient,
                              const DeviceTensor& a, double b,
                              const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
