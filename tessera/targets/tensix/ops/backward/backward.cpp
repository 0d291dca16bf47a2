#include "tessera/targets/tensix/ops/backward/backward.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace tessera::tensix {
namespace {

constexpr double kPi = std::numbers::pi, kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10;
constexpr double kGiven = std::numeric_limits<double>::quiet_NaN();

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu_slope(double x) {
  return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * std::exp(-x * x / 2) / std::sqrt(2 * kPi);
}

double gelu_tanh_slope(double x) {
  const double scale = std::sqrt(2 / kPi), t = std::tanh(scale * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * scale * (1 + 3 * 0.044715 * x * x);
}

// A function of vector_functions.def.
double row_value(std::string_view name, double x, const double* parameters) {
  const auto rows = vector_function_rows();
  return std::ranges::find(rows, name, &VectorFunctionRow::name)->value(x, parameters);
}
double value_of(std::string_view name, double x) { return row_value(name, x, nullptr); }
double polygamma_of(double order, double x) { return row_value("polygamma", x, &order); }

constexpr std::span<const VectorParameter> kNoParameters;
#define BACKWARD(name, expression)
#define BACKWARD_BINARY(name, of_a, of_b)
#define BACKWARD_1(name, p, fallback, expression) \
  constexpr std::array kParametersOf_##name = {VectorParameter{#p, fallback}};
#define BACKWARD_2(name, p, p_fallback, q, q_fallback, expression) \
  constexpr std::array kParametersOf_##name = {VectorParameter{#p, p_fallback}, VectorParameter{#q, q_fallback}};
#include "tessera/targets/tensix/ops/backward/backward.def"
#undef BACKWARD
#undef BACKWARD_1
#undef BACKWARD_2

constexpr std::array kFunctions = {
#define BACKWARD(name, expression) \
  BackwardFunction{                \
      #name, kNoParameters,        \
      []([[maybe_unused]] double g, [[maybe_unused]] double x, const double*) -> double { return expression; }},
#define BACKWARD_1(name, p_, fallback, expression)                                                      \
  BackwardFunction{#name, kParametersOf_##name, [](double g, double x, const double* given) -> double { \
                     const double p = given[0];                                                         \
                     return expression;                                                                 \
                   }},
#define BACKWARD_2(name, p_, p_fallback, q_, q_fallback, expression)                                    \
  BackwardFunction{#name, kParametersOf_##name, [](double g, double x, const double* given) -> double { \
                     const double p = given[0], q = given[1];                                           \
                     return expression;                                                                 \
                   }},
#include "tessera/targets/tensix/ops/backward/backward.def"
#undef BACKWARD
#undef BACKWARD_1
#undef BACKWARD_2
#undef BACKWARD_BINARY
};

constexpr std::array kBinaryFunctions = {
#define BACKWARD(name, expression)
#define BACKWARD_1(name, p, fallback, expression)
#define BACKWARD_2(name, p, p_fallback, q, q_fallback, expression)
#define BACKWARD_BINARY(name, gradient_of_a, gradient_of_b)                                 \
  BackwardBinaryFunction{#name,                                                             \
                         [](double g, [[maybe_unused]] double a, [[maybe_unused]] double b, \
                            [[maybe_unused]] double p) -> double { return gradient_of_a; }, \
                         [](double g, [[maybe_unused]] double a, [[maybe_unused]] double b, \
                            [[maybe_unused]] double p) -> double { return gradient_of_b; }},
#include "tessera/targets/tensix/ops/backward/backward.def"
#undef BACKWARD
#undef BACKWARD_1
#undef BACKWARD_2
#undef BACKWARD_BINARY
};

void check_operands(std::string_view op, const DeviceTensors& operands) {
  check_together(op, operands);
  const Shape& shape = operands.front()->spec().logical_shape();
  for (const DeviceTensor* x : operands) {
    check(is_floating(x->spec().dtype()), Code::unsupported, Hint{"use typecast"},
          "{}: operands of {} are not supported", op, name(x->spec().dtype()));
    check(x->spec().layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
          "{}: operands must be in TILE layout, this one is in {}", op, name(x->spec().layout()));
    check(x->spec().logical_shape() == shape, Code::unsupported, Hint{"use expand"},
          "{}: operands of shapes {} and {} do not go together", op, shape.to_string(),
          x->spec().logical_shape().to_string());
  }
}

bool computes_wide(const DeviceTensor& x) { return x.spec().dtype() == DType::float32; }

template <class Value>
DeviceTensor gradient_program(std::string_view op, const DeviceTensors& operands, const DeviceTensor& x,
                              const std::optional<MemoryConfig>& config, const std::optional<DeviceTensor>& output,
                              Value&& value) {
  const auto compute = [&] {
    std::vector<double> y(static_cast<std::size_t>(x.spec().logical_shape().volume()));
    std::vector<std::vector<double>> values;
    for (const DeviceTensor* t : operands) values.push_back(numbers_of(*t));
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double b = values.size() > 2 ? values[2][i] : 0;
      y[i] = static_cast<double>(
          from_vector_unit(static_cast<float>(value(values[0][i], values[1][i], b)), computes_wide(x)));
    }
    return y;
  };
  if (output) {
    check_output(op, *output, x.spec().logical_shape(), x);
    return whole_program(ProgramKind::binary, op, operands, *output, compute);
  }
  return whole_program(ProgramKind::binary, op, operands,
                       x.spec().with_memory_config(place_of_result(config, x, x.spec().logical_shape())), compute);
}

}  // namespace

std::span<const BackwardFunction> backward_functions() { return kFunctions; }
std::span<const BackwardBinaryFunction> backward_binary_functions() { return kBinaryFunctions; }

const BackwardFunction& backward_function(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &BackwardFunction::name);
  check(found != kFunctions.end(), Code::not_found, "no gradient is called '{}'", name);
  return *found;
}

const BackwardBinaryFunction& backward_binary_function(std::string_view name) {
  const auto* found = std::ranges::find(kBinaryFunctions, name, &BackwardBinaryFunction::name);
  check(found != kBinaryFunctions.end(), Code::not_found, "no gradient of two operands is called '{}'", name);
  return *found;
}

DeviceTensor backward(const BackwardFunction& f, const DeviceTensor& gradient, const DeviceTensor& x,
                      std::span<const float> parameters, const std::optional<MemoryConfig>& config,
                      const std::optional<DeviceTensor>& output) {
  check_operands(f.name, {&gradient, &x});
  std::vector<double> given;
  for (std::size_t i = 0; i < f.parameters.size(); ++i) {
    given.push_back(i < parameters.size() ? static_cast<double>(parameters[i]) : f.parameters[i].fallback);
    check(!std::isnan(given.back()), Code::invalid_argument, "{}: {} must be given", f.name, f.parameters[i].name);
  }
  return gradient_program(f.name, {&gradient, &x}, x, config, output,
                          [&](double g, double v, double) { return f.value(g, v, given.data()); });
}

std::pair<DeviceTensor, DeviceTensor> backward(const BackwardBinaryFunction& f, const DeviceTensor& gradient,
                                               const DeviceTensor& a, const DeviceTensor& b, float alpha,
                                               const std::optional<MemoryConfig>& config) {
  const DeviceTensors operands{&gradient, &a, &b};
  check_operands(f.name, operands);
  const auto p = static_cast<double>(alpha);
  return {gradient_program(f.name, operands, a, config, std::nullopt,
                           [&](double g, double u, double v) { return f.of_a(g, u, v, p); }),
          gradient_program(f.name, operands, b, config, std::nullopt,
                           [&](double g, double u, double v) { return f.of_b(g, u, v, p); })};
}

DeviceTensor backward(const BackwardBinaryFunction& f, const DeviceTensor& gradient, const DeviceTensor& a, double b,
                      const std::optional<MemoryConfig>& config) {
  check_operands(f.name, {&gradient, &a});
  return gradient_program(f.name, {&gradient, &a}, a, config, std::nullopt,
                          [&](double g, double u, double) { return f.of_a(g, u, b, 1); });
}

}  // namespace tessera::tensix
