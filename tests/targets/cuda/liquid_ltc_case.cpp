#include "tests/targets/cuda/liquid_bounds.h"
#include "tests/targets/cuda/liquid_case.h"
#include "tests/targets/cuda/liquid_device.h"

#include "tessera/graph/op.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tessera::cuda {
namespace ltc_case {

struct LtcNumbers {
  LiquidFloats membrane, sensory, recurrent;
  LtcWeights spans() const { return {membrane, sensory, recurrent}; }
};

// As ncps begins: conductances up to 1, slopes of 3 to 8, potentials of -1 and 1.
LtcNumbers draw_weights(const LtcCase& test, std::mt19937_64& random) {
  const LtcProblem& p = test.problem;
  const double gain = test.values == LiquidValues::saturating ? 30 : 1;
  std::uniform_real_distribution<double> unit(0, 1);
  const auto between = [&](double low, double high) { return static_cast<float>(low + (high - low) * unit(random)); };
  LtcNumbers out;
  for (int i = 0; i < p.units; ++i) out.membrane.push_back(between(0.001, 1));
  for (int i = 0; i < p.units; ++i) out.membrane.push_back(between(-0.2, 0.2));
  for (int i = 0; i < p.units; ++i) out.membrane.push_back(between(0.4, 0.6));
  const auto synapses = [&](LiquidFloats& to, int sources) {
    const int count = sources * p.units;
    for (int i = 0; i < count; ++i) to.push_back(unit(random) < test.absent ? 0.0f : between(0.001, 1));
    for (int i = 0; i < count; ++i) to.push_back(between(0.3, 0.8));
    for (int i = 0; i < count; ++i) to.push_back(static_cast<float>(gain * between(3, 8)));
    for (int i = 0; i < count; ++i) to.push_back(unit(random) < 0.5 ? -1.0f : 1.0f);
  };
  synapses(out.sensory, p.inputs);
  synapses(out.recurrent, p.units);
  return out;
}

LiquidData draw_data(const LtcCase& test, std::mt19937_64& random) {
  const LtcProblem& p = test.problem;
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> time(0, 2), state(-1, 1);
  const auto fill = [&](auto& distribution, std::int64_t count) {
    LiquidFloats out(static_cast<std::size_t>(count));
    for (float& v : out) v = static_cast<float>(distribution(random));
    return out;
  };
  const std::int64_t rows = std::int64_t{p.batch} * p.steps;
  LiquidData out{.x = fill(normal, rows * p.inputs), .times = {}, .first = {}, .one_time = test.one_time};
  if (p.times != LiquidTimes::none)
    out.times = fill(time, test.one_time ? 1 : p.times == LiquidTimes::each_unit ? rows * p.units : rows);
  if (test.first_state) out.first = fill(state, std::int64_t{p.batch} * p.units);
  if (test.values == LiquidValues::specials)
    for (const float special : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()})
      out.x[random() % out.x.size()] = special;
  return out;
}

// Currents and conductances of each unit.
struct Heard {
  std::vector<Bounded> current, conductance;
};

Heard bounded_sums(const LiquidFloats& synapses, std::size_t units, const std::vector<Bounded>& v) {
  const std::size_t each = v.size() * units;
  Heard out{std::vector<Bounded>(units), std::vector<Bounded>(units)};
  for (std::size_t j = 0; j < units; ++j) {
    double current = 0, conductance = 0, current_error = 0, conductance_error = 0, current_size = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      const std::size_t at = i * units + j;
      const double weight = synapses[at], mu = synapses[each + at], sigma = synapses[2 * each + at],
                   potential = synapses[3 * each + at];
      if (weight == 0) continue;
      // slope v + shift, both rounded when they were packed, one rounding of the sum, in units of log 2.
      const Bounded argument{sigma * (v[i].value - mu),
                             std::abs(sigma) * v[i].error +
                                 3 * Bounded::kRounding * (std::abs(sigma * v[i].value) + std::abs(sigma * mu))};
      const Bounded open = bounded_logistic(argument);
      conductance += weight * open.value;
      current += weight * potential * open.value;
      conductance_error += weight * open.error;
      current_error += std::abs(weight * potential) * open.error;
      current_size += std::abs(weight * potential) * open.value;
    }
    const double rounding = (static_cast<double>(v.size()) + 20) * Bounded::kRounding;
    out.current[j] = {current, current_error + rounding * current_size};
    out.conductance[j] = {conductance, conductance_error + rounding * conductance};
  }
  return out;
}

std::vector<Bounded> bounded_step(const LtcProblem& p, const LtcNumbers& numbers, const std::vector<Bounded>& x,
                                  std::vector<Bounded> v, std::span<const double> times) {
  const std::size_t units = v.size();
  const Heard sensed = bounded_sums(numbers.sensory, units, x);
  const auto membrane = [&](std::size_t row, std::size_t u) { return Bounded{numbers.membrane[row * units + u], 0}; };
  const Bounded epsilon = Bounded::rounded(p.epsilon, 0);
  // The kernels multiply by reciprocals, each to 2 in the last place.
  const auto h = [&](std::size_t u) { return Bounded{times[u], 0} * Bounded::rounded(1.0 / p.unfolds, 0); };
  const auto quotient = [](const Bounded& above, const Bounded& below) {
    const Bounded exact = above / below;
    return Bounded{exact.value, exact.error + 2 * kFunctionRounding * std::abs(exact.value)};
  };
  const auto heard = [&](const std::vector<Bounded>& at) {
    Heard sums = bounded_sums(numbers.recurrent, units, at);
    for (std::size_t u = 0; u < units; ++u) {
      sums.current[u] = sums.current[u] + sensed.current[u];
      sums.conductance[u] = sums.conductance[u] + sensed.conductance[u];
    }
    return sums;
  };
  const auto rate = [&](const std::vector<Bounded>& at) {
    const Heard s = heard(at);
    std::vector<Bounded> out(units);
    for (std::size_t u = 0; u < units; ++u)
      out[u] = quotient(membrane(0, u) * (membrane(1, u) - at[u]) + s.current[u] - at[u] * s.conductance[u],
                        membrane(2, u) + epsilon);
    return out;
  };
  const auto moved = [&](double part, const std::vector<Bounded>& by) {
    std::vector<Bounded> out(units);
    for (std::size_t u = 0; u < units; ++u) out[u] = v[u] + Bounded{part, 0} * h(u) * by[u];
    return out;
  };
  for (int i = 0; i < p.unfolds; ++i) {
    std::vector<Bounded> next(units);
    if (p.solver == Ltc::Solver::explicit_euler) {
      next = moved(1, rate(v));
    } else if (p.solver == Ltc::Solver::runge_kutta) {
      const std::vector<Bounded> k1 = rate(v), k2 = rate(moved(0.5, k1)), k3 = rate(moved(0.5, k2)),
                                 k4 = rate(moved(1, k3));
      const Bounded two{2, 0}, sixth = Bounded::rounded(1.0 / 6, 0);
      for (std::size_t u = 0; u < units; ++u)
        next[u] = v[u] + h(u) * sixth * (k1[u] + two * k2[u] + two * k3[u] + k4[u]);
    } else {
      const Heard s = heard(v);
      for (std::size_t u = 0; u < units; ++u)
        next[u] = quotient(membrane(2, u) * v[u] + h(u) * (membrane(0, u) * membrane(1, u) + s.current[u]),
                           membrane(2, u) + h(u) * (membrane(0, u) + s.conductance[u] + epsilon));
    }
    v = std::move(next);
  }
  return v;
}

Array array_of(std::span<const float> values, const Shape& shape) {
  Array out(ElementType::float32, shape);
  std::ranges::copy(values, out.as<float>().begin());
  return out;
}

void check_states(const LtcCase& test, const LtcNumbers& numbers, const LiquidData& data, const LiquidResults& found) {
  const LtcProblem& p = test.problem;
  if (p.batch == 0) return;
  const auto batch = static_cast<std::size_t>(p.batch), steps = static_cast<std::size_t>(p.steps),
             units = static_cast<std::size_t>(p.units), inputs = static_cast<std::size_t>(p.inputs);
  const auto place = [&](std::size_t b, std::size_t t) { return p.batch_first ? b * steps + t : t * batch + b; };
  LiquidFloats x, state, times;
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t t = 0; t < steps; ++t) {
      const std::size_t at = place(b, t);
      for (std::size_t i = 0; i < inputs; ++i) x.push_back(data.x[at * inputs + i]);
      for (std::size_t u = 0; u < units; ++u) {
        state.push_back(t > 0                ? found.states[place(b, t - 1) * units + u]
                        : data.first.empty() ? 0.0f
                                             : data.first[b * units + u]);
        times.push_back(p.times == LiquidTimes::none        ? 1.0f
                        : data.one_time                     ? data.times[0]
                        : p.times == LiquidTimes::each_unit ? data.times[at * units + u]
                                                            : data.times[at]);
      }
    }
  const auto rows = static_cast<std::int64_t>(batch * steps);
  const Ltc op{.solver = p.solver, .unfolds = p.unfolds, .epsilon = p.epsilon, .batch_first = true};
  const Array arrays[] = {array_of(x, {rows, 1, p.inputs}),
                          array_of(times, {rows, 1, p.units}),
                          array_of(state, {rows, p.units}),
                          array_of(numbers.membrane, {3, p.units}),
                          array_of(numbers.sensory, {4, p.inputs, p.units}),
                          array_of(numbers.recurrent, {4, p.units, p.units})};
  std::vector<const Array*> operands;
  for (const Array& array : arrays) operands.push_back(&array);
  const std::vector<double> wanted = reference(Op(op), operands).at(0).to_double();
  for (std::size_t r = 0; r < batch * steps && !testing::Test::HasFailure(); ++r) {
    std::vector<Bounded> in, v;
    for (std::size_t i = 0; i < inputs; ++i) in.push_back({x[r * inputs + i], 0});
    for (std::size_t u = 0; u < units; ++u) v.push_back({state[r * units + u], 0});
    const std::vector<double> elapsed(times.begin() + static_cast<std::ptrdiff_t>(r * units),
                                      times.begin() + static_cast<std::ptrdiff_t>((r + 1) * units));
    const std::vector<Bounded> bounds = bounded_step(p, numbers, in, v, elapsed);
    for (std::size_t u = 0; u < units; ++u) {
      const float value = found.states[place(r / steps, r % steps) * units + u];
      const double want = wanted[r * units + u];
      const std::string what = fmt::format("sample {} step {} unit {} is {}, the definition says {}, tolerance {}",
                                           r / steps, r % steps, u, value, want, bounds[u].error);
      if (std::isnan(want) || std::isinf(want) || std::isnan(value))
        EXPECT_TRUE(static_cast<double>(value) == want || (std::isnan(value) && std::isnan(want))) << what;
      else
        EXPECT_LE(std::abs(value - want), bounds[u].error) << what;
    }
  }
  for (std::size_t b = 0; b < batch; ++b)
    ASSERT_EQ(std::memcmp(&found.last[b * units], &found.states[place(b, steps - 1) * units], units * 4), 0)
        << "the last state is not that of the last step";
}

}  // namespace ltc_case

int check_kernels(const LtcCase& given, std::uint64_t seed) {
  SCOPED_TRACE(given.name);
  LtcCase test = given;
  LtcProblem& p = test.problem;
  std::mt19937_64 random(seed);
  const ltc_case::LtcNumbers numbers = ltc_case::draw_weights(test, random);
  const LiquidData data = ltc_case::draw_data(test, random);
  set_fan_in(p, numbers.spans());
  const std::size_t last = static_cast<std::size_t>(p.batch) * static_cast<std::size_t>(p.units);
  int count = 0;
  for (const LtcRow& row : ltc_rows())
    for (const int cluster : {1, 2, 4, 8}) {
      const LtcAnswer answer = consider(row, p, liquid_gpu().spec, cluster);
      const auto* offer = std::get_if<LtcOffer>(&answer);
      if (offer == nullptr) continue;
      SCOPED_TRACE(fmt::format("{} in clusters of {}{}", row.name, cluster, offer->resident ? "" : ", from L2"));
      const PreparedLtc prepared(liquid_gpu().library, p, row, *offer, numbers.spans());
      const LiquidResults found = run_prepared(prepared, data, last * static_cast<std::size_t>(p.steps), last, 0);
      ltc_case::check_states(test, numbers, data, found);
      if (testing::Test::HasFailure()) return count;
      ++count;
    }
  return count;
}

}  // namespace tessera::cuda
