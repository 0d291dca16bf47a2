#include "tessera/ncp/internal/dense_kernels.h"
#include "tessera/core/isa.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tessera::ncp {
namespace TSR_FILE {

using Approximate = void (*)(Approximation, const float*, float*, std::int64_t) noexcept;

std::vector<Approximate> usable() {
  std::vector<Approximate> out{approximate_portable};
  if (host_isa() >= Isa::avx2) out.push_back(approximate_avx2);
  if (host_isa() >= Isa::avx512) out.push_back(approximate_avx512);
  return out;
}

double exact(Approximation what, double x) {
  switch (what) {
    case Approximation::exp: return std::exp(x);
    case Approximation::tanh: return std::tanh(x);
    case Approximation::sigmoid: return 1 / (1 + std::exp(-x));
  }
  return 0;
}

// The error that documentation states: relative, in units of 2^-23.
double worst(Approximate approximate, Approximation what, double low, double high) {
  std::vector<float> x, y;
  for (double at = low; at <= high; at += (high - low) / 200000) x.push_back(static_cast<float>(at));
  for (float at = 1e-38f; at < 1; at *= 1.7f) x.insert(x.end(), {at, -at});
  y.resize(x.size());
  approximate(what, x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = exact(what, x[i]);
    most = std::max(most, std::abs(y[i] - wanted) / std::abs(wanted) / std::numeric_limits<float>::epsilon());
  }
  return most;
}

TEST(DenseKernels, FunctionsAreExactToAFewRoundings) {
  for (const Approximate approximate : usable()) {
    EXPECT_LT(worst(approximate, Approximation::exp, -86, 87), 2);
    EXPECT_LT(worst(approximate, Approximation::sigmoid, -86, 100), 3);
    EXPECT_LT(worst(approximate, Approximation::tanh, -20, 20), 3);
  }
}

TEST(DenseKernels, FunctionsSaturateAndKeepNan) {
  for (const Approximate approximate : usable()) {
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> x{inf, -inf, 1e30f, -1e30f, NAN, 0};
    std::vector<float> y(x.size());
    approximate(Approximation::tanh, x.data(), y.data(), 6);
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[1], -1);
    EXPECT_EQ(y[2], 1);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[5], 0);
    approximate(Approximation::sigmoid, x.data(), y.data(), 6);
    EXPECT_EQ(y[0], 1);
    EXPECT_LT(y[1], 1e-37f);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[5], 0.5f);
    approximate(Approximation::exp, x.data(), y.data(), 6);
    EXPECT_GT(y[0], 1e38f);
    EXPECT_LT(y[1], 1e-37f);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[5], 1);
  }
}

}  // namespace TSR_FILE
}  // namespace tessera::ncp
