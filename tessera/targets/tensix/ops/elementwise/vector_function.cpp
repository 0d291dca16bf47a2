#include "tessera/targets/tensix/ops/elementwise/vector_function.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace tessera::tensix {
namespace {

using Kind = VectorFunction::Kind;

struct Entry {
  std::string_view name;
  Unary function;
  float most;
  int parameters;  // how many it takes; 1: alpha of the function, or the bound of relu_max
  float fallback;  // of alpha, when none is given
};

constexpr float kAny = std::numeric_limits<float>::infinity();
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();  // the parameter must be given

constexpr std::array kEntries = {
    Entry{"abs", {Unary::Kind::abs}, kAny, 0, 0},
    Entry{"elu", {Unary::Kind::elu}, kAny, 1, 1},
    Entry{"exp", {Unary::Kind::exp}, kAny, 0, 0},
    Entry{"gelu", {Unary::Kind::gelu}, kAny, 0, 0},
    Entry{"hardsigmoid", {Unary::Kind::hard_sigmoid, 1.0f / 6, 0.5f}, kAny, 0, 0},
    Entry{"hardswish", {Unary::Kind::hard_swish}, kAny, 0, 0},
    Entry{"identity", {Unary::Kind::identity}, kAny, 0, 0},
    Entry{"leaky_relu", {Unary::Kind::leaky_relu}, kAny, 1, kNone},
    Entry{"log", {Unary::Kind::log}, kAny, 0, 0},
    Entry{"mish", {Unary::Kind::mish}, kAny, 0, 0},
    Entry{"neg", {Unary::Kind::neg}, kAny, 0, 0},
    Entry{"reciprocal", {Unary::Kind::reciprocal}, kAny, 0, 0},
    Entry{"relu", {Unary::Kind::relu}, kAny, 0, 0},
    Entry{"relu6", {Unary::Kind::relu}, 6, 0, 0},
    Entry{"sigmoid", {Unary::Kind::sigmoid}, kAny, 0, 0},
    Entry{"silu", {Unary::Kind::silu}, kAny, 0, 0},
    Entry{"softplus", {Unary::Kind::softplus}, kAny, 0, 0},
    Entry{"sqrt", {Unary::Kind::sqrt}, kAny, 0, 0},
    Entry{"swish", {Unary::Kind::silu}, kAny, 0, 0},
    Entry{"tanh", {Unary::Kind::tanh}, kAny, 0, 0},
};

// --- rows ---

constexpr bool kExact = false, kApproximates = true;
constexpr double kGiven = std::numeric_limits<double>::quiet_NaN();
constexpr double kNever = -1;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi;
constexpr double kMostBessel = 88.5;  // beyond it the card takes this

double truth(bool holds) { return holds ? 1.0 : 0.0; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

// The digamma function: upwards to where the asymptotic series holds.
double digamma(double x) {
  if (x <= 0 && x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
  if (x < 0) return digamma(1 - x) - kPi / std::tan(kPi * x);
  double below = 0;
  for (; x < 10; ++x) below -= 1 / x;
  const double s = 1 / (x * x);
  return below + std::log(x) - 0.5 / x -
         s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132)))));
}

// Derivative k >= 1 of digamma, by the same way up.
double polygamma(double x, double order) {
  const int k = static_cast<int>(order);
  double factorial = 1;  // of k - 1
  for (int i = 2; i < k; ++i) factorial *= i;
  double sum = 0;
  for (; x < 20; ++x) sum += factorial * k / std::pow(x, k + 1);
  sum += factorial / std::pow(x, k) + factorial * k / (2 * std::pow(x, k + 1));
  constexpr std::array kBernoulli = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66};
  double rising = factorial * k * (k + 1) / 2;  // (2j + k - 1)! / (2j)! at j = 1
  for (std::size_t j = 1; j <= kBernoulli.size(); ++j) {
    sum += kBernoulli[j - 1] * rising / std::pow(x, 2 * static_cast<int>(j) + k);
    const double n = 2 * static_cast<double>(j);
    rising *= (n + k) * (n + k + 1) / ((n + 1) * (n + 2));
  }
  return k % 2 == 1 ? sum : -sum;
}

// Modified Bessel functions of the first kind, by their power series (all terms are positive).
double bessel_i(int order, double x) {
  const double half = x / 2;
  double term = order == 0 ? 1 : half, sum = term;
  for (int k = 1; k < 500 && term != 0; ++k) {
    term *= half * half / (static_cast<double>(k) * (k + order));
    sum += term;
    if (std::fabs(term) < 1e-17 * std::fabs(sum)) break;
  }
  return sum;
}

// Inverse of erf: a first guess, then Newton's steps.
double erfinv(double y) {
  if (y <= -1 || y >= 1) return y == 1 ? kInfinity : y == -1 ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
  const double w = std::log(1 - y * y), t = 2 / (kPi * 0.147) + w / 2;
  double x = std::copysign(std::sqrt(std::sqrt(t * t - w / 0.147) - t), y);
  for (int i = 0; i < 3; ++i) x -= (std::erf(x) - y) / (2 / std::sqrt(kPi) * std::exp(-x * x));
  return x;
}

double multigammaln(double x) {
  double sum = 3 * std::log(kPi);  // of order 4
  for (int i = 0; i < 4; ++i) sum += std::lgamma(x - 0.5 * i);
  return sum;
}

// The card's: nothing to the power of a negative fraction is no number.
double power(double x, double p) {
  if (x == 0 && p < 0 && p != std::floor(p)) return std::numeric_limits<double>::quiet_NaN();
  return std::pow(x, p);
}

double round_half_even(double x, double decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::nearbyint(x * scale) / scale;
}

double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x))); }

// Without bounds (eps < 0), NaN outside of 0 and 1.
double logit(double x, double eps) {
  if (eps >= 0) x = eps > 0.5 ? std::clamp(x, 1 - eps, eps) : std::clamp(x, eps, 1 - eps);
  return std::log(x / (1 - x));
}

constexpr std::span<const VectorParameter> kNoParameters;
#define VECTOR_FUNCTION_1(name, takes, p, fallback, expression) \
  constexpr std::array kParametersOf_##name = {VectorParameter{#p, fallback}};
#define VECTOR_FUNCTION_2(name, takes, p, p_fallback, q, q_fallback, expression) \
  constexpr std::array kParametersOf_##name = {VectorParameter{#p, p_fallback}, VectorParameter{#q, q_fallback}};
#define VECTOR_FUNCTION(name, takes, accuracy, expression)
#include "tessera/targets/tensix/ops/elementwise/vector_functions.def"
#undef VECTOR_FUNCTION
#undef VECTOR_FUNCTION_1
#undef VECTOR_FUNCTION_2

constexpr std::array kRows = {
#define VECTOR_FUNCTION(name, takes, accuracy, expression)               \
  VectorFunctionRow{#name, OperandTypes::takes, accuracy, kNoParameters, \
                    [](double x, const double*) -> double { return expression; }},
#define VECTOR_FUNCTION_1(name, takes, p_, fallback, expression)                   \
  VectorFunctionRow{#name, OperandTypes::takes, kExact, kParametersOf_##name,      \
                    []([[maybe_unused]] double x, const double* given) -> double { \
                      [[maybe_unused]] const double p = given[0];                  \
                      return expression;                                           \
                    }},
#define VECTOR_FUNCTION_2(name, takes, p_, p_fallback, q_, q_fallback, expression) \
  VectorFunctionRow{#name, OperandTypes::takes, kExact, kParametersOf_##name,      \
                    []([[maybe_unused]] double x, const double* given) -> double { \
                      const double p = given[0], q = given[1];                     \
                      return expression;                                           \
                    }},
#include "tessera/targets/tensix/ops/elementwise/vector_functions.def"
#undef VECTOR_FUNCTION
#undef VECTOR_FUNCTION_1
#undef VECTOR_FUNCTION_2
};

void check_parameters(std::string_view name, std::span<const float> given, std::size_t least, std::size_t most) {
  check(given.size() >= least && given.size() <= most, Code::invalid_argument,
        "{} takes {} to {} parameters, {} were given", name, least, most, given.size());
}

}  // namespace

VectorFunction vector_function(std::string_view name, std::span<const float> parameters) {
  VectorFunction f;
  f.name = std::string(name);
  for (const Entry& each : kEntries) {
    if (each.name != name) continue;
    if (name == "softplus" && !parameters.empty()) break;  // with a beta and a threshold it is a row
    check_parameters(name, parameters, std::isnan(each.fallback) ? 1 : 0, static_cast<std::size_t>(each.parameters));
    f.activation = {each.function, each.most};
    if (each.parameters > 0) f.activation.function.alpha = parameters.empty() ? each.fallback : parameters[0];
    return f;
  }
  for (const VectorFunctionRow& row : kRows) {
    if (row.name != name) continue;
    const auto required = static_cast<std::size_t>(
        std::ranges::count_if(row.parameters, [](const VectorParameter& p) { return std::isnan(p.fallback); }));
    check_parameters(name, parameters, required, row.parameters.size());
    f.kind = Kind::row;
    f.row = &row;
    for (std::size_t i = 0; i < row.parameters.size(); ++i)
      f.parameters[i] = i < parameters.size() ? static_cast<double>(parameters[i]) : row.parameters[i].fallback;
    return f;
  }
  if (name == "square" || name == "rsqrt") {
    check_parameters(name, parameters, 0, 0);
    f.kind = name == "square" ? Kind::square : Kind::rsqrt;
    return f;
  }
  if (name == "clamp" || name == "relu_max") {
    const bool clamps = name == "clamp";
    check_parameters(name, parameters, clamps ? 2 : 1, clamps ? 2 : 1);
    f.kind = Kind::clamp;
    f.low = clamps ? static_cast<double>(parameters[0]) : 0.0;
    f.high = static_cast<double>(parameters.back());
    return f;
  }
  std::string names = "clamp, relu_max, rsqrt, square";
  for (const Entry& each : kEntries) names.append(", ").append(each.name);
  for (const VectorFunctionRow& row : kRows) names.append(", ").append(row.name);
  fail(Code::not_found, Hint{fmt::format("one of {}", names)}, "no function of the vector unit is called '{}'", name);
}

bool is_vector_function(std::string_view name) {
  constexpr std::array kOthers = {"clamp", "relu_max", "rsqrt", "square"};
  return std::ranges::find(kEntries, name, &Entry::name) != kEntries.end() ||
         std::ranges::find(kRows, name, &VectorFunctionRow::name) != kRows.end() ||
         std::ranges::find(kOthers, name) != kOthers.end();
}

std::span<const VectorFunctionRow> vector_function_rows() { return kRows; }

VectorFunction clamp_function(double low, double high) {
  VectorFunction f;
  f.kind = Kind::clamp;
  f.low = low;
  f.high = high;
  f.name = "clamp";
  return f;
}

bool takes_alpha(const VectorFunction& f) {
  return f.kind == Kind::activation &&
         (f.activation.function.kind == Unary::Kind::leaky_relu || f.activation.function.kind == Unary::Kind::elu);
}

bool takes(const VectorFunction& f, DType dtype) {
  if (f.kind == Kind::row) return takes(f.row->operands, dtype);
  if (is_floating(dtype)) return true;
  if (f.kind == Kind::square || f.kind == Kind::clamp) return true;
  if (f.kind == Kind::rsqrt) return false;
  switch (f.activation.function.kind) {
    case Unary::Kind::abs:
    case Unary::Kind::identity:
    case Unary::Kind::neg:
    case Unary::Kind::relu: return true;
    case Unary::Kind::leaky_relu: return dtype != DType::int32;  // nothing is below 0
    default: return false;
  }
}

void apply(const VectorFunction& f, std::span<float> dst, bool float32) {
  const auto each = [&](auto&& value) {
    for (float& v : dst) v = from_vector_unit(static_cast<float>(value(v)), float32);
  };
  switch (f.kind) {
    case Kind::activation: apply(f.activation, dst, float32); return;
    case Kind::square: each([](float v) { return v * v; }); return;
    case Kind::rsqrt: each([](float v) { return 1 / std::sqrt(static_cast<double>(v)); }); return;
    case Kind::clamp: {
      const auto low = static_cast<float>(f.low), high = static_cast<float>(f.high);
      each([&](float v) {
        if (v < low) v = low;
        return v > high ? high : v;
      });
      return;
    }
    case Kind::row:
      for (float& v : dst) {
        const double y = f.row->value(static_cast<double>(v), f.parameters.data());
        v = std::isnan(v) ? from_vector_unit(static_cast<float>(y), float32)
                          : worked_out(static_cast<float>(y), float32);
      }
      return;
  }
}

std::int64_t apply(const VectorFunction& f, std::int64_t value) {
  if (f.kind == Kind::square)  // wraps around, as the card's registers do
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(value));
  if (f.kind == Kind::clamp) {
    const double v = std::min(std::max(static_cast<double>(value), f.low), f.high);
    return static_cast<std::int64_t>(v);
  }
  if (f.kind == Kind::row)
    return static_cast<std::int64_t>(f.row->value(static_cast<double>(value), f.parameters.data()));
  switch (f.activation.function.kind) {
    case Unary::Kind::abs: return value < 0 ? -value : value;
    case Unary::Kind::neg: return -value;
    case Unary::Kind::relu: value = std::max<std::int64_t>(value, 0); break;
    default: break;
  }
  return std::isfinite(f.activation.most) ? std::min(value, static_cast<std::int64_t>(f.activation.most)) : value;
}

}  // namespace tessera::tensix
