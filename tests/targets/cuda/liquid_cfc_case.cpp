#include "tests/targets/cuda/liquid_bounds.h"
#include "tests/targets/cuda/liquid_case.h"
#include "tests/targets/cuda/liquid_device.h"

#include "tessera/graph/op.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

namespace tessera::cuda {
namespace cfc_case {

using Doubles = std::vector<double>;

struct CfcNumbers {
  struct Linear {
    LiquidFloats weights, biases;
  };
  struct Cell {
    std::vector<Linear> backbone;
    Linear heads;
    LiquidFloats decay;
  };
  std::vector<Cell> cells;
  Linear projection;

  CfcWeights spans() const {
    CfcWeights out;
    const auto of = [](const Linear& l) { return CfcWeights::Linear{l.weights, l.biases}; };
    for (const Cell& cell : cells) {
      CfcWeights::Cell& to = out.cells.emplace_back();
      for (const Linear& layer : cell.backbone) to.backbone.push_back(of(layer));
      to.heads = of(cell.heads);
      to.decay = cell.decay;
    }
    out.projection = of(projection);
    return out;
  }
};

CfcNumbers draw_weights(const CfcCase& test, std::mt19937_64& random) {
  const double gain = test.values == LiquidValues::saturating ? 30 : 1;
  std::uniform_real_distribution<double> uniform(-1, 1), part(0, 1);
  const auto linear = [&](int rows, int width, double absent) {
    CfcNumbers::Linear out;
    for (int i = 0; i < rows * width; ++i)
      out.weights.push_back(
          part(random) < absent ? 0.0f : static_cast<float>(gain * uniform(random) * 1.7 / std::sqrt(width)));
    for (int i = 0; i < rows; ++i) out.biases.push_back(static_cast<float>(uniform(random)));
    return out;
  };
  const CfcProblem& p = test.problem;
  CfcNumbers out;
  for (std::size_t c = 0; c < p.cells.size(); ++c) {
    CfcNumbers::Cell& cell = out.cells.emplace_back();
    int width = p.inputs_of(c) + p.cells[c].units;
    for (const int next : p.cells[c].backbone) {
      cell.backbone.push_back(linear(next, width, 0));
      width = next;
    }
    const bool pure = p.mode == Cfc::Mode::pure;
    cell.heads = linear((pure ? 1 : 4) * p.cells[c].units, width, test.absent);
    for (int i = 0; pure && i < 2 * p.cells[c].units; ++i) cell.decay.push_back(static_cast<float>(uniform(random)));
  }
  if (p.projection > 0) out.projection = linear(p.projection, p.cells.back().units, 0);
  return out;
}

LiquidData draw_data(const CfcCase& test, std::mt19937_64& random) {
  const CfcProblem& p = test.problem;
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> time(0, 3), state(-1, 1);
  const auto fill = [&](auto& distribution, std::int64_t count) {
    LiquidFloats out(static_cast<std::size_t>(count));
    for (float& v : out) v = static_cast<float>(distribution(random));
    return out;
  };
  const std::int64_t rows = std::int64_t{p.batch} * p.steps;
  LiquidData out{.x = fill(normal, rows * p.inputs), .times = {}, .first = {}, .one_time = test.one_time};
  if (p.times != LiquidTimes::none)
    out.times = fill(time, test.one_time ? 1 : p.times == LiquidTimes::each_unit ? rows * p.units() : rows);
  if (test.first_state) out.first = fill(state, std::int64_t{p.batch} * p.units());
  if (test.values == LiquidValues::specials)
    for (const float special : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()})
      out.x[random() % out.x.size()] = special;
  return out;
}

Bounded bounded_activation(Cfc::Activation kind, const Bounded& x) {
  const auto constant = [](double value) { return Bounded::rounded(value, 0); };
  switch (kind) {
    case Cfc::Activation::lecun_tanh: return constant(1.7159) * bounded_tanh(constant(0.666) * x);
    case Cfc::Activation::silu: {
      // Its slope is at most 1.1.
      const double s = 1 / (1 + std::exp(-x.value));
      return {x.value * s, 1.1 * x.error + std::abs(x.value * s) * (kFunctionRounding + 0x1p-23) +
                               0x1p-23 * x.value * x.value * s * (1 - s) + std::abs(x.value) * 0x1p-126};
    }
    case Cfc::Activation::relu: return {x.value < 0 ? 0 : x.value, x.error};
    case Cfc::Activation::tanh: return bounded_tanh(x);
    case Cfc::Activation::gelu: {
      // Its slope is at most 1.13; normcdff errs by 5 in the last place, and the tail is rounded to 2^-126.
      const double value = x.value * std::erfc(-x.value * (std::numbers::sqrt2 / 2)) / 2;
      return {value, 1.13 * x.error + std::abs(value) * 0x1p-20 + std::abs(x.value) * 0x1p-126};
    }
  }
  return x;
}

Bounded bounded_head(Cfc::Head kind, const Bounded& x) {
  if (kind == Cfc::Head::none) return x;
  return bounded_activation(kind == Cfc::Head::tanh ? Cfc::Activation::tanh : Cfc::Activation::lecun_tanh, x);
}

// A product of `depth` inputs. tf32 rounds each operand to 11 bits; tensor cores then keep two bits fewer than float32
// when they align products (measured by others). Slices of the sum and the bias are added on top.
std::vector<Bounded> bounded_linear(const CfcNumbers::Linear& layer, const std::vector<Bounded>& x, bool tf32) {
  std::vector<Bounded> out(layer.biases.size());
  const double operands = tf32 ? 2 * 0x1p-11 + 0x1p-22 : 0;
  const double sums = (static_cast<double>(x.size()) + 20) * Bounded::kRounding + (tf32 ? 0x1p-21 : 0);
  for (std::size_t o = 0; o < out.size(); ++o) {
    double value = layer.biases[o], size = std::abs(value), carried = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double w = layer.weights[o * x.size() + i];
      value += w * x[i].value;
      size += std::abs(w * x[i].value);
      carried += std::abs(w) * x[i].error;
    }
    out[o] = {value, carried * (1 + operands) + size * (operands + sums)};
  }
  return out;
}

std::vector<Bounded> bounded_step(const CfcProblem& p, const CfcNumbers::Cell& cell, std::vector<Bounded> z,
                                  std::span<const double> times) {
  const bool tf32 = p.precision == LiquidPrecision::tf32;
  for (const CfcNumbers::Linear& layer : cell.backbone) {
    z = bounded_linear(layer, z, tf32);
    for (Bounded& v : z) v = bounded_activation(p.activation, v);
  }
  const std::vector<Bounded> f = bounded_linear(cell.heads, z, tf32);
  std::vector<Bounded> out(times.size());
  for (std::size_t u = 0; u < out.size(); ++u) {
    const Bounded time{times[u], 0}, one{1, 0};
    if (p.mode == Cfc::Mode::pure) {
      const Bounded tau{std::abs(static_cast<double>(cell.decay[u])), 0}, amplitude{cell.decay[out.size() + u], 0};
      const Bounded size{std::abs(f[u].value), f[u].error};
      out[u] = amplitude - amplitude * bounded_exp(Bounded{-1, 0} * time * (tau + size)) * f[u];
      continue;
    }
    const Bounded gate = bounded_logistic(f[2 * out.size() + u] * time + f[3 * out.size() + u]);
    const Bounded first = bounded_head(p.head, f[u]), second = bounded_head(p.head, f[out.size() + u]);
    out[u] = (p.mode == Cfc::Mode::no_gate ? first : first * (one - gate)) + gate * second;
  }
  return out;
}

Array array_of(std::span<const float> values, const Shape& shape) {
  Array out(ElementType::float32, shape);
  std::ranges::copy(values, out.as<float>().begin());
  return out;
}

// Every sample and step as a sample of one step; by the definition of the operator.
Doubles defined(const CfcProblem& p, const CfcNumbers::Cell& cell, const LiquidFloats& x, const LiquidFloats& state,
                const LiquidFloats& times, std::int64_t rows, std::int64_t units) {
  const Cfc op{.mode = p.mode, .activation = p.activation, .head = p.head, .batch_first = true};
  const auto inputs = static_cast<std::int64_t>(x.size()) / rows;
  const auto width = [](const CfcNumbers::Linear& l) {
    return static_cast<std::int64_t>(l.weights.size() / l.biases.size());
  };
  const auto matrix = [&](const CfcNumbers::Linear& l) {
    return array_of(l.weights, {static_cast<std::int64_t>(l.biases.size()), width(l)});
  };
  std::vector<Array> arrays{array_of(x, {rows, 1, inputs}),
                            array_of(times, {rows, 1, units}),
                            array_of(state, {rows, units}),
                            matrix(cell.heads),
                            array_of(cell.heads.biases, {static_cast<std::int64_t>(cell.heads.biases.size())}),
                            array_of(cell.decay, {cell.decay.empty() ? 0 : 2, units})};
  for (const CfcNumbers::Linear& layer : cell.backbone) {
    arrays.push_back(matrix(layer));
    arrays.push_back(array_of(layer.biases, {static_cast<std::int64_t>(layer.biases.size())}));
  }
  std::vector<const Array*> operands;
  for (const Array& array : arrays) operands.push_back(&array);
  if (cell.decay.empty()) operands[Cfc::kDecay] = nullptr;
  return reference(Op(op), operands).at(0).to_double();
}

void compare(const std::string& what, float found, double wanted, double tolerance) {
  if (std::isnan(wanted) || std::isinf(wanted) || std::isnan(found)) {
    EXPECT_TRUE(static_cast<double>(found) == wanted || (std::isnan(found) && std::isnan(wanted)))
        << fmt::format("{} is {}, the definition says {}", what, found, wanted);
    return;
  }
  // Where something infinite was on the way to a finite result there is no first-order bound: ends of gates are exact.
  const double most = std::isfinite(tolerance) ? tolerance : 4 * kFunctionRounding;
  EXPECT_LE(std::abs(found - wanted), most)
      << fmt::format("{} is {}, the definition says {}, tolerance {}", what, found, wanted, tolerance);
}

// The definition of each step from the kernel's own state before it.
void check_states(const CfcCase& test, const CfcNumbers& numbers, const LiquidData& data, const LiquidResults& found) {
  const CfcProblem& p = test.problem;
  if (p.batch == 0) return;
  const auto batch = static_cast<std::size_t>(p.batch), steps = static_cast<std::size_t>(p.steps),
             all = static_cast<std::size_t>(p.units());
  const auto place = [&](std::size_t b, std::size_t t) { return p.batch_first ? b * steps + t : t * batch + b; };
  std::size_t offset = 0;
  for (std::size_t c = 0; c < p.cells.size(); ++c) {
    const auto units = static_cast<std::size_t>(p.cells[c].units), inputs = static_cast<std::size_t>(p.inputs_of(c));
    LiquidFloats x, state, times;
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t t = 0; t < steps; ++t) {
        const std::size_t at = place(b, t);
        for (std::size_t i = 0; i < inputs; ++i)
          x.push_back(c == 0 ? data.x[at * inputs + i] : found.states[at * all + offset - inputs + i]);
        for (std::size_t u = 0; u < units; ++u) {
          state.push_back(t > 0                ? found.states[place(b, t - 1) * all + offset + u]
                          : data.first.empty() ? 0.0f
                                               : data.first[b * all + offset + u]);
          times.push_back(p.times == LiquidTimes::none        ? 1.0f
                          : data.one_time                     ? data.times[0]
                          : p.times == LiquidTimes::each_unit ? data.times[at * all + offset + u]
                                                              : data.times[at]);
        }
      }
    const std::size_t rows = batch * steps;
    const Doubles wanted = defined(p, numbers.cells[c], x, state, times, static_cast<std::int64_t>(rows),
                                   static_cast<std::int64_t>(units));
    for (std::size_t r = 0; r < rows && !testing::Test::HasFailure(); ++r) {
      std::vector<Bounded> z;
      for (std::size_t i = 0; i < inputs; ++i) z.push_back({x[r * inputs + i], 0});
      for (std::size_t u = 0; u < units; ++u) z.push_back({state[r * units + u], 0});
      const Doubles elapsed(times.begin() + static_cast<std::ptrdiff_t>(r * units),
                            times.begin() + static_cast<std::ptrdiff_t>((r + 1) * units));
      const std::vector<Bounded> bounds = bounded_step(p, numbers.cells[c], z, elapsed);
      for (std::size_t u = 0; u < units; ++u)
        compare(fmt::format("cell {} sample {} step {} unit {}", c, r / steps, r % steps, u),
                found.states[place(r / steps, r % steps) * all + offset + u], wanted[r * units + u], bounds[u].error);
    }
    offset += units;
  }
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t u = 0; u < all; ++u) {
      const float last = found.last[b * all + u], of_states = found.states[place(b, steps - 1) * all + u];
      ASSERT_EQ(std::memcmp(&last, &of_states, 4), 0) << "the last state is not that of the last step";
    }
  if (p.projection == 0) return;
  const std::size_t units = static_cast<std::size_t>(p.cells.back().units),
                    outputs = static_cast<std::size_t>(p.projection);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t t = p.projects_last_only ? steps - 1 : 0; t < steps; ++t) {
      std::vector<Bounded> h;
      for (std::size_t u = 0; u < units; ++u) h.push_back({found.states[place(b, t) * all + all - units + u], 0});
      const std::vector<Bounded> wanted = bounded_linear(numbers.projection, h, p.precision == LiquidPrecision::tf32);
      for (std::size_t o = 0; o < outputs; ++o)
        compare(fmt::format("output {} of sample {} step {}", o, b, t),
                found.output[(p.projects_last_only ? b : place(b, t)) * outputs + o], wanted[o].value, wanted[o].error);
    }
}

}  // namespace cfc_case

int check_kernels(const CfcCase& given, std::uint64_t seed) {
  SCOPED_TRACE(given.name);
  CfcCase test = given;
  CfcProblem& p = test.problem;
  std::mt19937_64 random(seed);
  const cfc_case::CfcNumbers numbers = cfc_case::draw_weights(test, random);
  const LiquidData data = cfc_case::draw_data(test, random);
  const std::size_t rows = static_cast<std::size_t>(p.batch) * static_cast<std::size_t>(p.steps);
  int count = 0;
  for (const LiquidPrecision precision : {LiquidPrecision::tf32, LiquidPrecision::f32}) {
    p.precision = precision;
    for (const CfcRow& row : cfc_rows())
      for (const int cluster : {1, 2, 4, 8}) {
        const CfcAnswer answer = consider(row, p, liquid_gpu().spec, cluster);
        const auto* offer = std::get_if<CfcOffer>(&answer);
        if (offer == nullptr) continue;
        SCOPED_TRACE(fmt::format("{} in clusters of {}{}", row.name, cluster, offer->resident ? "" : ", from L2"));
        const PreparedCfc prepared(liquid_gpu().library, p, row, *offer, numbers.spans());
        const LiquidResults found = run_prepared(
            prepared, data, rows * static_cast<std::size_t>(p.units()),
            static_cast<std::size_t>(p.batch) * static_cast<std::size_t>(p.units()),
            (p.projects_last_only ? static_cast<std::size_t>(p.batch) : rows) * static_cast<std::size_t>(p.projection));
        cfc_case::check_states(test, numbers, data, found);
        if (testing::Test::HasFailure()) return count;
        ++count;
      }
  }
  return count;
}

}  // namespace tessera::cuda
