#include "tests/targets/cuda/conv2d_case.h"

#include "tessera/core/float_bits.h"
#include "tessera/graph/op.h"
#include "tessera/machine/machine_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace tessera::cuda {

namespace {

double rounded_to(ElementType type, double x) {
  const auto narrow = static_cast<float>(x);
  if (type == ElementType::float16) return float_from_float16(float16_from_float(narrow));
  if (type == ElementType::bfloat16) return float_from_bfloat16(bfloat16_from_float_host(narrow));
  return narrow;
}

std::vector<std::byte> bytes_of(ElementType type, const std::vector<double>& values) {
  std::vector<std::byte> out(values.size() * static_cast<std::size_t>(element_bytes(type)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto x = static_cast<float>(values[i]);
    const std::uint16_t half = type == ElementType::float16 ? float16_from_float(x) : bfloat16_from_float_host(x);
    if (type == ElementType::float32)
      std::memcpy(out.data() + i * 4, &x, 4);
    else
      std::memcpy(out.data() + i * 2, &half, 2);
  }
  return out;
}

double value_at(ElementType type, const std::byte* bytes, std::size_t i) {
  if (type == ElementType::float32) {
    float x;
    std::memcpy(&x, bytes + i * 4, 4);
    return x;
  }
  std::uint16_t half;
  std::memcpy(&half, bytes + i * 2, 2);
  return type == ElementType::float16 ? float_from_float16(half) : float_from_bfloat16(half);
}

// Channels last to channels first, as the graph has them.
Array planes(const std::vector<double>& x, std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) {
  Array out(ElementType::float64, Shape{n, c, h, w});
  auto to = out.as<double>();
  std::size_t from = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t pixel = 0; pixel < h * w; ++pixel)
      for (std::int64_t k = 0; k < c; ++k) to[static_cast<std::size_t>((i * c + k) * h * w + pixel)] = x[from++];
  return out;
}

struct Data {
  std::vector<double> x, w, bias, residual;
};

Data make_data(const Conv2dCase& test, std::uint64_t seed) {
  const Conv2dProblem& p = test.problem;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto fill = [&](std::vector<double>& values, std::int64_t count, double scale) {
    values.resize(static_cast<std::size_t>(count));
    for (double& value : values) value = rounded_to(p.type, normal(random) * scale);
  };
  Data data;
  fill(data.x, p.x_elements(), 1);
  fill(data.w, p.w_elements(), 1 / std::sqrt(static_cast<double>(p.w_elements() / p.oc)));
  if (test.bias) fill(data.bias, p.oc, 1);
  if (p.residual) fill(data.residual, p.residual_elements(), 1);
  if (test.values == Values::cancelling) {
    // Neighbouring channels cancel to within a thousandth of their size.
    for (std::size_t i = 0; i + 1 < data.x.size(); i += 2) {
      data.x[i] = rounded_to(p.type, data.x[i] * 64);
      data.x[i + 1] = rounded_to(p.type, -data.x[i] * (1 + normal(random) * 1e-3));
    }
    const std::int64_t taps = p.kh * p.kw;
    for (std::int64_t o = 0; o < p.oc; ++o)
      for (std::int64_t c = 0; c + 1 < p.c / p.groups; c += 2)
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          const std::int64_t at = (o * (p.c / p.groups) + c) * taps + tap;
          data.w[static_cast<std::size_t>(at + taps)] = data.w[static_cast<std::size_t>(at)];
        }
  }
  if (test.values == Values::specials) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double specials[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
    for (const double special : specials) data.x[random() % data.x.size()] = special;
  }
  return data;
}

Array reference_conv(const Conv2dProblem& p, const Array& x, const Array& w) {
  const Conv op{.window = {.kernel = {p.kh, p.kw},
                           .strides = {p.stride[0], p.stride[1]},
                           .dilations = {p.dilation[0], p.dilation[1]},
                           .pads = {p.pads[0], p.pads[1], p.pads[2], p.pads[3]}},
                .groups = p.groups};
  const Array* inputs[] = {&x, &w};
  return reference(Op(op), inputs).at(0);
}

Array magnitudes(Array values) {
  for (double& value : values.as<double>()) value = std::abs(value);
  return values;
}

double activation_of(double x, const Activation& activation) {
  if (activation.curve == Curve::silu) x = x / (1 + std::exp(-x));
  if (activation.curve == Curve::gelu) x = x / 2 * std::erfc(-x / std::sqrt(2.0));
  if (activation.curve == Curve::sigmoid) x = 1 / (1 + std::exp(-x));
  if (activation.curve == Curve::hard_swish) x = x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
  return x < activation.lower ? activation.lower : x > activation.upper ? activation.upper : x;
}

struct Expected {
  std::vector<double> values, tolerances;  // channels last
};

Expected expected(const Conv2dCase& test, const Data& data) {
  const Conv2dProblem& p = test.problem;
  const Array x = planes(data.x, p.n, p.h, p.w, p.c);
  const Array w = Array::of<double>(Shape{p.oc, p.c / p.groups, p.kh, p.kw}, data.w);
  const Array sums = reference_conv(p, x, w), sizes = reference_conv(p, magnitudes(x), magnitudes(w));
  const int oh = p.oh(), ow = p.ow();
  const double length = static_cast<double>(p.c / p.groups) * p.kh * p.kw;
  // Tensor cores add 16 products at a time and keep 2 bits fewer than float32 when they align them (measured by
  // others); plain sums round once for each product. 4 covers both ends: bias, residual and the activation's exp.
  // tf32 rounds both factors of every product to 10 bits behind the point.
  const double sum_rounding =
      (length + 4) * std::ldexp(1, -24) + std::ldexp(1, -21) + (p.tf32 ? std::ldexp(2.001, -11) : 0);
  const double result_rounding = p.type == ElementType::float16    ? std::ldexp(1, -11)
                                 : p.type == ElementType::bfloat16 ? std::ldexp(1, -8)
                                                                   : std::ldexp(1, -23);
  const double smallest = p.type == ElementType::float16 ? std::ldexp(1, -25) : 0;
  Expected out;
  for (int n = 0; n < p.n; ++n)
    for (int y = 0; y < oh / p.pool; ++y)
      for (int column = 0; column < ow / p.pool; ++column)
        for (int o = 0; o < p.oc; ++o) {
          double result = -std::numeric_limits<double>::infinity(), tolerance = 0;
          for (int part = 0; part < p.pool * p.pool; ++part) {
            const int py = y * p.pool + part / p.pool, px = column * p.pool + part % p.pool;
            const auto at = static_cast<std::size_t>(((std::int64_t{n} * p.oc + o) * oh + py) * ow + px);
            const auto flat = static_cast<std::size_t>(((std::int64_t{n} * oh + py) * ow + px) * p.oc + o);
            double value = sums.as<double>()[at], size = sizes.as<double>()[at];
            if (test.bias)
              value += data.bias[static_cast<std::size_t>(o)], size += std::abs(data.bias[static_cast<std::size_t>(o)]);
            if (p.residual) value += data.residual[flat], size += std::abs(data.residual[flat]);
            value = activation_of(value, p.activation);
            tolerance = std::max(tolerance, 1.1 * sum_rounding * size + result_rounding * std::abs(value) + smallest);
            result = std::isnan(result) || std::isnan(value) ? std::nan("") : std::max(result, value);
          }
          out.values.push_back(result);
          out.tolerances.push_back(tolerance);
        }
  return out;
}

struct Gpu {
  Context context;
  KernelLibrary library{context};
  Stream stream{context};
  GpuSpec spec = *load_machine_file(TESSERA_MACHINES_DIR "/nvidia_h200.toml").gpu;
};

Gpu& gpu() {
  static Gpu one;
  return one;
}

// Beyond the result lies a guard that nothing may write to.
constexpr std::size_t kGuardBytes = 512;

void check_row(const Conv2dCase& test, const Conv2dRow& row, const Conv2dOffer& offer, const Data& data,
               const Expected& wanted) {
  const Conv2dProblem& p = test.problem;
  const auto floats = [](const std::vector<double>& values) {
    return std::vector<float>(values.begin(), values.end());
  };
  const Conv2d conv(gpu().library, p, row, offer, floats(data.w), floats(data.bias));
  const Memory x(gpu().context, bytes_of(p.type, data.x));
  const Memory residual(gpu().context, bytes_of(p.type, data.residual));
  const std::size_t result_bytes = wanted.values.size() * static_cast<std::size_t>(element_bytes(p.type));
  const Memory y(gpu().context, static_cast<std::int64_t>(result_bytes + kGuardBytes));
  y.fill(gpu().stream, 0xFF);
  const auto bound = conv.bind(x.data(), residual.data(), y.data());
  bound.launch(gpu().stream);
  bound.launch(gpu().stream);  // starts while the first runs: the results must be the same
  std::vector<std::byte> found(result_bytes + kGuardBytes);
  y.read(gpu().stream, found);
  gpu().stream.synchronize();

  double worst = 0;
  std::size_t worst_at = 0;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    const double value = value_at(p.type, found.data(), i);
    double error = std::abs(value - wanted.values[i]) / wanted.tolerances[i];
    if (std::isnan(wanted.values[i]) || std::isinf(wanted.values[i]) || std::isnan(value)) {
      const bool same = value == wanted.values[i] || (std::isnan(value) && std::isnan(wanted.values[i]));
      error = same ? 0 : std::numeric_limits<double>::infinity();
    }
    if (error > worst) worst = error, worst_at = i;
  }
  EXPECT_LE(worst, 1) << fmt::format("{} with {} splits: element {} is {}, the definition says {}, tolerance {}",
                                     row.name, offer.splits, worst_at, value_at(p.type, found.data(), worst_at),
                                     wanted.values.at(worst_at), wanted.tolerances[worst_at]);
  for (std::size_t i = result_bytes; i < found.size(); ++i)
    ASSERT_EQ(found[i], std::byte{0xFF}) << row.name << " wrote behind its result";
}

}  // namespace

std::string no_device() {
  const auto missing = absence();
  return missing ? missing->text : "";
}

int check_kernels(const Conv2dCase& test, std::uint64_t seed) {
  SCOPED_TRACE(test.name);
  const Data data = make_data(test, seed);
  const Expected wanted = expected(test, data);
  int count = 0;
  for (const Conv2dRow& row : conv2d_rows()) {
    for (const int splits : {1, 2, 4, 8}) {
      const Conv2dAnswer answer = consider(row, test.problem, gpu().spec, splits);
      if (!std::holds_alternative<Conv2dOffer>(answer)) continue;
      check_row(test, row, std::get<Conv2dOffer>(answer), data, wanted);
      ++count;
      if (!row.tiling) break;
    }
  }
  return count;
}

}  // namespace tessera::cuda
