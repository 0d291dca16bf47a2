#include "tessera/graph/op.h"

namespace tessera {

Op::Op() = default;
Op::Op(const Op& other) = default;
Op::Op(Op&& other) noexcept = default;
Op& Op::operator=(const Op& other) = default;
Op& Op::operator=(Op&& other) noexcept = default;
Op::~Op() = default;

bool Op::operator==(const Op& other) const {
  return static_cast<const AnyOp&>(*this) == static_cast<const AnyOp&>(other);
}

std::string_view name(const Op& op) {
  return std::visit([](const auto& o) { return std::decay_t<decltype(o)>::kName; }, op);
}

std::vector<TensorType> infer(const Op& op, std::span<const Known> inputs) {
  return std::visit([&](const auto& o) { return infer(o, Knowns(o.kName, inputs)); }, op);
}

Work work(const Op& op, const Types& inputs, const Types& outputs) {
  return std::visit([&](const auto& o) { return work(o, inputs, outputs); }, op);
}

std::vector<Array> reference(const Op& op, std::span<const Array* const> inputs) {
  return std::visit([&](const auto& o) { return reference(o, Arrays(o.kName, inputs)); }, op);
}

}  // namespace tessera
