#include "tessera/targets/tensix/ops/elementwise/vector_function.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <array>
#include <cmath>

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
    check_parameters(name, parameters, std::isnan(each.fallback) ? 1 : 0, static_cast<std::size_t>(each.parameters));
    f.activation = {each.function, each.most};
    if (each.parameters > 0) f.activation.function.alpha = parameters.empty() ? each.fallback : parameters[0];
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
    f.low = clamps ? parameters[0] : 0.0f;
    f.high = parameters.back();
    return f;
  }
  std::string names = "clamp, relu_max, rsqrt, square";
  for (const Entry& each : kEntries) names.append(", ").append(each.name);
  fail(Code::not_found, Hint{fmt::format("one of {}", names)}, "no function of the vector unit is called '{}'", name);
}

bool is_vector_function(std::string_view name) {
  constexpr std::array kOthers = {"clamp", "relu_max", "rsqrt", "square"};
  return std::ranges::find(kEntries, name, &Entry::name) != kEntries.end() ||
         std::ranges::find(kOthers, name) != kOthers.end();
}

bool takes_alpha(const VectorFunction& f) {
  return f.kind == Kind::activation &&
         (f.activation.function.kind == Unary::Kind::leaky_relu || f.activation.function.kind == Unary::Kind::elu);
}

bool takes_integers(const VectorFunction& f) {
  if (f.kind == Kind::square || f.kind == Kind::clamp) return true;
  if (f.kind == Kind::rsqrt) return false;
  switch (f.activation.function.kind) {
    case Unary::Kind::abs:
    case Unary::Kind::identity:
    case Unary::Kind::neg:
    case Unary::Kind::relu: return true;
    default: return false;
  }
}

void apply(const VectorFunction& f, std::span<float> dst, bool float32) {
  switch (f.kind) {
    case Kind::activation: apply(f.activation, dst, float32); return;
    case Kind::square:
      for (float& v : dst) v = into_dst(v * v, float32);
      return;
    case Kind::rsqrt:
      for (float& v : dst) v = into_dst(static_cast<float>(1 / std::sqrt(static_cast<double>(v))), float32);
      return;
    case Kind::clamp:
      for (float& v : dst) v = v < f.low ? into_dst(f.low, float32) : v > f.high ? into_dst(f.high, float32) : v;
      return;
  }
}

std::int64_t apply(const VectorFunction& f, std::int64_t value) {
  if (f.kind == Kind::square)  // wraps around, as the card's registers do
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(value));
  if (f.kind == Kind::clamp) {
    const double v = static_cast<double>(value);
    return v < static_cast<double>(f.low)    ? static_cast<std::int64_t>(f.low)
           : v > static_cast<double>(f.high) ? static_cast<std::int64_t>(f.high)
                                             : value;
  }
  switch (f.activation.function.kind) {
    case Unary::Kind::abs: return value < 0 ? -value : value;
    case Unary::Kind::neg: return -value;
    case Unary::Kind::relu: value = std::max<std::int64_t>(value, 0); break;
    default: break;
  }
  return std::isfinite(f.activation.most) ? std::min(value, static_cast<std::int64_t>(f.activation.most)) : value;
}

}  // namespace tessera::tensix
