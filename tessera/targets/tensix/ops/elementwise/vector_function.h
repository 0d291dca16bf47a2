#pragma once

// Functions of one number that the card's vector unit knows, under the names that TTNN gives them.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/ops/elementwise/operand_types.h"

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

struct VectorParameter {
  std::string_view name;  // TTNN's keyword
  double fallback;        // NaN: it must be given
};

// A line of vector_functions.def.
struct VectorFunctionRow {
  std::string_view name;
  OperandTypes operands;
  bool approximates;  // TTNN can trade accuracy for speed: fast_and_approximate_mode
  std::span<const VectorParameter> parameters;
  double (*value)(double x, const double* parameters);
};

TSR_API std::span<const VectorFunctionRow> vector_function_rows();

struct VectorFunction {
  enum class Kind : std::uint8_t { activation, square, rsqrt, clamp, row };
  static constexpr std::size_t kMostParameters = 2;

  Kind kind = Kind::activation;
  DstActivation activation = {};
  // clamp; where low is above high, all is high
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  const VectorFunctionRow* row = nullptr;
  std::array<double, kMostParameters> parameters = {};
  std::string name = "identity";

  bool operator==(const VectorFunction&) const = default;
};

// Bounds of any size, which integers are held against as they are.
TSR_API VectorFunction clamp_function(double low, double high);

// "relu", "leaky_relu" (slope), "elu" (alpha), "clamp" (low, high), "relu_max" (bound), ...: an Error with all names
// for one that does not exist, and for parameters that it does not take.
TSR_API VectorFunction vector_function(std::string_view name, std::span<const float> parameters = {});

// Whether there is one of this name.
TSR_API bool is_vector_function(std::string_view name);
// Whether one number goes with its name: the slope of leaky_relu, the alpha of elu.
TSR_API bool takes_alpha(const VectorFunction& function);

// Whether it takes operands of this type; integers only where it needs no fractions.
TSR_API bool takes(const VectorFunction& function, DType dtype);

// What the vector unit worked out of numbers, as Dst holds it: NaN reads back from 16 bits as an infinity
// (tt-llk, issue 675).
inline float worked_out(float x, bool float32) {
  if (!float32 && x != x) return std::numeric_limits<float>::infinity();
  return from_vector_unit(x, float32);
}

// On what is in Dst.
TSR_API void apply(const VectorFunction& function, std::span<float> dst, bool float32);
TSR_API std::int64_t apply(const VectorFunction& function, std::int64_t value);

}  // namespace tessera::tensix
