#include "tessera/targets/neuron/kernels/harness.h"

#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"
#include "tessera/core/parallel_for.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <utility>

namespace tessera::neuron {
namespace {

Array uniform_array(ElementType type, Shape shape, std::mt19937& random) {
  Array out(type, std::move(shape));
  const auto n = static_cast<std::size_t>(out.count());
  // 24 bits, as np.random gives after conversion: the same on every platform.
  const auto next = [&] { return static_cast<float>(random() >> 8) * 0x1p-24F; };
  if (type == ElementType::float32) {
    for (float& each : out.as<float>()) each = next();
    return out;
  }
  auto* to = reinterpret_cast<std::uint16_t*>(out.bytes().data());
  for (std::size_t i = 0; i < n; ++i)
    to[i] = type == ElementType::float16 ? float16_from_float(next()) : bfloat16_from_float_host(next());
  return out;
}

// Rows of the convolution before the pool: sums, and sums of magnitudes.
struct PlainRow {
  std::vector<double> sums, magnitudes;
};

struct PlainOperands {
  std::vector<float> x, w, bias;
};

// All types here are exact in float, at half of what doubles take: a batch of large images has 51 million elements.
std::vector<float> floats_of(const Array& array) {
  const auto n = static_cast<std::size_t>(array.count());
  std::vector<float> out(n);
  if (array.type() == ElementType::float32) {
    std::memcpy(out.data(), array.bytes().data(), n * sizeof(float));
    return out;
  }
  const auto* from = reinterpret_cast<const std::uint16_t*>(array.bytes().data());
  for (std::size_t i = 0; i < n; ++i)
    out[i] = array.type() == ElementType::float16 ? float_from_float16(from[i]) : float_from_bfloat16(from[i]);
  return out;
}

void plain_row(const ConvProblem& p, const PlainOperands& o, std::int64_t n, std::int64_t oc, std::int64_t row,
               PlainRow& out) {
  const auto columns = static_cast<std::size_t>(p.ow());
  const auto bias = static_cast<double>(o.bias[static_cast<std::size_t>(oc)]);
  out.sums.assign(columns, bias);
  out.magnitudes.assign(columns, std::abs(bias));
  for (std::int64_t ic = 0; ic < p.ic; ++ic)
    for (std::int64_t i = 0; i < p.k; ++i)
      for (std::int64_t j = 0; j < p.k; ++j) {
        const float* x = o.x.data() + ((n * p.ic + ic) * p.h + row + i) * p.w + j;
        const auto weight = static_cast<double>(o.w[static_cast<std::size_t>(((oc * p.ic + ic) * p.k + i) * p.k + j)]);
        for (std::size_t c = 0; c < columns; ++c) {
          const double product = weight * static_cast<double>(x[c]);
          out.sums[c] += product;
          out.magnitudes[c] += std::abs(product);
        }
      }
}

}  // namespace

std::vector<HarnessCase> harness_cases(ElementType type) {
  std::vector<HarnessCase> out;
  for (const std::int64_t ic : {128, 256})
    for (const std::int64_t oc : {128, 256})
      out.push_back({"small", {.n = 4, .ic = ic, .oc = oc, .h = 32, .w = 16, .type = type}, false});
  const ConvProblem large{.n = 4, .type = type};
  ConvProblem pooled = large;
  pooled.pool = 2;
  out.push_back({"large", large, false});
  out.push_back({"large + bias", large, true});
  out.push_back({"large + bias + maxpool", pooled, true});
  return out;
}

std::string_view name(TimeVerdict verdict) {
  switch (verdict) {
    case TimeVerdict::missed: return "missed";
    case TimeVerdict::relaxed: return "relaxed";
    case TimeVerdict::met: return "met";
  }
  return "?";
}

double HarnessLimit::earned(double us) const {
  switch (verdict(us)) {
    case TimeVerdict::missed: return 0;
    case TimeVerdict::relaxed: return 0.9 * points;
    case TimeVerdict::met: return points;
  }
  return 0;
}

std::vector<HarnessLimit> harness_limits() {
  std::vector<HarnessLimit> out;
  for (const bool small : {false, true})
    for (const std::int64_t pool : {1, 2})
      for (const ElementType type : {ElementType::float32, ElementType::float16}) {
        const bool half = type == ElementType::float16;
        HarnessLimit limit{.problem = {.pool = pool, .type = type}, .extra = small};
        if (small) {
          limit.problem.h = 32, limit.problem.w = 16;
          limit.relaxed_us = limit.full_us = half ? 84 : 110;
          limit.points = 1.25;
        } else {
          limit.relaxed_us = half ? 1365 : 4964;
          limit.full_us = half ? 1002 : 4596;
          limit.points = pool == 1 ? 17.5 : 7.5;
        }
        out.push_back(limit);
      }
  return out;
}

double harness_tolerance(const ConvProblem& p, double sum, double magnitudes) {
  if (p.type == ElementType::float32) return 1e-8 + 1e-5 * std::abs(sum);
  const double sums = static_cast<double>(p.ic * p.k * p.k + 2) * 0x1p-24 * magnitudes;
  const bool half = p.type == ElementType::float16;
  return sums + (half ? 0x1p-11 : 0x1p-8) * (std::abs(sum) + sums) + (half ? 0x1p-25 : 0);
}

HarnessResult run_harness(const NeuronSpec& spec, const HarnessCase& c, ConvKernel kernel, std::int64_t row_step,
                          unsigned seed) {
  check(row_step >= 1, Code::invalid_argument, "every {}th row is none", row_step);
  const ConvProblem& p = c.problem;
  std::mt19937 random(seed);
  const Array x = uniform_array(p.type, Shape(p.x_shape()), random);
  const Array w = uniform_array(p.type, Shape(p.w_shape()), random);
  Array bias(p.type, Shape{p.oc});
  if (c.bias) bias = uniform_array(p.type, Shape{p.oc}, random);
  const ConvRun run = run_conv(spec, x, w, bias, p.pool, kernel);
  const PlainOperands operands{floats_of(x), floats_of(w), floats_of(bias)};
  const std::vector<float> y = floats_of(*run.y);

  HarnessResult out;
  out.profile = run.profile;
  const std::int64_t rows = p.oh() / p.pool, columns = p.ow() / p.pool, all = p.n * p.oc * rows;
  std::mutex mutex;
  parallel_for((all + row_step - 1) / row_step, 1, [&](std::int64_t begin, std::int64_t end) {
    HarnessResult mine;
    PlainRow part;
    std::vector<double> sums(static_cast<std::size_t>(columns)), magnitudes(static_cast<std::size_t>(columns));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = i * row_step, n = at / (p.oc * rows), oc = at / rows % p.oc, row = at % rows;
      std::fill(sums.begin(), sums.end(), -std::numeric_limits<double>::infinity());
      std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
      for (std::int64_t r = 0; r < p.pool; ++r) {
        plain_row(p, operands, n, oc, row * p.pool + r, part);
        for (std::size_t j = 0; j < part.sums.size(); ++j) {
          const std::size_t to = j / static_cast<std::size_t>(p.pool);
          if (to >= sums.size()) continue;
          sums[to] = std::max(sums[to], part.sums[j]);
          magnitudes[to] = std::max(magnitudes[to], part.magnitudes[j]);
        }
      }
      for (std::int64_t col = 0; col < columns; ++col) {
        const auto j = static_cast<std::size_t>(col);
        const double got = static_cast<double>(y[static_cast<std::size_t>(at * columns + col)]);
        const double difference = std::abs(got - sums[j]);
        const double tolerance = harness_tolerance(p, sums[j], magnitudes[j]);
        ++mine.compared;
        mine.worst = std::max(mine.worst, difference / tolerance);
        mine.difference = std::max(mine.difference, difference / std::abs(sums[j]));
        if (difference <= tolerance) continue;  // not so for NaN
        if (mine.wrong++ == 0)
          mine.first_wrong = fmt::format("[{}, {}, {}, {}] is {:.9g}, not {:.9g}", n, oc, row, col, got, sums[j]);
      }
    }
    const std::scoped_lock lock(mutex);
    out.compared += mine.compared;
    out.wrong += mine.wrong;
    out.worst = std::max(out.worst, mine.worst);
    out.difference = std::max(out.difference, mine.difference);
    if (out.first_wrong.empty()) out.first_wrong = mine.first_wrong;
  });
  return out;
}

}  // namespace tessera::neuron
