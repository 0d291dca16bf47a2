#include "tessera/graph/ops/concat.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <cstring>

namespace tessera {

using namespace moving;

std::vector<TensorType> infer(const Concat& op, const Knowns& inputs) {
  inputs.expect_count(1, static_cast<std::size_t>(-1));
  const TensorType* first = nullptr;  // the first whose rank is known
  bool all_ranks = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs.expect_same_type(0, i);
    if (!inputs[i].dims)
      all_ranks = false;
    else if (first == nullptr)
      first = &inputs[i];
  }
  if (first == nullptr) return {TensorType(inputs[0].type, std::nullopt)};
  const int rank = first->rank();
  const int axis = normalized_axis(op.axis, rank, inputs.op());
  Dims dims(static_cast<std::size_t>(rank), TensorType::kUnknown);
  std::int64_t along = all_ranks ? 0 : TensorType::kUnknown;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].dims) continue;
    inputs.expect_rank(i, rank, rank);
    for (int d = 0; d < rank; ++d) {
      const std::size_t at = static_cast<std::size_t>(d);
      if (d == axis)
        along = add_extents(along, (*inputs[i].dims)[at], inputs.op());
      else
        dims[at] = agreed_extent(dims[at], (*inputs[i].dims)[at], d, inputs.op());
    }
  }
  dims[static_cast<std::size_t>(axis)] = along;
  return {output_type(inputs[0].type, std::move(dims), inputs.op())};
}

Work work(const Concat&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const Concat& op, const Arrays& inputs) {
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  if (y.count() == 0) return {std::move(y)};
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, y.shape().rank(), inputs.op()));
  const std::span<const std::int64_t> dims = y.shape().dims();
  const std::int64_t outer = product(dims.first(axis));
  const std::int64_t inner = product(dims.subspan(axis + 1)) * element_bytes(y.type());
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int64_t block = inputs[i].shape().dims()[axis] * inner;
    if (block > 0)
      for (std::int64_t o = 0; o < outer; ++o)
        std::memcpy(y.bytes().data() + o * dims[axis] * inner + begin, inputs[i].bytes().data() + o * block,
                    static_cast<std::size_t>(block));
    begin += block;
  }
  return {std::move(y)};
}

}  // namespace tessera
