#include "tessera/graph/ops/dropout.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/number.h"

#include <algorithm>
#include <random>

namespace tessera {
namespace {

// The share that is dropped: none outside training.
double share_of(const Array* ratio, const Array* training, std::string_view op) {
  if (training == nullptr || training->count() == 0 || training->to_double()[0] == 0) return 0;
  const double share = ratio == nullptr || ratio->count() == 0 ? 0.5 : ratio->to_double()[0];
  check(share >= 0 && share < 1, Code::invalid_argument, "{}: {} of the elements cannot be dropped", op, share);
  return share;
}

double draw(std::mt19937& words) {
  const auto high = static_cast<double>(words() >> 5), low = static_cast<double>(words() >> 6);
  return (high * 0x1p26 + low) / 0x1p53;
}

}  // namespace

std::vector<TensorType> infer(const Dropout& op, const Knowns& inputs) {
  inputs.expect_count(1, 3);
  check(op.outputs == 1 || op.outputs == 2, Code::invalid_argument, "{}: {} outputs are asked for, there are 1 or 2",
        inputs.op(), op.outputs);
  // A ratio that is an input but not a constant is judged when it is known.
  if (!inputs.has(1) || inputs.constant(1) != nullptr) share_of(inputs.constant(1), inputs.constant(2), inputs.op());
  std::vector<TensorType> out{inputs[0]};
  if (op.outputs == 2) out.emplace_back(ElementType::boolean, inputs[0].dims);
  return out;
}

Work work(const Dropout&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const Dropout& op, const Arrays& inputs) {
  const double share =
      share_of(inputs.has(1) ? &inputs[1] : nullptr, inputs.has(2) ? &inputs[2] : nullptr, inputs.op());
  std::vector<Array> out{inputs[0]};
  Array kept(ElementType::boolean, inputs[0].shape());
  std::ranges::fill(kept.as<bool>(), true);
  if (share > 0) {
    std::mt19937 words(static_cast<std::uint32_t>(op.seed));
    visit_element_type(inputs[0].type(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto values = out[0].as<T>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        kept.as<bool>()[i] = draw(words) >= share;
        values[i] = internal::narrow<T>(kept.as<bool>()[i] ? internal::wide(values[i]) / (1 - share) : 0.0);
      }
    });
  }
  if (op.outputs == 2) out.push_back(std::move(kept));
  return out;
}

}  // namespace tessera
