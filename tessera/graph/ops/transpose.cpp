#include "tessera/graph/ops/transpose.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace tessera {

using namespace moving;

namespace {

// The input dimension that each output dimension is.
std::vector<std::size_t> permutation(const Transpose& op, int rank, std::string_view name) {
  std::vector<std::size_t> out;
  if (op.perm.empty()) {
    for (int d = rank; d-- > 0;) out.push_back(static_cast<std::size_t>(d));
    return out;
  }
  bool fits = op.perm.size() == static_cast<std::size_t>(rank);
  for (std::int64_t p : op.perm) {
    fits = fits && p >= 0 && p < rank && std::find(out.begin(), out.end(), static_cast<std::size_t>(p)) == out.end();
    if (!fits)
      fail(Code::invalid_argument, "{}: [{}] is not a permutation of {} dimensions", name, fmt::join(op.perm, ", "),
           rank);
    out.push_back(static_cast<std::size_t>(p));
  }
  return out;
}

}  // namespace

std::vector<TensorType> infer(const Transpose& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  const TensorType& x = inputs[0];
  if (!x.dims) return {TensorType(x.type, std::nullopt)};
  Dims dims;
  for (std::size_t p : permutation(op, x.rank(), inputs.op())) dims.push_back((*x.dims)[p]);
  return {output_type(x.type, std::move(dims), inputs.op())};
}

Work work(const Transpose&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const Transpose& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  if (y.count() == 0) return {std::move(y)};
  const Dims strides = row_major_strides(x.shape().dims());
  View from;
  for (std::size_t p : permutation(op, x.shape().rank(), inputs.op())) from.strides.push_back(strides[p]);
  copy_strided(x.bytes(), from, y.bytes(), {0, row_major_strides(y.shape().dims())}, y.shape().dims(),
               element_bytes(x.type()));
  return {std::move(y)};
}

}  // namespace tessera
