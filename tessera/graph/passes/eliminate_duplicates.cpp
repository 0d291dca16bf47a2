#include "tessera/graph/passes/internal/rewriter.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace tessera {
namespace {

using internal::Rewriter;

// Comparing larger ones costs more than keeping them.
constexpr std::int64_t kMaxConstantBytes = 1024;

bool same_fused(const Node& a, const Node& b) {
  return a.fused_inputs == b.fused_inputs &&
         std::equal(a.fused.begin(), a.fused.end(), b.fused.begin(), b.fused.end(),
                    [](const FusedOp& x, const FusedOp& y) { return x.op == y.op && x.operands == y.operands; });
}

// Outputs that only one of the two has been asked for cannot be handed over.
bool has_all_outputs(const Node& first, const Node& second) {
  if (first.outputs.size() < second.outputs.size()) return false;
  for (std::size_t i = 0; i < second.outputs.size(); ++i)
    if (second.outputs[i] != kNoValue && first.outputs[i] == kNoValue) return false;
  return true;
}

// The first of equal small constants, for each that has one.
std::map<ValueId, ValueId> equal_constants(const Rewriter& r) {
  std::map<std::string, std::vector<ValueId>> by_bytes;
  std::map<ValueId, ValueId> first_of;
  for (ValueId id = 0; id < static_cast<ValueId>(r.graph().values.size()); ++id) {
    const Array* array = r.constant(id);
    if (array == nullptr || array->count() * element_bytes(array->type()) > kMaxConstantBytes) continue;
    std::vector<ValueId>& same =
        by_bytes[std::string(reinterpret_cast<const char*>(array->bytes().data()), array->bytes().size())];
    const auto found = std::ranges::find_if(same, [&](ValueId other) { return r.type(other) == r.type(id); });
    if (found == same.end())
      same.push_back(id);
    else
      first_of[id] = *found;
  }
  return first_of;
}

bool sweep(Graph& graph) {
  Rewriter r(graph);
  const std::map<ValueId, ValueId> first_of = equal_constants(r);
  std::map<std::tuple<std::size_t, std::vector<ValueId>>, std::vector<Node*>> seen;
  for (Node& node : r.nodes()) {
    if (!r.alive(node)) continue;
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId& id : inputs)
      if (const auto found = first_of.find(id); found != first_of.end()) id = found->second;
    if (inputs != node.inputs) r.set_inputs(node, inputs);
    std::vector<Node*>& alike = seen[{node.op.index(), inputs}];
    bool gone = false;
    for (Node* first : alike) {
      if (!(first->op == node.op) || !same_fused(*first, node) || !has_all_outputs(*first, node)) continue;
      const std::vector<ValueId> outputs = node.outputs;
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i] != kNoValue) r.replace(outputs[i], first->outputs[i]);
      gone = !r.alive(node);
      break;
    }
    if (!gone) alike.push_back(&node);
  }
  return r.changed();
}

}  // namespace

bool eliminate_duplicates(Graph& graph) {
  bool any = false;
  while (sweep(graph)) any = true;
  return any;
}

}  // namespace tessera
