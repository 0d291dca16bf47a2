#include "tessera/targets/tensix/ops/elementwise/binary_function.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>

namespace tessera::tensix {
namespace {

constexpr MixedFractions kMixed = MixedFractions::taken, kSame = MixedFractions::refused;
constexpr bool kInPlace = true, kNew = false;
constexpr double kLn2 = std::numbers::ln2;

double truth(bool holds) { return holds ? 1.0 : 0.0; }
double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

double log_add_exp(double a, double b) {
  if (a == b) return a + kLn2;  // infinities, too
  return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

// The card's: nothing to the power of a negative fraction is no number.
double power(double a, double b) {
  if (a == 0 && b < 0 && b != std::floor(b)) return std::numeric_limits<double>::quiet_NaN();
  return std::pow(a, b);
}

double floored_remainder(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Registers wrap around.
template <class Operation>
std::int64_t wrapped(std::int64_t a, std::int64_t b, Operation operation) {
  return static_cast<std::int64_t>(operation(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}
std::int64_t wrapped_add(std::int64_t a, std::int64_t b) { return wrapped(a, b, std::plus<>()); }
std::int64_t wrapped_sub(std::int64_t a, std::int64_t b) { return wrapped(a, b, std::minus<>()); }
std::int64_t wrapped_mul(std::int64_t a, std::int64_t b) { return wrapped(a, b, std::multiplies<>()); }

constexpr std::array kFunctions = {
#define BINARY_ARITHMETIC(name, operands, mixed, in_place, kind, expression, integers) \
  BinaryFunction{                                                                      \
      #name,                                                                           \
      OperandTypes::operands,                                                          \
      mixed,                                                                           \
      in_place,                                                                        \
      Binary::Kind::kind,                                                              \
      [](double a, double b) -> double { return expression; },                         \
      []([[maybe_unused]] std::int64_t a, [[maybe_unused]] std::int64_t b) -> std::int64_t { return integers; }},
#define BINARY_FUNCTION(name, operands, mixed, in_place, expression)                     \
  BinaryFunction{#name,    OperandTypes::operands, mixed,                                \
                 in_place, std::nullopt,           [](double a, double b) -> double { return expression; }, \
                 nullptr},
#define BINARY_BITS(name, operands, expression) \
  BinaryFunction{#name,                         \
                 OperandTypes::operands,        \
                 kSame,                         \
                 kNew,                          \
                 std::nullopt,                  \
                 nullptr,                       \
                 [](std::int64_t a, std::int64_t b) -> std::int64_t { return expression; }},
#include "tessera/targets/tensix/ops/elementwise/binary_functions.def"
#undef BINARY_ARITHMETIC
#undef BINARY_FUNCTION
#undef BINARY_BITS
};

}  // namespace

std::span<const BinaryFunction> binary_functions() { return kFunctions; }

const BinaryFunction& binary_function(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &BinaryFunction::name);
  if (found != kFunctions.end()) return *found;
  std::string names;
  for (const BinaryFunction& each : kFunctions) names.append(names.empty() ? "" : ", ").append(each.name);
  fail(Code::not_found, Hint{fmt::format("one of {}", names)}, "no function of two numbers is called '{}'", name);
}

const BinaryFunction& binary_function(Binary::Kind kind) {
  const auto* found = std::ranges::find(kFunctions, std::optional(kind), &BinaryFunction::arithmetic);
  check(found != kFunctions.end(), Code::unsupported,
        "the card's element-wise operators are add, sub, mul, div, min and max");
  return *found;
}

bool takes(OperandTypes types, DType dtype) {
  switch (types) {
    case OperandTypes::fractions: return is_floating(dtype);
    case OperandTypes::plain_fractions: return is_floating(dtype) && !is_block_float(dtype);
    case OperandTypes::fractions_int32: return is_floating(dtype) || dtype == DType::int32;
    case OperandTypes::fractions_int32_uint32:
      return is_floating(dtype) || dtype == DType::int32 || dtype == DType::uint32;
    case OperandTypes::arithmetic: return dtype != DType::uint8;
    case OperandTypes::all: return true;
    case OperandTypes::bits: return is_integer(dtype) && dtype != DType::uint8;
    case OperandTypes::wide_bits: return dtype == DType::int32 || dtype == DType::uint32;
    case OperandTypes::int32: return dtype == DType::int32;
  }
  return false;
}

}  // namespace tessera::tensix
