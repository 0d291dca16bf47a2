#include "tessera/graph/ops/gather.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <algorithm>
#include <cstring>

namespace tessera {

using namespace moving;

namespace {

void expect_indices(const Knowns& inputs, std::size_t i) {
  const ElementType type = inputs[i].type;
  check(type == ElementType::int32 || type == ElementType::int64, Code::invalid_argument,
        "{}: indices must be int32 or int64, not {}", inputs.op(), inputs[i].to_string());
}

std::int64_t position_of(std::int64_t index, std::int64_t extent, std::string_view op) {
  if (index < -extent || index >= extent)
    fail(Code::invalid_argument, "{}: index {} is outside a dimension of {} elements", op, index, extent);
  return index < 0 ? index + extent : index;
}

}  // namespace

std::vector<TensorType> infer(const Gather& op, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  expect_indices(inputs, 1);
  const TensorType &x = inputs[0], &indices = inputs[1];
  if (!x.dims || !indices.dims) return {TensorType(x.type, std::nullopt)};
  const int axis = normalized_axis(op.axis, x.rank(), inputs.op());
  Dims dims(x.dims->begin(), x.dims->begin() + axis);
  dims.insert(dims.end(), indices.dims->begin(), indices.dims->end());
  dims.insert(dims.end(), x.dims->begin() + axis + 1, x.dims->end());
  return {output_type(x.type, std::move(dims), inputs.op())};
}

Work work(const Gather&, const Types& inputs, const Types& outputs) {
  Work work = streaming_work(inputs.subspan(1), outputs);
  work.read_bytes += work.write_bytes;
  return work;
}

std::vector<Array> reference(const Gather& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, x.shape().rank(), inputs.op()));
  const std::span<const std::int64_t> dims = x.shape().dims();
  Dims positions = inputs[1].to_int64();
  for (std::int64_t& at : positions) at = position_of(at, dims[axis], inputs.op());
  if (y.count() == 0) return {std::move(y)};
  const std::int64_t outer = product(dims.first(axis));
  const std::int64_t inner = product(dims.subspan(axis + 1)) * element_bytes(x.type());
  std::byte* to = y.bytes().data();
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t at : positions) {
      std::memcpy(to, x.bytes().data() + (o * dims[axis] + at) * inner, static_cast<std::size_t>(inner));
      to += inner;
    }
  return {std::move(y)};
}

std::vector<TensorType> infer(const GatherElements& op, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  expect_indices(inputs, 1);
  const TensorType &x = inputs[0], &indices = inputs[1];
  if (x.dims) {
    const int axis = normalized_axis(op.axis, x.rank(), inputs.op());
    inputs.expect_rank(1, x.rank(), x.rank());
    for (int d = 0; indices.dims && d < x.rank(); ++d) {
      const std::int64_t have = (*x.dims)[static_cast<std::size_t>(d)],
                         want = (*indices.dims)[static_cast<std::size_t>(d)];
      check(d == axis || have == TensorType::kUnknown || want <= have, Code::invalid_argument,
            "{}: the indices are {}, more than the input {} has in dimension {}", inputs.op(), indices.to_string(),
            x.to_string(), d);
    }
  }
  if (!indices.dims) return {TensorType(x.type, std::nullopt)};
  return {output_type(x.type, *indices.dims, inputs.op())};
}

Work work(const GatherElements&, const Types& inputs, const Types& outputs) {
  Work work = streaming_work(inputs.subspan(1), outputs);
  work.read_bytes += work.write_bytes;
  return work;
}

std::vector<Array> reference(const GatherElements& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, x.shape().rank(), inputs.op()));
  const Dims indices = inputs[1].to_int64(), strides = row_major_strides(x.shape().dims());
  const Dims& dims = y.shape().dims();
  const std::int64_t bytes_each = element_bytes(x.type());
  for (std::int64_t i = 0; i < y.count(); ++i) {
    std::int64_t at = 0, rest = i;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d])
      at += (d == axis ? position_of(indices[static_cast<std::size_t>(i)], x.shape().dims()[d], inputs.op())
                       : rest % dims[d]) *
            strides[d];
    std::memcpy(y.bytes().data() + i * bytes_each, x.bytes().data() + at * bytes_each,
                static_cast<std::size_t>(bytes_each));
  }
  return {std::move(y)};
}

std::vector<TensorType> infer(const GatherND& op, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_rank(0, 1, Shape::kMaxRank);
  inputs.expect_rank(1, 1, Shape::kMaxRank);
  expect_indices(inputs, 1);
  const TensorType &x = inputs[0], &indices = inputs[1];
  if (!x.dims || !indices.dims) return {TensorType(x.type, std::nullopt)};
  check(op.batch_dims >= 0 && op.batch_dims < std::min(x.rank(), indices.rank()), Code::invalid_argument,
        "{}: {} batch dimensions do not fit {} and indices {}", inputs.op(), op.batch_dims, x.to_string(),
        indices.to_string());
  const std::int64_t depth = indices.dims->back();
  if (depth == TensorType::kUnknown) return {TensorType(x.type, std::nullopt)};
  check(depth >= 1 && depth <= x.rank() - op.batch_dims, Code::invalid_argument,
        "{}: an index of {} numbers does not fit {} with {} batch dimensions", inputs.op(), depth, x.to_string(),
        op.batch_dims);
  Dims dims(indices.dims->begin(), indices.dims->end() - 1);
  for (std::size_t d = 0; d < static_cast<std::size_t>(op.batch_dims); ++d)
    dims[d] = agreed_extent(dims[d], (*x.dims)[d], static_cast<int>(d), inputs.op());
  dims.insert(dims.end(), x.dims->begin() + op.batch_dims + depth, x.dims->end());
  return {output_type(x.type, std::move(dims), inputs.op())};
}

Work work(const GatherND&, const Types& inputs, const Types& outputs) {
  Work work = streaming_work(inputs.subspan(1), outputs);
  work.read_bytes += work.write_bytes;
  return work;
}

std::vector<Array> reference(const GatherND& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  if (y.count() == 0) return {std::move(y)};
  const auto batch_dims = static_cast<std::size_t>(op.batch_dims),
             depth = static_cast<std::size_t>(inputs[1].shape()[-1]);
  const Dims indices = inputs[1].to_int64(), strides = row_major_strides(x.shape().dims());
  const std::span<const std::int64_t> dims = x.shape().dims();
  const std::int64_t inner = product(dims.subspan(batch_dims + depth));
  const std::int64_t tuples = inputs[1].count() / static_cast<std::int64_t>(depth);
  const std::int64_t per_batch = tuples / product(dims.first(batch_dims));
  const std::int64_t batch_stride = product(dims.subspan(batch_dims)), bytes_each = element_bytes(x.type());
  for (std::int64_t t = 0; t < tuples; ++t) {
    std::int64_t at = t / per_batch * batch_stride;
    for (std::size_t d = 0; d < depth; ++d)
      at += position_of(indices[static_cast<std::size_t>(t) * depth + d], dims[batch_dims + d], inputs.op()) *
            strides[batch_dims + d];
    std::memcpy(y.bytes().data() + t * inner * bytes_each, x.bytes().data() + at * bytes_each,
                static_cast<std::size_t>(inner * bytes_each));
  }
  return {std::move(y)};
}

}  // namespace tessera
