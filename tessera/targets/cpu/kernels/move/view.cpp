// Operators that keep every byte where it is.

#include "tessera/core/error.h"
#include "tessera/targets/cpu/kernels/families.h"

namespace tessera::cpu {
namespace {

bool same_bytes(const Op& op) {
  if (const auto* unary = std::get_if<Unary>(&op)) return unary->kind == Unary::Kind::identity;
  return std::holds_alternative<Reshape>(op) || std::holds_alternative<Flatten>(op) ||
         std::holds_alternative<Squeeze>(op) || std::holds_alternative<Unsqueeze>(op);
}

Answer consider(const KernelInfo&, const Problem& problem) {
  if (!same_bytes(problem.node.op)) return Refusal{"the operator moves or changes elements"};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs.assign(problem.types.outputs.size(), Order::row_major);
  // An identity keeps any order; a change of shape means the one of the graph.
  if (std::holds_alternative<Unary>(problem.node.op)) offer.inputs[0] = offer.outputs[0] = problem.orders[0];
  offer.view_of = 0;
  offer.estimate = {0, "overhead"};
  return offer;
}

Runner prepare(const KernelInfo&, const Problem&, const Offer&, WeightCache&) {
  return [](const StepArgs&) {};
}

constexpr CpuKernel kernel(std::string_view op) {
  return {{.name = "view",
           .op = op,
           .isa = Isa::portable,
           .type = ElementType::float32,
           .role = KernelRole::views,
           .consider = consider},
          prepare};
}

constexpr CpuKernel kKernels[] = {kernel(Reshape::kName), kernel(Flatten::kName), kernel(Squeeze::kName),
                                  kernel(Unsqueeze::kName), kernel(Unary::kName)};

}  // namespace

std::span<const CpuKernel> view_kernels() { return kKernels; }

}  // namespace tessera::cpu
