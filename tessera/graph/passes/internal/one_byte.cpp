#include "tessera/graph/passes/internal/one_byte.h"

#include "tessera/graph/passes/internal/quantization.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace tessera::internal {

ValueId OneByte::follow(ValueId id) {
  if (const auto found = done_.find(id); found != done_.end()) return found->second;
  if (const Array* constant = r_.constant(id)) {
    if (constant->count() != 1) return kNoValue;
    Array scalar(constant->type(), Shape{});
    std::ranges::copy(constant->bytes(), scalar.bytes().begin());
    return done_[id] = graph_.add_constant("", std::move(scalar));
  }
  const Node* node = r_.maker(id);
  if (node == nullptr || !node->fused.empty() || node->outputs.size() != 1 || ++nodes_ > kMostNodes) return kNoValue;
  if (const auto scale = dequantized_by(r_, *node)) {
    const ValueId x = follow_bytes(node->inputs[0]);
    if (x == kNoValue) return kNoValue;
    const ValueId zero = graph_.add_constant("", byte_array(scale->type, Shape{}, std::array{scale->zero}));
    return done_[id] =
               graph_.add("", DequantizeLinear{}, {x, graph_.add_constant("", Array::scalar(scale->scale)), zero});
  }
  const bool of_elements = std::holds_alternative<Unary>(node->op) || std::holds_alternative<Binary>(node->op) ||
                           std::holds_alternative<Clip>(node->op);
  if (!of_elements) return kNoValue;
  std::vector<ValueId> inputs;
  for (const ValueId operand : node->inputs) {
    inputs.push_back(operand == kNoValue ? kNoValue : follow(operand));
    if (operand != kNoValue && inputs.back() == kNoValue) return kNoValue;
  }
  // A constant of more dimensions would make the result of another shape than the bytes have.
  for (const ValueId operand : node->inputs)
    if (operand != kNoValue && r_.constant(operand) != nullptr && r_.type(operand).rank() > 0 &&
        !scalar_beside(r_, operand, id))
      return kNoValue;
  return done_[id] = graph_.add("", node->op, inputs);
}

ValueId OneByte::follow_bytes(ValueId id) {
  if (r_.constant(id) != nullptr) return kNoValue;
  if (const Node* lookup = r_.made_by<ByteLookup>(id); lookup != nullptr && r_.constant(lookup->inputs[1]) != nullptr) {
    const ValueId x = follow_bytes(lookup->inputs[0]);
    if (x == kNoValue) return kNoValue;
    return graph_.add("", ByteLookup{}, {x, graph_.add_constant("", *r_.constant(lookup->inputs[1]))});
  }
  if (source_ == kNoValue) {
    source_ = id;
    input_ = graph_.add_input("", TensorType(r_.type(id).type, Shape{256}));
  }
  return source_ == id ? input_ : kNoValue;
}

Array OneByte::all_bytes() const {
  std::vector<std::int64_t> all(256);
  std::iota(all.begin(), all.end(), 0);
  return byte_array(r_.type(source_).type, Shape{256}, all);
}

}  // namespace tessera::internal
