// Values of every version against plain loops with double sums.

#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"
#include "tessera/core/isa.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/neuron/kernels/conv2d.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

namespace tessera::neuron {
namespace {

constexpr ElementType kF32 = ElementType::float32, kF16 = ElementType::float16, kBf16 = ElementType::bfloat16;

const NeuronSpec& trainium2() {
  static const Machine machine = load_machine(TESSERA_MACHINES_DIR "/trainium2.toml");
  return neuron_of(machine);
}

Array array_of(ElementType type, Shape shape, const std::vector<float>& values) {
  Array out(type, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == kF32) out.as<float>()[i] = values[i];
    if (type == kF16) reinterpret_cast<std::uint16_t*>(out.bytes().data())[i] = float16_from_float(values[i]);
    if (type == kBf16) reinterpret_cast<std::uint16_t*>(out.bytes().data())[i] = bfloat16_from_float_host(values[i]);
  }
  return out;
}

struct Case {
  ConvProblem p;
  Array x, w, bias;
};

Case make_case(ConvProblem p, unsigned seed, float low = 0, float high = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  const auto fill = [&](std::int64_t n) {
    std::vector<float> v(static_cast<std::size_t>(n));
    for (float& each : v) each = uniform(random);
    return v;
  };
  return {p, array_of(p.type, Shape(p.x_shape()), fill(p.n * p.ic * p.h * p.w)),
          array_of(p.type, Shape(p.w_shape()), fill(p.oc * p.ic * p.k * p.k)),
          array_of(p.type, Shape{p.oc}, fill(p.oc))};
}

struct Expected {
  double value, magnitude;  // the sum, and the sum of absolute values
};

// One element of the output, in double.
Expected reference(const Case& c, const std::vector<double>& x, const std::vector<double>& w,
                   const std::vector<double>& bias, std::int64_t n, std::int64_t oc, std::int64_t r, std::int64_t col) {
  const ConvProblem& p = c.p;
  Expected best{-std::numeric_limits<double>::infinity(), 0};
  for (std::int64_t pr = 0; pr < p.pool; ++pr)
    for (std::int64_t pc = 0; pc < p.pool; ++pc) {
      double sum = bias[static_cast<std::size_t>(oc)], magnitude = std::abs(sum);
      for (std::int64_t ic = 0; ic < p.ic; ++ic)
        for (std::int64_t i = 0; i < p.k; ++i)
          for (std::int64_t j = 0; j < p.k; ++j) {
            const double product = x[static_cast<std::size_t>(((n * p.ic + ic) * p.h + r * p.pool + pr + i) * p.w +
                                                              col * p.pool + pc + j)] *
                                   w[static_cast<std::size_t>(((oc * p.ic + ic) * p.k + i) * p.k + j)];
            sum += product;
            magnitude += std::abs(product);
          }
      if (std::isnan(sum)) return {sum, magnitude};
      best.value = std::max(best.value, sum);
      best.magnitude = std::max(best.magnitude, magnitude);
    }
  return best;
}

// Sums of `terms` float32 products in any order, then one rounding to the type of the output.
double bound(const ConvProblem& p, const Expected& e) {
  const double terms = static_cast<double>(p.ic * p.k * p.k) + 2;
  const double sums = terms * 0x1p-24 * e.magnitude;
  const double rounding = p.type == kF32 ? 0x1p-24 : p.type == kF16 ? 0x1p-11 : 0x1p-8;
  return sums + rounding * (std::abs(e.value) + sums) + (p.type == kF16 ? 0x1p-25 : 0);
}

// Every `stride`-th element of the output against the reference.
void expect_close(const Case& c, const Array& y, std::int64_t stride, std::string_view step) {
  const std::vector<double> x = c.x.to_double(), w = c.w.to_double(), bias = c.bias.to_double(), got = y.to_double();
  ASSERT_EQ(y.shape(), Shape(c.p.y_shape()));
  const std::int64_t rows = c.p.oh() / c.p.pool, columns = c.p.ow() / c.p.pool;
  for (std::int64_t i = 0; i < y.count(); i += stride) {
    const Expected e = reference(c, x, w, bias, i / (c.p.oc * rows * columns), i / (rows * columns) % c.p.oc,
                                 i / columns % rows, i % columns);
    const double value = got[static_cast<std::size_t>(i)];
    ASSERT_LE(std::abs(value - e.value), bound(c.p, e))
        << step << " " << c.p.text() << " at " << i << ": " << value << " for " << e.value;
    if (c.p.type == kF32) {
      ASSERT_LE(std::abs(value - e.value), 1e-8 + 1e-5 * std::abs(e.value));  // np.allclose
    }
  }
}

// With float16 the first two steps keep sums in float16 and are not expected to be right.
bool keeps_narrow_sums(std::string_view step, ElementType type) {
  return type != kF32 && (step == "baseline" || step == "halo");
}

TEST(Conv2dValues, EveryStepAgreesWithPlainLoopsOnSmallImages) {
  for (const ConvStep& step : conv_steps())
    for (const ElementType type : {kF32, kF16, kBf16})
      for (const std::int64_t pool : {1, 2}) {
        if (keeps_narrow_sums(step.name, type)) continue;
        const Case c =
            make_case({.n = 2, .ic = 128, .oc = 256, .h = 8, .w = 16, .k = 3, .pool = pool, .type = type}, 42);
        const ConvRun run = run_conv(trainium2(), c.x, c.w, c.bias, pool, step.run);
        expect_close(c, *run.y, 37, step.name);
      }
}

TEST(Conv2dValues, SumsInFloat16AreWrongByMoreThanTheBound) {
  const Case c = make_case({.ic = 256, .oc = 128, .h = 8, .w = 16, .type = kF16}, 1);
  const std::vector<double> x = c.x.to_double(), w = c.w.to_double(), bias = c.bias.to_double();
  const std::vector<double> y = run_conv(trainium2(), c.x, c.w, c.bias, 1, conv_step("halo").run).y->to_double();
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); i += 7) {
    const auto n = static_cast<std::int64_t>(i);
    const Expected e = reference(c, x, w, bias, 0, n / (6 * 14), n / 14 % 6, n % 14);
    worst = std::max(worst, std::abs(y[i] - e.value) / bound(c.p, e));
  }
  EXPECT_GT(worst, 1);
}

TEST(Conv2dValues, RandomShapesBothPools) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); };
  for (int i = 0; i < 12; ++i) {
    ConvProblem p;
    p.n = pick(1, 2);
    p.ic = 128 * pick(1, 2);
    p.oc = 128 * pick(1, 2);
    p.k = 2 * pick(0, 2) + 1;
    p.pool = pick(1, 2);
    p.h = p.k - 1 + p.pool * pick(1, 7);
    p.w = p.k - 1 + p.pool * pick(1, 20);
    p.type = pick(0, 1) == 0 ? kF32 : kF16;
    const Case c = make_case(p, static_cast<unsigned>(i), -1, 1);
    for (const char* step : {"hoisted", "native", "independent"}) {
      // Signs cancel, so only the computed bound applies.
      const Array y = *run_conv(trainium2(), c.x, c.w, c.bias, p.pool, conv_step(step).run).y;
      const std::vector<double> x = c.x.to_double(), w = c.w.to_double(), bias = c.bias.to_double(),
                                got = y.to_double();
      const std::int64_t rows = p.oh() / p.pool, columns = p.ow() / p.pool;
      for (std::int64_t at = 0; at < y.count(); at += 61) {
        const Expected e = reference(c, x, w, bias, at / (p.oc * rows * columns), at / (rows * columns) % p.oc,
                                     at / columns % rows, at % columns);
        ASSERT_LE(std::abs(got[static_cast<std::size_t>(at)] - e.value), bound(p, e)) << step << " " << p.text();
      }
    }
  }
}

TEST(Conv2dValues, SpecialValuesGoWhereTheyBelong) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float special : {inf, -inf, nan}) {
    Case c = make_case({.ic = 128, .oc = 128, .h = 8, .w = 8, .k = 1, .pool = 2}, 3, 0.5F, 1);
    c.x.as<float>()[5 * 64 + 2 * 8 + 3] = special;  // channel 5, row 2, column 3
    const std::vector<double> y = run_conv(trainium2(), c.x, c.w, c.bias, 2, conv_step("native").run).y->to_double();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const bool touched = i % 16 == 1 * 4 + 1;
      if (!touched || special == -inf) {
        EXPECT_TRUE(std::isfinite(y[i]));  // -inf loses against its neighbours
      }
      if (touched && special == inf) {
        EXPECT_EQ(y[i], inf);
      }
      if (touched && std::isnan(special)) {
        EXPECT_TRUE(std::isnan(y[i]));
      }
    }
  }
}

TEST(Conv2dValues, TinyAndHugeValuesKeepTheirBound) {
  for (const float scale : {0x1p-130F, 0x1p60F}) {
    Case c = make_case({.ic = 128, .oc = 128, .h = 6, .w = 6, .k = 3}, 9, -1, 1);
    for (float& each : c.x.as<float>()) each *= scale;
    for (float& each : c.bias.as<float>()) each = -0.0F;
    const Array y = *run_conv(trainium2(), c.x, c.w, c.bias, 1, conv_step("native").run).y;
    const std::vector<double> x = c.x.to_double(), w = c.w.to_double(), bias = c.bias.to_double(), got = y.to_double();
    for (std::int64_t at = 0; at < y.count(); at += 11) {
      const Expected e = reference(c, x, w, bias, 0, at / 16, at / 4 % 4, at % 4);
      const double subnormal = static_cast<double>(c.p.ic * 9) * 0x1p-149;
      ASSERT_LE(std::abs(got[static_cast<std::size_t>(at)] - e.value), bound(c.p, e) + subnormal);
    }
  }
}

TEST(Conv2dValues, DoNotDependOnTimeAndComeOutTheSameAgain) {
  const Case c = make_case({.ic = 128, .oc = 128, .h = 10, .w = 12, .pool = 2, .type = kF16}, 5);
  const auto bytes = [&](KernelOptions options) {
    const Array y = *run_conv(trainium2(), c.x, c.w, c.bias, 2, conv_step("native").run, options).y;
    return std::vector<std::byte>(y.bytes().begin(), y.bytes().end());
  };
  const std::vector<std::byte> timed = bytes({});
  EXPECT_EQ(timed, bytes({.time = false}));
  EXPECT_EQ(timed, bytes({}));
}

TEST(Conv2dValues, AreTheSameOnEveryInstructionSet) {
  const Case c =
      make_case({.ic = 128, .oc = 128, .h = 9, .w = 25, .type = kF32}, 6, -1, 1);  // 23 columns: no whole vectors
  std::vector<Array> results;
  for (const Isa isa : usable_isas()) {
    set_active_isa(isa);
    results.push_back(*run_conv(trainium2(), c.x, c.w, c.bias, 1, conv_step("native").run).y);
  }
  set_active_isa(std::nullopt);
  for (const Array& each : results) EXPECT_EQ(each, results.front());
}

TEST(Conv2dValues, TimeDoesNotDependOnValues) {
  const Case c = make_case({.ic = 128, .oc = 128, .h = 10, .w = 12, .pool = 2, .type = kF16}, 5);
  for (const ConvStep& step : conv_steps())
    EXPECT_EQ(run_conv(trainium2(), c.x, c.w, c.bias, 2, step.run).profile.total_ns,
              run_conv(trainium2(), c.p, step.run).profile.total_ns);
}

TEST(Conv2dProblem, SaysWhichRuleIsBroken) {
  const auto message = [](ConvProblem p) -> std::string {
    try {
      check_problem(trainium2(), p);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({.ic = 100}), testing::HasSubstr("100 input and 256 output channels: multiples of 128"));
  EXPECT_THAT(message({.h = 2}), testing::HasSubstr("a filter of 3x3 does not fit images of 2x224"));
  EXPECT_THAT(message({.pool = 3}), testing::HasSubstr("a pool of 3"));
  EXPECT_THAT(message({.h = 225, .pool = 2}), testing::HasSubstr("does not divide the 223x222"));
  EXPECT_THAT(message({.w = 600}), testing::HasSubstr("a row of 598 columns does not fit the 512"));
  EXPECT_EQ(message({}), "");
}

}  // namespace
}  // namespace tessera::neuron
