#include "tessera/targets/cuda/plan/lower.h"

#include "tessera/core/error.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/kernel_plan/planning_stages.h"
#include "tessera/targets/cuda/kernels/epilogue.h"
#include "tessera/targets/cuda/kernels/kernel.h"

#include <algorithm>
#include <utility>

namespace tessera::cuda {
namespace {

// Kernels move 16 bytes of channels at a time, the copy engine can do no other: a value that lies in a wider one must
// begin at such a place.
bool parts_are_aligned(const Plan& plan) {
  return std::ranges::all_of(plan.buffers, [&](const PlanBuffer& buffer) {
    if (buffer.part_of < 0) return true;
    const std::int64_t bytes = element_bytes(plan.graph.value(buffer.value).type.type);
    return buffer.channel * bytes % 16 == 0 && buffer.pixel * bytes % 16 == 0;
  });
}

// Attention and products of tokens are found while nothing is fused yet: that comes last.
void lower_tokens(tessera::Graph& graph, PassOptions passes) {
  const bool fuses = std::ranges::find(passes.off, "fuse_epilogue") == passes.off.end();
  PassOptions before = passes;
  if (fuses) before.off.emplace_back("fuse_epilogue");
  run_passes(graph, before);
  if (fuse_attention(graph)) {
    infer_types(graph);
    run_passes(graph, before);  // transposes to heads and back cancel
  }
  if (merge_moves(graph)) infer_types(graph);
  products_of_tokens(graph);
  infer_types(graph);
  fold_batch_norm(graph);
  infer_types(graph);
  if (fuses) fuse_epilogue(graph);
  remove_dead_code(graph);
  verify(graph);
  infer_types(graph);
}

}  // namespace

tessera::Graph lowered(tessera::Graph graph, const std::vector<TensorType>& inputs, const PlanRequest& request) {
  check(inputs.size() == graph.inputs.size(), Code::invalid_argument, "the network takes {} inputs, {} were given",
        graph.inputs.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) graph.value(graph.inputs[i]).type = inputs[i];
  lower_tokens(graph, without(request.passes_off).passes);
  const ElementType storage = request.storage.value_or(kDefaultStorage);
  if (storage != ElementType::float32) store_narrow(graph, storage, NarrowRange::tokens);
  split_epilogues(graph);
  return graph;
}

Plan plan_kernels(tessera::Graph graph, const GpuSpec& gpu, const PlanRequest& request) {
  static const std::vector<const KernelInfo*> infos = [] {
    std::vector<const KernelInfo*> list;
    for (const CudaKernel& kernel : kernels()) list.push_back(&kernel.info);
    return list;
  }();
  PlanOptions options;
  options.machine = KernelMachine(gpu);
  const Optimisations optimisations = without(request.passes_off);
  options.orders = optimisations.orders;
  options.parts = optimisations.parts;
  options.exact = request.exact;
  options.without = request.kernels_off;
  options.decided = request.kernels;
  options.memory_limit_bytes = request.memory_limit_bytes.value_or(gpu.memory_bytes);
  Plan plan = make_plan(graph, infos, options);
  if (parts_are_aligned(plan)) return plan;
  options.parts = false;
  return make_plan(std::move(graph), infos, options);
}

}  // namespace tessera::cuda
