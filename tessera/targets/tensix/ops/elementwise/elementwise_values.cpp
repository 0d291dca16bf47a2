#include "tessera/targets/tensix/ops/elementwise/elementwise_values.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/op.h"
#include "tessera/targets/tensix/ops/elementwise/vector_function.h"
#include "tessera/targets/tensix/ops/pool/weighted_sum.h"

#include <algorithm>
#include <cmath>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kGrain = 16 << 10;

bool on_matrix_engine(Binary::Kind kind, DType a, DType b, Multiplier multiplier) {
  if (a == DType::float32 && b == DType::float32) return false;
  if (kind == Binary::Kind::mul)
    return multiplier == Multiplier::matrix_engine || is_block_float(a) || is_block_float(b);
  return kind == Binary::Kind::add || kind == Binary::Kind::sub;
}

float multiply(float a, float b, const ComputeConfig& compute) {
  float dst = 0;
  for (int phase = 0; phase < phases(compute.fidelity); ++phase)
    dst = into_dst(dst + weight_slice(a, phase) * activation_slice(b, phase), compute.fp32_dest_acc_en);
  return dst;
}

// What comes back after the packer wrote it to a buffer between two steps.
float between(float x, bool float32) { return float32 ? x : float_from_bfloat16(bfloat16_from_float_packer(x)); }

}  // namespace

std::vector<float> binary_values(Binary::Kind kind, std::span<const float> a, DType a_dtype, std::span<const float> b,
                                 DType b_dtype, const ComputeConfig& compute,
                                 const std::optional<DstActivation>& activation, Multiplier multiplier) {
  check(a.size() == b.size(), Code::invalid_argument, "operands of {} and {} elements do not go together", a.size(),
        b.size());
  const bool float32 = compute.fp32_dest_acc_en;
  std::vector<float> y(a.size());
  if (on_matrix_engine(kind, a_dtype, b_dtype, multiplier)) {
    parallel_for(static_cast<std::int64_t>(y.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        const float u = widen(a[i]), v = widen(b[i]);
        y[i] = kind == Binary::Kind::mul ? multiply(u, v, compute)
                                         : into_dst(kind == Binary::Kind::add ? u + v : u - v, float32);
      }
    });
  } else {
    const Shape shape{static_cast<std::int64_t>(a.size())};
    const Array left = Array::of<float>(shape, a), right = Array::of<float>(shape, b);
    const Array* operands[] = {&left, &right};
    const Array result = reference(Op(Binary{kind}), operands)[0];
    check(result.type() == ElementType::float32, Code::unsupported, "{} is no arithmetic of the card's vector unit",
          name(result.type()));
    const auto values = result.as<float>();
    std::transform(values.begin(), values.end(), y.begin(), [&](float v) { return worked_out(v, float32); });
  }
  if (activation) apply(*activation, y, float32);
  return y;
}

std::vector<float> unary_values(const DstActivation& function, std::span<const float> x, const ComputeConfig& compute) {
  const bool float32 = compute.fp32_dest_acc_en;
  std::vector<float> y(x.size());
  std::transform(x.begin(), x.end(), y.begin(),
                 [&](float v) { return from_vector_unit(float32 ? v : widen(v), float32); });
  apply(function, y, float32);
  return y;
}

std::vector<float> softmax_values(std::span<const float> x, std::int64_t rows, std::int64_t columns,
                                  const ComputeConfig& compute) {
  check(static_cast<std::int64_t>(x.size()) == rows * columns, Code::invalid_argument,
        "{} elements are no {} rows of {}", x.size(), rows, columns);
  const bool float32 = compute.fp32_dest_acc_en;
  std::vector<float> y(x.size());
  parallel_for(
      rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(columns, 1)),
      [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> powers(static_cast<std::size_t>(columns)), ones(powers.size(), 1.0f);
        for (std::int64_t r = begin; r < end; ++r) {
          const auto row = x.subspan(static_cast<std::size_t>(r * columns), powers.size());
          float most = -INFINITY;
          for (const float v : row) most = v > most || v != v ? widen(v) : most;
          for (std::size_t i = 0; i < powers.size(); ++i) {
            const float below = into_dst(widen(row[i]) - most, float32);
            powers[i] = between(into_dst(static_cast<float>(std::exp(static_cast<double>(below))), float32), float32);
          }
          const float sum = weighted_sum(powers, ones, compute);
          const float inverse = between(into_dst(static_cast<float>(1 / static_cast<double>(sum)), float32), float32);
          for (std::size_t i = 0; i < powers.size(); ++i)
            y[static_cast<std::size_t>(r * columns) + i] = multiply(widen(powers[i]), widen(inverse), compute);
        }
      });
  return y;
}

}  // namespace tessera::tensix
