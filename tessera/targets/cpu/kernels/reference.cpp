// Any operator by its definition: plain loops. Allocates while it runs, as the definitions do.

#include "tessera/core/error.h"
#include "tessera/core/memory_budget.h"
#include "tessera/graph/evaluate.h"
#include "tessera/targets/cpu/kernels/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace tessera::cpu {
namespace {

constexpr double kFlopPerS = 0.3e9;  // measured for the convolution's loops on one core, in round numbers
constexpr double kBytesPerS = 0.3e9;

Answer consider(const KernelInfo&, const Problem& problem) {
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs.assign(problem.types.outputs.size(), Order::row_major);
  const Work w = work(problem.graph, problem.node);
  offer.estimate = {1e-5 + w.flops / kFlopPerS + (w.read_bytes + w.write_bytes) / kBytesPerS, "overhead"};
  return offer;
}

Runner prepare(const KernelInfo&, const Problem& problem, const Offer&, WeightCache&) {
  struct Input {
    std::shared_ptr<const Array> constant;
    TensorType type;
    bool present = false;
  };
  struct State {
    Node node;
    std::vector<Input> inputs;
  };
  auto state = std::make_shared<State>();
  state->node = problem.node;
  for (const ValueId id : problem.node.inputs)
    state->inputs.push_back(
        id == kNoValue ? Input{} : Input{problem.graph.value(id).constant, problem.graph.value(id).type, true});
  return [state](const StepArgs& args) {
    std::vector<Array> copies;
    std::vector<BudgetShare> shares;
    copies.reserve(state->inputs.size());
    std::vector<const Array*> operands;
    for (std::size_t i = 0; i < state->inputs.size(); ++i) {
      const Input& input = state->inputs[i];
      if (!input.present) {
        operands.push_back(nullptr);
      } else if (input.constant) {
        operands.push_back(input.constant.get());
      } else {
        Array& copy = copies.emplace_back(input.type.type, input.type.shape());
        shares.emplace_back(static_cast<std::int64_t>(copy.bytes().size()));
        if (!copy.bytes().empty()) std::memcpy(copy.bytes().data(), args.inputs[i], copy.bytes().size());
        operands.push_back(&copy);
      }
    }
    const std::vector<Array> results = evaluate(state->node, operands);
    for (std::size_t i = 0; i < args.outputs.size() && i < results.size(); ++i)
      if (args.outputs[i] != nullptr && !results[i].bytes().empty())
        std::memcpy(args.outputs[i], results[i].bytes().data(), results[i].bytes().size());
  };
}

constexpr CpuKernel kKernels[] = {
    {{.name = "reference",
      .op = "*",
      .isa = Isa::portable,
      .type = ElementType::float32,
      .role = KernelRole::definition,
      .consider = consider},
     prepare},
};

}  // namespace

std::span<const CpuKernel> reference_kernels() { return kKernels; }

}  // namespace tessera::cpu
