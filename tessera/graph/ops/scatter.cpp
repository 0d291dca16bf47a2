#include "tessera/graph/ops/scatter.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera {

using namespace moving;

namespace {

using Reduction = ScatterND::Reduction;

std::int64_t position_of(std::int64_t index, std::int64_t extent, std::string_view op) {
  if (index < -extent || index >= extent)
    fail(Code::invalid_argument, "{}: index {} is outside a dimension of {} elements", op, index, extent);
  return index < 0 ? index + extent : index;
}

void expect_operands(const Knowns& inputs, Reduction reduction) {
  inputs.expect_count(3, 3);
  inputs.expect_same_type(0, 2);
  const ElementType type = inputs[1].type;
  check(type == ElementType::int32 || type == ElementType::int64, Code::invalid_argument,
        "{}: indices must be int32 or int64, not {}", inputs.op(), inputs[1].to_string());
  const ElementType data = inputs[0].type;
  check(reduction == Reduction::none || !is_narrow(data), Code::unsupported, "{}: nothing is computed in {}",
        inputs.op(), name(data));
}

// Whole numbers wrap around; floating-point results are rounded to T after each update; a NaN on either side wins. For
// bool, add and max are "or", mul and min are "and".
template <class T>
T combined(T old, T update, Reduction reduction) {
  if constexpr (std::is_same_v<T, bool>) {
    return reduction == Reduction::add || reduction == Reduction::max ? old || update : old && update;
  } else if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<std::uint64_t>(old), b = static_cast<std::uint64_t>(update);
    if (reduction == Reduction::add) return static_cast<T>(a + b);
    if (reduction == Reduction::mul) return static_cast<T>(a * b);
    return reduction == Reduction::max ? std::max(old, update) : std::min(old, update);
  } else {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const Wide a = static_cast<Wide>(old), b = static_cast<Wide>(update);
    if (reduction == Reduction::add) return static_cast<T>(a + b);
    if (reduction == Reduction::mul) return static_cast<T>(a * b);
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? old : update;
    return static_cast<T>(reduction == Reduction::max ? std::max(a, b) : std::min(a, b));
  }
}

// y[at, at + count) takes updates[from, from + count).
void apply(Array& y, std::int64_t at, const Array& updates, std::int64_t from, std::int64_t count,
           Reduction reduction) {
  if (reduction == Reduction::none) {
    const std::int64_t bytes_each = element_bytes(y.type());
    if (count > 0)
      std::memcpy(y.bytes().data() + at * bytes_each, updates.bytes().data() + from * bytes_each,
                  static_cast<std::size_t>(count * bytes_each));
    return;
  }
  visit_element_type(y.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = y.as<T>().data() + at;
    const T* update = updates.as<T>().data() + from;
    for (std::int64_t i = 0; i < count; ++i) to[i] = combined(to[i], update[i], reduction);
  });
}

}  // namespace

std::vector<TensorType> infer(const ScatterND& op, const Knowns& inputs) {
  expect_operands(inputs, op.reduction);
  inputs.expect_rank(0, 1, Shape::kMaxRank);
  inputs.expect_rank(1, 1, Shape::kMaxRank);
  const TensorType &x = inputs[0], &indices = inputs[1], &updates = inputs[2];
  if (!x.dims || !indices.dims || indices.dims->back() == TensorType::kUnknown) return {x};
  const std::int64_t depth = indices.dims->back();
  check(depth >= 1 && depth <= x.rank(), Code::invalid_argument, "{}: an index of {} numbers does not fit {}",
        inputs.op(), depth, x.to_string());
  Dims wanted(indices.dims->begin(), indices.dims->end() - 1);
  wanted.insert(wanted.end(), x.dims->begin() + depth, x.dims->end());
  if (updates.dims) {
    inputs.expect_rank(2, static_cast<int>(wanted.size()), static_cast<int>(wanted.size()));
    for (std::size_t d = 0; d < wanted.size(); ++d)
      agreed_extent(wanted[d], (*updates.dims)[d], static_cast<int>(d), inputs.op());
  }
  return {x};
}

Work work(const ScatterND& op, const Types& inputs, const Types& outputs) {
  Work work = streaming_work(inputs, outputs);
  if (op.reduction != Reduction::none) work.flops = streaming_work({}, inputs.subspan(2), 1).flops;
  return work;
}

std::vector<Array> reference(const ScatterND& op, const Arrays& inputs) {
  infer_from(op, inputs);
  Array y = inputs[0];
  const auto depth = static_cast<std::size_t>(inputs[1].shape()[-1]);
  const Dims indices = inputs[1].to_int64(), strides = row_major_strides(y.shape().dims());
  const std::span<const std::int64_t> dims = y.shape().dims();
  const std::int64_t inner = product(dims.subspan(depth)),
                     tuples = inputs[1].count() / static_cast<std::int64_t>(depth);
  for (std::int64_t t = 0; t < tuples; ++t) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < depth; ++d)
      at += position_of(indices[static_cast<std::size_t>(t) * depth + d], dims[d], inputs.op()) * strides[d];
    apply(y, at, inputs[2], t * inner, inner, op.reduction);
  }
  return {std::move(y)};
}

std::vector<TensorType> infer(const ScatterElements& op, const Knowns& inputs) {
  expect_operands(inputs, op.reduction);
  const TensorType &x = inputs[0], &indices = inputs[1], &updates = inputs[2];
  if (indices.dims && updates.dims) {
    inputs.expect_rank(2, indices.rank(), indices.rank());
    for (int d = 0; d < indices.rank(); ++d)
      agreed_extent((*indices.dims)[static_cast<std::size_t>(d)], (*updates.dims)[static_cast<std::size_t>(d)], d,
                    inputs.op());
  }
  if (!x.dims) return {x};
  const int axis = normalized_axis(op.axis, x.rank(), inputs.op());
  inputs.expect_rank(1, x.rank(), x.rank());
  for (int d = 0; indices.dims && d < x.rank(); ++d) {
    const std::int64_t have = (*x.dims)[static_cast<std::size_t>(d)],
                       want = (*indices.dims)[static_cast<std::size_t>(d)];
    check(d == axis || have == TensorType::kUnknown || want <= have, Code::invalid_argument,
          "{}: the indices are {}, more than the input {} has in dimension {}", inputs.op(), indices.to_string(),
          x.to_string(), d);
  }
  return {x};
}

Work work(const ScatterElements& op, const Types& inputs, const Types& outputs) {
  Work work = streaming_work(inputs, outputs);
  if (op.reduction != Reduction::none) work.flops = streaming_work({}, inputs.subspan(2), 1).flops;
  return work;
}

std::vector<Array> reference(const ScatterElements& op, const Arrays& inputs) {
  infer_from(op, inputs);
  Array y = inputs[0];
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, y.shape().rank(), inputs.op()));
  const Dims indices = inputs[1].to_int64(), strides = row_major_strides(y.shape().dims());
  const Dims& dims = inputs[1].shape().dims();
  for (std::int64_t i = 0; i < inputs[1].count(); ++i) {
    std::int64_t at = 0, rest = i;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d])
      at += (d == axis ? position_of(indices[static_cast<std::size_t>(i)], y.shape().dims()[d], inputs.op())
                       : rest % dims[d]) *
            strides[d];
    apply(y, at, inputs[2], i, 1, op.reduction);
  }
  return {std::move(y)};
}

}  // namespace tessera
