#include "tessera/graph/ops/split.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <algorithm>
#include <cstring>

namespace tessera {

using namespace moving;

namespace {

constexpr int kMaxOutputs = 1 << 16;  // a bound for damaged attributes; networks have dozens

// The parts' extents along the axis.
Dims part_sizes(const Split& op, const std::optional<Dims>& given, std::int64_t extent, std::string_view name) {
  const auto count = static_cast<std::size_t>(op.outputs);
  if (!given) {
    if (extent == TensorType::kUnknown) return Dims(count, TensorType::kUnknown);
    const std::int64_t part = extent / op.outputs + (extent % op.outputs != 0);
    Dims sizes;
    for (std::int64_t rest = extent; sizes.size() < count; rest -= sizes.back()) sizes.push_back(std::min(part, rest));
    return sizes;
  }
  check(given->size() == count, Code::invalid_argument, "{}: {} sizes are given for {} outputs", name, given->size(),
        count);
  std::int64_t sum = 0;
  for (std::int64_t size : *given) {
    check(size >= 0, Code::invalid_argument, "{}: a part cannot have {} elements", name, size);
    sum = add_extents(sum, size, name);
  }
  check(extent == TensorType::kUnknown || sum == extent, Code::invalid_argument,
        "{}: the parts have {} elements together, the axis has {}", name, sum, extent);
  return *given;
}

}  // namespace

std::vector<TensorType> infer(const Split& op, const Knowns& inputs) {
  inputs.expect_count(1, 2);
  check(op.outputs >= 1 && op.outputs <= kMaxOutputs, Code::invalid_argument, "{}: {} outputs are not in [1, {}]",
        inputs.op(), op.outputs, kMaxOutputs);
  check(op.sizes.empty() || !inputs.has(1), Code::invalid_argument,
        "{}: sizes are given as an attribute and as an input", inputs.op());
  const auto count = static_cast<std::size_t>(op.outputs);
  const TensorType& x = inputs[0];
  std::optional<Dims> given = constant_integers(inputs, 1, "the sizes");
  if (!op.sizes.empty()) given = op.sizes;
  if (!x.dims) return std::vector<TensorType>(count, TensorType(x.type, std::nullopt));
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, x.rank(), inputs.op()));
  const bool undecided = inputs.has(1) && !given;
  const Dims sizes =
      undecided ? Dims(count, TensorType::kUnknown) : part_sizes(op, given, (*x.dims)[axis], inputs.op());
  std::vector<TensorType> out;
  for (std::int64_t size : sizes) {
    Dims dims = *x.dims;
    dims[axis] = size;
    out.push_back(output_type(x.type, std::move(dims), inputs.op()));
  }
  return out;
}

Work work(const Split&, const Types& inputs, const Types& outputs) { return streaming_work(inputs.first(1), outputs); }

std::vector<Array> reference(const Split& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, x.shape().rank(), inputs.op()));
  const std::span<const std::int64_t> dims = x.shape().dims();
  const std::int64_t outer = product(dims.first(axis));
  const std::int64_t inner = product(dims.subspan(axis + 1)) * element_bytes(x.type());
  std::int64_t begin = 0;
  std::vector<Array> out;
  for (const TensorType& type : infer_from(op, inputs)) {
    Array y = make_array(type, inputs.op());
    const std::int64_t block = y.shape().dims()[axis] * inner;
    if (y.count() > 0)
      for (std::int64_t o = 0; o < outer; ++o)
        std::memcpy(y.bytes().data() + o * block, x.bytes().data() + o * dims[axis] * inner + begin,
                    static_cast<std::size_t>(block));
    begin += block;
    out.push_back(std::move(y));
  }
  return out;
}

}  // namespace tessera
