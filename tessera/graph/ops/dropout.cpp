#include "tessera/graph/ops/dropout.h"

#include "tessera/core/error.h"

#include <algorithm>

namespace tessera {
namespace {

void refuse_training(const Array* ratio, const Array* training, std::string_view op) {
  if (training == nullptr || training->count() == 0 || training->to_double()[0] == 0) return;
  const double share = ratio == nullptr || ratio->count() == 0 ? 0.5 : ratio->to_double()[0];
  if (share != 0)
    fail(Code::unsupported, "{}: training mode drops {} of the elements at random; only inference is done here", op,
         share);
}

}  // namespace

std::vector<TensorType> infer(const Dropout& op, const Knowns& inputs) {
  inputs.expect_count(1, 3);
  check(op.outputs == 1 || op.outputs == 2, Code::invalid_argument, "{}: {} outputs are asked for, there are 1 or 2",
        inputs.op(), op.outputs);
  // A ratio that is an input but not a constant is judged when it is known.
  if (!inputs.has(1) || inputs.constant(1) != nullptr)
    refuse_training(inputs.constant(1), inputs.constant(2), inputs.op());
  std::vector<TensorType> out{inputs[0]};
  if (op.outputs == 2) out.emplace_back(ElementType::boolean, inputs[0].dims);
  return out;
}

Work work(const Dropout&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const Dropout& op, const Arrays& inputs) {
  refuse_training(inputs.has(1) ? &inputs[1] : nullptr, inputs.has(2) ? &inputs[2] : nullptr, inputs.op());
  std::vector<Array> out{inputs[0]};
  if (op.outputs == 2) {
    out.emplace_back(ElementType::boolean, inputs[0].shape());
    std::ranges::fill(out[1].as<bool>(), true);
  }
  return out;
}

}  // namespace tessera
