#include "tessera/graph/ops/internal/moving.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace tessera::moving {
namespace {

// A run of `count` elements of N bytes.
template <std::size_t N>
void copy_run(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
              std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_stride * static_cast<std::int64_t>(N),
                from + i * from_stride * static_cast<std::int64_t>(N), N);
}

void copy_run(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
              std::int64_t count, std::int64_t bytes_each) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count * bytes_each));
    return;
  }
  switch (bytes_each) {
    case 1: return copy_run<1>(from, from_stride, to, to_stride, count);
    case 2: return copy_run<2>(from, from_stride, to, to_stride, count);
    case 4: return copy_run<4>(from, from_stride, to, to_stride, count);
    case 8: return copy_run<8>(from, from_stride, to, to_stride, count);
    default: fail(Code::internal, "no element has {} B", bytes_each);
  }
}

}  // namespace

TensorType output_type(ElementType type, Dims dims, std::string_view op) {
  Dims known;
  for (std::int64_t d : dims)
    if (d != TensorType::kUnknown) known.push_back(d);
  TensorType out(type, std::move(dims));
  if (out.dims->size() > static_cast<std::size_t>(Shape::kMaxRank))
    fail(Code::invalid_argument, "{}: the output would be of rank {}, at most {} is supported", op, out.dims->size(),
         Shape::kMaxRank);
  const std::int64_t volume =
      with_context(fmt::format("in the output of {}", op), [&] { return Shape(known).volume(); });
  if (volume > kMaxBytes / element_bytes(type))
    fail(Code::out_of_memory, "{}: the output {} would take more than {} GiB", op, out.to_string(), kMaxBytes >> 30);
  return out;
}

std::int64_t add_extents(std::int64_t a, std::int64_t b, std::string_view op) {
  if (a == TensorType::kUnknown || b == TensorType::kUnknown) return TensorType::kUnknown;
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    fail(Code::invalid_argument, "{}: {} + {} elements are more than 63 bits can count", op, a, b);
  return sum;
}

std::int64_t multiply_extents(std::int64_t a, std::int64_t b, std::string_view op) {
  if (a == TensorType::kUnknown || b == TensorType::kUnknown) return TensorType::kUnknown;
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    fail(Code::invalid_argument, "{}: {} x {} elements are more than 63 bits can count", op, a, b);
  return result;
}

std::int64_t agreed_extent(std::int64_t a, std::int64_t b, int axis, std::string_view op) {
  if (a == TensorType::kUnknown) return b;
  if (b == TensorType::kUnknown) return a;
  if (a != b) fail(Code::invalid_argument, "{}: extents {} and {} of dimension {} must agree", op, a, b, axis);
  return a;
}

void expect_integers(const Knowns& inputs, std::size_t i, std::string_view what) {
  const TensorType& t = inputs[i];
  const bool integer = visit_element_type(t.type, [](auto tag) {
    using T = typename decltype(tag)::type;
    return std::is_integral_v<T> && !std::is_same_v<T, bool>;
  });
  if (!integer) fail(Code::invalid_argument, "{}: {} must be whole numbers, not {}", inputs.op(), what, t.to_string());
  if (t.dims && t.rank() > 1)
    fail(Code::invalid_argument, "{}: {} must be a list, not {}", inputs.op(), what, t.to_string());
}

std::optional<Dims> constant_integers(const Knowns& inputs, std::size_t i, std::string_view what) {
  if (!inputs.has(i)) return std::nullopt;
  expect_integers(inputs, i, what);
  const Array* constant = inputs.constant(i);
  if (constant == nullptr) return std::nullopt;
  return constant->to_int64();
}

std::int64_t list_length(const Knowns& inputs, std::size_t i) {
  const TensorType& t = inputs[i];
  if (!t.dims) return TensorType::kUnknown;
  return t.dims->empty() ? 1 : t.dims->front();
}

std::vector<int> normalized_axes(const Dims& axes, int rank, std::string_view op) {
  std::vector<int> out;
  for (std::int64_t axis : axes) {
    const int at = normalized_axis(axis, rank, op);
    if (std::find(out.begin(), out.end(), at) != out.end())
      fail(Code::invalid_argument, "{}: axis {} is given twice", op, axis);
    out.push_back(at);
  }
  return out;
}

Array make_array(const TensorType& type, std::string_view op) {
  try {
    return Array(type.type, type.shape());
  } catch (const std::bad_alloc&) {
    fail(Code::out_of_memory, "{}: there is no memory for an output of {}", op, type.to_string());
  } catch (const std::length_error&) {
    fail(Code::out_of_memory, "{}: there is no memory for an output of {}", op, type.to_string());
  }
}

Dims row_major_strides(std::span<const std::int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t result = 1;
  for (std::int64_t d : dims) result *= d;
  return result;
}

void copy_strided(std::span<const std::byte> source, const View& from, std::span<std::byte> target, const View& to,
                  const Dims& extents, std::int64_t bytes_each) {
  // Dimensions that follow each other without a gap on both sides are one.
  Dims merged, from_strides, to_strides;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 0) return;
    if (extents[d] == 1) continue;
    if (!merged.empty() && from_strides.back() == from.strides[d] * extents[d] &&
        to_strides.back() == to.strides[d] * extents[d]) {
      merged.back() *= extents[d];
      from_strides.back() = from.strides[d];
      to_strides.back() = to.strides[d];
      continue;
    }
    merged.push_back(extents[d]);
    from_strides.push_back(from.strides[d]);
    to_strides.push_back(to.strides[d]);
  }
  if (merged.empty()) {
    merged = from_strides = to_strides = {1};
  }
  const std::size_t inner = merged.size() - 1;
  Dims position(merged.size(), 0);
  std::int64_t read = from.offset, write = to.offset;
  for (;;) {
    copy_run(source.data() + read * bytes_each, from_strides[inner], target.data() + write * bytes_each,
             to_strides[inner], merged[inner], bytes_each);
    std::size_t d = inner;
    for (; d > 0; --d) {
      const std::size_t at = d - 1;
      read += from_strides[at];
      write += to_strides[at];
      if (++position[at] < merged[at]) break;
      read -= from_strides[at] * merged[at];
      write -= to_strides[at] * merged[at];
      position[at] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace tessera::moving
