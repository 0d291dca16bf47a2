#include "tessera/targets/neuron/core/values.h"

#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"
#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"
#include "tessera/targets/neuron/core/product.h"
#include "tessera/targets/neuron/core/tile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace tessera::neuron {
namespace {

// Eight bits: `digits` of the mantissa, the smallest normal exponent, and the largest number, beyond which is infinity.
float rounded_float8(float x, int digits, int least_exponent, float largest) {
  if (x == 0 || !std::isfinite(x)) return x;
  const float step = std::ldexp(1.0F, std::max(std::ilogb(x), least_exponent) - digits);
  const float y = std::nearbyint(x / step) * step;
  return std::abs(y) > largest ? std::copysign(std::numeric_limits<float>::infinity(), x) : y;
}

// To the nearest, ties to even, and not beyond the type's limits. Integers of 32 bits are held exactly up to 2^24, as
// the engines compute with them.
template <class Integer>
float rounded_integer(float x) {
  constexpr auto kLow = static_cast<float>(std::numeric_limits<Integer>::min());
  constexpr auto kHigh = static_cast<float>(std::numeric_limits<Integer>::max());
  return std::isnan(x) ? 0 : std::clamp(std::nearbyint(x), kLow, kHigh);
}

float rounded_slow(float x, ElementType type) {
  switch (type) {
    case ElementType::boolean: return x != 0 ? 1 : 0;
    case ElementType::uint8: return rounded_integer<std::uint8_t>(x);
    case ElementType::int8: return rounded_integer<std::int8_t>(x);
    case ElementType::uint16: return rounded_integer<std::uint16_t>(x);
    case ElementType::int16: return rounded_integer<std::int16_t>(x);
    case ElementType::uint32: return rounded_integer<std::uint32_t>(x);
    case ElementType::int32: return rounded_integer<std::int32_t>(x);
    case ElementType::float8_e4m3: return rounded_float8(x, 3, -6, 240);
    case ElementType::float8_e5m2: return rounded_float8(x, 2, -14, 57344);
    default: return x;
  }
}

float rounded(float x, ElementType type) {
  if (type == ElementType::float32) return x;
  if (type == ElementType::float16) return float_from_float16(float16_from_float(x));
  if (type == ElementType::bfloat16) return float_from_bfloat16(bfloat16_from_float_host(x));
  return rounded_slow(x, type);
}

// A NaN in either operand is a NaN in the result.
float apply(MathOp op, float a, float b) {
  switch (op) {
    case MathOp::copy: return a;
    case MathOp::add: return a + b;
    case MathOp::subtract: return a - b;
    case MathOp::multiply: return a * b;
    case MathOp::divide: return a / b;
    case MathOp::max: return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
    case MathOp::min: return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
  }
  return a;
}

float apply(Function function, float x) {
  switch (function) {
    case Function::identity: return x;
    case Function::relu: return std::isnan(x) ? x : std::max(x, 0.0F);
    case Function::exp: return std::exp(x);
    case Function::tanh: return std::tanh(x);
    case Function::sigmoid: return 1 / (1 + std::exp(-x));
    case Function::square: return x * x;
    case Function::sqrt: return std::sqrt(x);
    case Function::rsqrt: return 1 / std::sqrt(x);
    case Function::reciprocal: return 1 / x;
    case Function::log: return std::log(x);
    case Function::abs: return std::abs(x);
    case Function::silu: return x / (1 + std::exp(-x));
  }
  return x;
}

float* data(const View& view) { return const_cast<View&>(view).tile().values.data(); }

// The offset of each row of a view: all of its dimensions but the last. Rows of one partition follow each other.
std::int64_t row_length(const View& view) { return view.rank() == 0 ? 1 : view.size(view.rank() - 1); }
std::int64_t row_stride(const View& view) { return view.rank() == 0 ? 1 : view.stride(view.rank() - 1); }

std::int64_t row_offset(const View& view, std::int64_t row) {
  std::int64_t at = view.offset();
  for (int d = view.rank() - 2; d >= 0; --d) {
    at += row % view.size(d) * view.stride(d);
    row /= view.size(d);
  }
  return at;
}

// body(row) for rows 0..count-1, on threads where it pays.
template <class Body>
void for_rows(const View& view, const Body& body) {
  const std::int64_t length = row_length(view), rows = view.count() / length;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / length);
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row);
  });
}

template <class Of>
void map(const View& dst, const View& src, const Of& of) {
  const std::int64_t n = row_length(dst), ds = row_stride(dst), ss = row_stride(src);
  const ElementType type = dst.type();
  for_rows(dst, [&](std::int64_t row) {
    float* to = data(dst) + row_offset(dst, row);
    const float* from = data(src) + row_offset(src, row);
    for (std::int64_t i = 0; i < n; ++i) to[i * ds] = rounded(of(from[i * ss], row), type);
  });
}

// One number per partition.
class PerPartition {
 public:
  PerPartition(const View& like, const Operand& operand) : rows_(like.count() / row_length(like) / like.partitions()) {
    if (like.rank() == 1) rows_ = 0;
    const View* view = std::get_if<View>(&operand);
    if (!view) values_.assign(static_cast<std::size_t>(like.partitions()), std::get<float>(operand));
    if (view)
      for (std::int64_t p = 0; p < like.partitions(); ++p)
        values_.push_back(data(*view)[view->offset() + p * view->stride(0)]);
  }
  float of_row(std::int64_t row) const { return values_[static_cast<std::size_t>(rows_ == 0 ? 0 : row / rows_)]; }

 private:
  std::int64_t rows_;
  std::vector<float> values_;
};

}  // namespace

void fill(const View& dst, float value) {
  map(dst, dst, [&](float, std::int64_t) { return value; });
}

void copy_values(const View& dst, const View& src) {
  if (dst.type() == src.type() || dst.type() == ElementType::float32) {
    const std::int64_t n = row_length(dst), ds = row_stride(dst), ss = row_stride(src);
    for_rows(dst, [&](std::int64_t row) {
      float* to = data(dst) + row_offset(dst, row);
      const float* from = data(src) + row_offset(src, row);
      if (ds == 1 && ss == 1) {
        std::memmove(to, from, static_cast<std::size_t>(n) * sizeof(float));
      } else {
        for (std::int64_t i = 0; i < n; ++i) to[i * ds] = from[i * ss];
      }
    });
    return;
  }
  map(dst, src, [](float x, std::int64_t) { return x; });
}

namespace {

// [p, free...] as dense rows of a partition.
void gather(const View& view, float* out) {
  const std::int64_t n = row_length(view), s = row_stride(view), rows = view.count() / n;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* from = data(view) + row_offset(view, row);
    if (s == 1) {
      std::memcpy(out + row * n, from, static_cast<std::size_t>(n) * sizeof(float));
    } else {
      for (std::int64_t i = 0; i < n; ++i) out[row * n + i] = from[i * s];
    }
  }
}

std::int64_t free_offset(const View& view, std::int64_t partition, std::int64_t element) {
  std::int64_t at = view.offset() + partition * view.stride(0);
  for (int d = view.rank() - 1; d >= 1; --d) {
    at += element % view.size(d) * view.stride(d);
    element /= view.size(d);
  }
  return at;
}

}  // namespace

void transpose_values(const View& dst, const View& src) {
  const std::int64_t m = src.partitions(), n = src.free_count();
  std::vector<float> dense(static_cast<std::size_t>(m * n));
  gather(src, dense.data());
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i)
      data(dst)[free_offset(dst, j, i)] = rounded(dense[static_cast<std::size_t>(i * n + j)], dst.type());
}

void combine_values(const View& dst, const View& a, const View& b, MathOp op) {
  const std::int64_t n = row_length(dst), ds = row_stride(dst), as = row_stride(a), bs = row_stride(b);
  const ElementType type = dst.type();
  for_rows(dst, [&](std::int64_t row) {
    float* to = data(dst) + row_offset(dst, row);
    const float *x = data(a) + row_offset(a, row), *y = data(b) + row_offset(b, row);
    for (std::int64_t i = 0; i < n; ++i) to[i * ds] = rounded(apply(op, x[i * as], y[i * bs]), type);
  });
}

void scalar_values(const View& dst, const View& a, MathOp op0, const Operand& operand0, MathOp op1,
                   const Operand& operand1) {
  // A tile of one free dimension has its partitions as rows.
  const View d = dst.rank() == 1 ? dst.with_axis(1) : dst, s = a.rank() == 1 ? a.with_axis(1) : a;
  const PerPartition first(d, operand0), second(d, operand1);
  map(d, s,
      [&](float x, std::int64_t row) { return apply(op1, apply(op0, x, first.of_row(row)), second.of_row(row)); });
}

void activation_values(const View& dst, Function function, const View& src, const View& bias, float scale) {
  const View d = dst.rank() == 1 ? dst.with_axis(1) : dst, s = src.rank() == 1 ? src.with_axis(1) : src;
  const PerPartition offset(d, bias.empty() ? Operand(0.0F) : Operand(bias));
  const bool plain = function == Function::identity && scale == 1;
  if (plain) {
    map(d, s, [&](float x, std::int64_t row) { return x + offset.of_row(row); });
  } else {
    map(d, s, [&](float x, std::int64_t row) { return apply(function, x * scale + offset.of_row(row)); });
  }
}

void reduce_values(const View& dst, const View& src, MathOp op, int axes) {
  std::int64_t each = 1;
  for (int d = src.rank() - axes; d < src.rank(); ++d) each *= src.size(d);
  const std::int64_t outputs = src.free_count() / each;
  parallel_for(src.partitions(), 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      for (std::int64_t o = 0; o < outputs; ++o) {
        float value = data(src)[free_offset(src, p, o * each)];
        for (std::int64_t i = 1; i < each; ++i) value = apply(op, value, data(src)[free_offset(src, p, o * each + i)]);
        data(dst)[free_offset(dst, p, o)] = rounded(value, dst.type());
      }
  });
}

namespace {

// Partitions one after the other, without gaps: what a product reads needs no copy then.
bool is_dense(const View& view) {
  std::int64_t run = 1;
  for (int d = view.rank() - 1; d >= 0; --d) {
    if (view.size(d) > 1 && view.stride(d) != run) return false;
    run *= view.size(d);
  }
  return true;
}

// Row `partition` of a result, from sums that lie dense.
void put_sums(const View& dst, std::int64_t partition, const float* sums, std::int64_t n, bool accumulate) {
  const std::int64_t run = dst.rank() > 1 ? row_length(dst) : 1, step = dst.rank() > 1 ? row_stride(dst) : 1;
  const ElementType type = dst.type();
  for (std::int64_t j = 0; j < n; j += run) {
    float* to = data(dst) + free_offset(dst, partition, j);
    const float* from = sums + j;
    if (type == ElementType::float32 && step == 1) {
      if (accumulate) {
        for (std::int64_t i = 0; i < run; ++i) to[i] += from[i];
      } else {
        std::memcpy(to, from, static_cast<std::size_t>(run) * sizeof(float));
      }
      continue;
    }
    for (std::int64_t i = 0; i < run; ++i) to[i * step] = rounded(accumulate ? to[i * step] + from[i] : from[i], type);
  }
}

}  // namespace

void matmul_values(const View& dst, const View& stationary, const View& moving, bool accumulate) {
  const int k = static_cast<int>(moving.partitions()), m = static_cast<int>(stationary.free_count()),
            n = static_cast<int>(moving.free_count());
  // Each thread takes a quarter of the rows, so the stationary operand is cut that way.
  constexpr int kRows = 32;
  static thread_local std::vector<float> a, b, c, parts;
  a.resize(static_cast<std::size_t>(k) * static_cast<std::size_t>(m));
  gather(stationary, a.data());
  parts.resize(a.size());
  const int blocks = (m + kRows - 1) / kRows;
  for (int block = 0; block < blocks; ++block) {
    const int first = block * kRows, rows = std::min(kRows, m - first);
    for (int i = 0; i < k; ++i)
      std::memcpy(parts.data() + static_cast<std::ptrdiff_t>(first) * k + static_cast<std::ptrdiff_t>(i) * rows,
                  a.data() + static_cast<std::ptrdiff_t>(i) * m + first,
                  static_cast<std::size_t>(rows) * sizeof(float));
  }
  const float *pa = parts.data(), *pb = data(moving) + moving.offset();
  if (!is_dense(moving)) {
    b.resize(static_cast<std::size_t>(k) * static_cast<std::size_t>(n));
    gather(moving, b.data());
    pb = b.data();
  }
  c.resize(static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
  float* pc = c.data();
  const auto product = TSR_FOR_ISA(active_isa(), product);
  parallel_for(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const int first = static_cast<int>(block) * kRows, rows = std::min(kRows, m - first);
      float* sums = pc + static_cast<std::ptrdiff_t>(first) * n;
      product(pa + static_cast<std::ptrdiff_t>(first) * k, pb, sums, k, rows, n);
      for (int r = 0; r < rows; ++r) put_sums(dst, first + r, sums + static_cast<std::ptrdiff_t>(r) * n, n, accumulate);
    }
  });
}

std::span<float> values_of(const View& view) { return const_cast<View&>(view).tile().values; }

void round_values(const View& view) {
  if (view.type() == ElementType::float32) return;
  map(view, view, [](float x, std::int64_t) { return x; });
}

void load_values(const View& dst, const Array& array) {
  float* to = data(dst);
  const std::size_t n = static_cast<std::size_t>(array.count());
  if (array.type() == ElementType::float32) {
    for (std::size_t i = 0; i < n; ++i) to[i] = rounded(array.as<float>()[i], dst.type());
    return;
  }
  check(element_bytes(array.type()) == 2, Code::unsupported, "values of {} are given as float32", name(array.type()));
  const auto* from = reinterpret_cast<const std::uint16_t*>(array.bytes().data());
  const bool half = array.type() == ElementType::float16;
  for (std::size_t i = 0; i < n; ++i) to[i] = half ? float_from_float16(from[i]) : float_from_bfloat16(from[i]);
}

Array stored_values(const View& src) {
  std::vector<float> dense(static_cast<std::size_t>(src.count()));
  gather(src, dense.data());
  Array out(src.type(), Shape(src.shape()));
  check(element_bytes(src.type()) >= 2 && src.type() != ElementType::int16 && src.type() != ElementType::uint16 &&
            src.type() != ElementType::int32 && src.type() != ElementType::uint32,
        Code::unsupported, "values of {} are read as float32", name(src.type()));
  if (src.type() == ElementType::float32) {
    if (!dense.empty()) std::memcpy(out.bytes().data(), dense.data(), dense.size() * sizeof(float));
    return out;
  }
  auto* to = reinterpret_cast<std::uint16_t*>(out.bytes().data());
  const bool half = src.type() == ElementType::float16;
  for (std::size_t i = 0; i < dense.size(); ++i)
    to[i] = half ? float16_from_float(dense[i]) : bfloat16_from_float_host(dense[i]);
  return out;
}

}  // namespace tessera::neuron
