#include "tessera/graph/passes/internal/rewriter.h"
#include "tessera/graph/passes/pass.h"

namespace tessera {
namespace {

void to_gemm(internal::Rewriter& r, internal::Rewriter::NodeAt at) {
  Node& node = *at;
  if (!std::holds_alternative<MatMul>(node.op) || !node.fused.empty()) return;
  const TensorType& a = r.type(node.inputs[0]);
  const Array* b = r.constant(node.inputs[1]);
  if (!a.dims || a.rank() != 2 || b == nullptr || b->shape().rank() != 2) return;
  r.become(node, Gemm{}, node.inputs);
}

}  // namespace

bool matmul_to_gemm(Graph& graph) { return internal::rewrite_until_settled(graph, to_gemm); }

}  // namespace tessera
