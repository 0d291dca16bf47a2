#include "tessera/graph/ops/expand.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <algorithm>

namespace tessera {

using namespace moving;

std::vector<TensorType> infer(const Expand&, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  const TensorType& x = inputs[0];
  const std::optional<Dims> wanted = constant_integers(inputs, 1, "the shape");
  if (wanted) {
    for (std::int64_t d : *wanted)
      check(d >= 0, Code::invalid_argument, "{}: the shape has a negative extent {}", inputs.op(), d);
    const TensorType target = output_type(x.type, *wanted, inputs.op());
    const std::optional<Dims> dims = broadcast_dims(x, target, inputs.op());
    return {dims ? output_type(x.type, *dims, inputs.op()) : TensorType(x.type, std::nullopt)};
  }
  expect_integers(inputs, 1, "the shape");
  const std::int64_t length = list_length(inputs, 1);
  if (!x.dims || length == TensorType::kUnknown) return {TensorType(x.type, std::nullopt)};
  check(length <= Shape::kMaxRank, Code::invalid_argument, "{}: a shape of rank {} is given, at most {} is supported",
        inputs.op(), length, Shape::kMaxRank);
  // An extent other than 1 can only stay as it is.
  Dims dims(std::max(static_cast<std::size_t>(length), x.dims->size()), TensorType::kUnknown);
  for (std::size_t d = 0; d < x.dims->size(); ++d)
    if ((*x.dims)[d] != 1) dims[dims.size() - x.dims->size() + d] = (*x.dims)[d];
  return {TensorType(x.type, std::move(dims))};
}

Work work(const Expand&, const Types& inputs, const Types& outputs) { return streaming_work(inputs.first(1), outputs); }

std::vector<Array> reference(const Expand& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  if (y.count() == 0) return {std::move(y)};
  const Dims strides = row_major_strides(x.shape().dims());
  View from{0, Dims(y.shape().dims().size(), 0)};
  const std::size_t missing = y.shape().dims().size() - strides.size();
  for (std::size_t d = 0; d < strides.size(); ++d)
    if (x.shape().dims()[d] != 1) from.strides[missing + d] = strides[d];
  copy_strided(x.bytes(), from, y.bytes(), {0, row_major_strides(y.shape().dims())}, y.shape().dims(),
               element_bytes(x.type()));
  return {std::move(y)};
}

std::vector<TensorType> infer(const TileRepeat&, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  expect_integers(inputs, 1, "the repeats");
  const TensorType& x = inputs[0];
  if (!x.dims) return {TensorType(x.type, std::nullopt)};
  const std::optional<Dims> repeats = constant_integers(inputs, 1, "the repeats");
  if (!repeats) return {TensorType(x.type, Dims(x.dims->size(), TensorType::kUnknown))};
  check(repeats->size() == x.dims->size(), Code::invalid_argument, "{}: {} repeats are given for a tensor of rank {}",
        inputs.op(), repeats->size(), x.dims->size());
  Dims dims = *x.dims;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    check((*repeats)[d] >= 0, Code::invalid_argument, "{}: nothing can be repeated {} times", inputs.op(),
          (*repeats)[d]);
    dims[d] = multiply_extents(dims[d], (*repeats)[d], inputs.op());
  }
  return {output_type(x.type, std::move(dims), inputs.op())};
}

Work work(const TileRepeat&, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs.first(1), outputs);
}

std::vector<Array> reference(const TileRepeat& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  if (y.count() == 0) return {std::move(y)};
  // Each dimension is two: which copy, and where in it.
  const Dims repeats = inputs[1].to_int64(), from_strides = row_major_strides(x.shape().dims()),
             to_strides = row_major_strides(y.shape().dims());
  Dims extents;
  View from, to;
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    extents.insert(extents.end(), {repeats[d], x.shape().dims()[d]});
    from.strides.insert(from.strides.end(), {0, from_strides[d]});
    to.strides.insert(to.strides.end(), {to_strides[d] * x.shape().dims()[d], to_strides[d]});
  }
  copy_strided(x.bytes(), from, y.bytes(), to, extents, element_bytes(x.type()));
  return {std::move(y)};
}

}  // namespace tessera
