#include "tessera/graph/ops/pad.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tessera {

using namespace moving;

namespace {

struct Sides {
  Dims begins, ends;  // one for each dimension
};

Sides sides_of(const Dims& pads, const std::optional<Dims>& axes, int rank, std::string_view op) {
  Dims numbers(static_cast<std::size_t>(rank));
  std::iota(numbers.begin(), numbers.end(), 0);
  const std::vector<int> at = normalized_axes(axes ? *axes : numbers, rank, op);
  check(pads.size() == 2 * at.size(), Code::invalid_argument,
        "{}: {} pads are given for {} axes, two for each are needed", op, pads.size(), at.size());
  Sides sides{Dims(static_cast<std::size_t>(rank), 0), Dims(static_cast<std::size_t>(rank), 0)};
  for (std::size_t i = 0; i < at.size(); ++i) {
    sides.begins[static_cast<std::size_t>(at[i])] = pads[i];
    sides.ends[static_cast<std::size_t>(at[i])] = pads[at.size() + i];
  }
  return sides;
}

std::int64_t padded_extent(Pad::Mode mode, std::int64_t extent, std::int64_t begin, std::int64_t end,
                           std::string_view op) {
  if (extent == TensorType::kUnknown) return begin == 0 && end == 0 ? extent : TensorType::kUnknown;
  std::int64_t total = 0;
  if (__builtin_add_overflow(extent, begin, &total) || __builtin_add_overflow(total, end, &total))
    fail(Code::invalid_argument, "{}: {} elements with pads of {} and {} are more than 63 bits can count", op, extent,
         begin, end);
  check(total >= 0, Code::invalid_argument, "{}: pads of {} and {} cut more than the {} elements there are", op, begin,
        end, extent);
  if (mode == Pad::Mode::constant) return total;
  // The other modes repeat what cutting leaves; the bounds hold after the sum above did not overflow.
  const std::int64_t left = extent + std::max(std::min<std::int64_t>(begin, 0), -extent - 1) +
                            std::max(std::min<std::int64_t>(end, 0), -extent - 1);
  check(left > 0 || (left == 0 && begin <= 0 && end <= 0), Code::invalid_argument,
        "{}: pads of {} and {} leave nothing of {} elements to repeat", op, begin, end, extent);
  return total;
}

// Where each position of a padded dimension comes from.
Dims sources(Pad::Mode mode, std::int64_t extent, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = std::max<std::int64_t>(-begin, 0);
  const std::int64_t count = extent - first - std::max<std::int64_t>(-end, 0);
  Dims out(static_cast<std::size_t>(extent + begin + end));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t position = static_cast<std::int64_t>(i) - std::max<std::int64_t>(begin, 0);
    std::int64_t at = std::clamp<std::int64_t>(position, 0, count - 1);
    if (mode == Pad::Mode::wrap) at = (position % count + count) % count;
    if (mode == Pad::Mode::reflect && count > 1) {
      const std::int64_t period = 2 * (count - 1);
      at = (position % period + period) % period;
      if (at >= count) at = period - at;
    }
    out[i] = first + at;
  }
  return out;
}

// The part of the input that the output still shows, surrounded by the value.
void pad_constant(const Array& x, const Sides& sides, std::span<const std::byte> value, Array& y) {
  const std::int64_t bytes_each = element_bytes(x.type());
  if (!value.empty())
    for (std::int64_t i = 0; i < y.count(); ++i)
      std::memcpy(y.bytes().data() + i * bytes_each, value.data(), value.size());
  View from{0, row_major_strides(x.shape().dims())}, to{0, row_major_strides(y.shape().dims())};
  Dims extents;
  for (std::size_t d = 0; d < sides.begins.size(); ++d) {
    const std::int64_t begin = sides.begins[d], extent = x.shape().dims()[d];
    const std::int64_t first = std::max<std::int64_t>(-begin, 0);  // in the input
    const std::int64_t last =
        std::min<std::int64_t>(extent, y.shape().dims()[d] - begin);  // after the last in the input
    extents.push_back(std::max<std::int64_t>(last - first, 0));
    from.offset += first * from.strides[d];
    to.offset += (first + begin) * to.strides[d];
  }
  copy_strided(x.bytes(), from, y.bytes(), to, extents, bytes_each);
}

void pad_repeating(Pad::Mode mode, const Array& x, const Sides& sides, Array& y) {
  const Dims& dims = y.shape().dims();
  const Dims strides = row_major_strides(x.shape().dims());
  std::vector<Dims> offsets;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    offsets.push_back(sources(mode, x.shape().dims()[d], sides.begins[d], sides.ends[d]));
    for (std::int64_t& at : offsets.back()) at *= strides[d];
  }
  const std::int64_t bytes_each = element_bytes(x.type());
  for (std::int64_t i = 0; i < y.count(); ++i) {
    std::int64_t at = 0, rest = i;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d])
      at += offsets[d][static_cast<std::size_t>(rest % dims[d])];
    std::memcpy(y.bytes().data() + i * bytes_each, x.bytes().data() + at * bytes_each,
                static_cast<std::size_t>(bytes_each));
  }
}

}  // namespace

std::vector<TensorType> infer(const Pad& op, const Knowns& inputs) {
  inputs.expect_count(2, 4);
  const TensorType& x = inputs[0];
  expect_integers(inputs, 1, "the pads");
  if (inputs.has(2)) {
    inputs.expect_same_type(0, 2);
    check(!inputs[2].is_static() || inputs[2].shape().volume() == 1, Code::invalid_argument,
          "{}: the value must be one element, not {}", inputs.op(), inputs[2].to_string());
  }
  const std::optional<Dims> pads = constant_integers(inputs, 1, "the pads"),
                            axes = constant_integers(inputs, 3, "the axes");
  if (!x.dims) return {TensorType(x.type, std::nullopt)};
  Dims dims = *x.dims;
  if (pads && (axes || !inputs.has(3))) {
    const Sides sides = sides_of(*pads, axes, x.rank(), inputs.op());
    for (std::size_t d = 0; d < dims.size(); ++d)
      dims[d] = padded_extent(op.mode, dims[d], sides.begins[d], sides.ends[d], inputs.op());
    return {output_type(x.type, std::move(dims), inputs.op())};
  }
  if (axes) {
    for (int axis : normalized_axes(*axes, x.rank(), inputs.op()))
      dims[static_cast<std::size_t>(axis)] = TensorType::kUnknown;
  } else {
    std::fill(dims.begin(), dims.end(), TensorType::kUnknown);
  }
  return {TensorType(x.type, std::move(dims))};
}

Work work(const Pad&, const Types& inputs, const Types& outputs) { return streaming_work(inputs.first(1), outputs); }

std::vector<Array> reference(const Pad& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  if (y.count() == 0) return {std::move(y)};
  const std::optional<Dims> axes = inputs.has(3) ? std::optional(inputs[3].to_int64()) : std::nullopt;
  const Sides sides = sides_of(inputs[1].to_int64(), axes, x.shape().rank(), inputs.op());
  if (op.mode == Pad::Mode::constant)
    pad_constant(x, sides, inputs.has(2) ? inputs[2].bytes() : std::span<const std::byte>{}, y);
  else
    pad_repeating(op.mode, x, sides, y);
  return {std::move(y)};
}

}  // namespace tessera
