#include "tessera/session/reference.h"

#include "tessera/kernel_plan/planning_stages.h"
#include "tessera/session/session.h"

namespace tessera {
namespace {

// Nothing is fused, so that every value of the graph is made.
SessionOptions plain_options(bool exact) {
  SessionOptions options;
  options.exact = exact;
  for (const Pass& pass : all_passes())
    if (exact || pass.name != "constant_folding") options.passes_off.emplace_back(pass.name);
  options.passes_off.emplace_back(kFuseChains);
  return options;
}

}  // namespace

Reference session_reference(int threads) {
  return [threads](const Graph& graph, const std::vector<Array>& inputs, ReferenceDepth depth) {
    ReferenceValues out;
    SessionOptions options =
        depth == ReferenceDepth::outputs ? SessionOptions{} : plain_options(depth == ReferenceDepth::exact_values);
    options.threads = threads;
    const Session session(graph, options);
    if (depth != ReferenceDepth::outputs)
      session.observe(inputs, [&](const std::string& value, const Array& x) { out.values.insert_or_assign(value, x); });
    if (depth != ReferenceDepth::exact_values) out.outputs = session.run(inputs);
    return out;
  };
}

}  // namespace tessera
