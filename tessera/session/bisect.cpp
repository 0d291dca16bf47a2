#include "tessera/session/bisect.h"

#include "tessera/kernel_plan/plan.h"
#include "tessera/kernel_plan/planning_stages.h"
#include "tessera/session/session.h"

#include <algorithm>

namespace tessera {
namespace {

using Differences = std::map<std::string, Difference>;

// Everything that changes which values there are; folding is left, since shapes come from it.
std::vector<std::string> fusing_passes(std::vector<std::string> off) {
  for (const Pass& pass : all_passes())
    if (pass.name != "constant_folding" && pass.name != "dead_code" &&
        std::find(off.begin(), off.end(), pass.name) == off.end())
      off.emplace_back(pass.name);
  off.emplace_back(kFuseChains);
  return off;
}

void describe_node(const Plan& plan, const Step& step, const Differences& differences, Bisection::Finding& finding) {
  const Node& node = plan.graph.nodes[static_cast<std::size_t>(step.node)];
  finding.node = node.name;
  finding.op = op_text(node);
  finding.kernel = step.kernel == nullptr ? "" : step.kernel->name;
  for (const ValueId id : node.inputs) {
    if (id == kNoValue) continue;
    const Value& value = plan.graph.value(id);
    const auto known = differences.find(value.name);
    const bool given = std::find(plan.graph.inputs.begin(), plan.graph.inputs.end(), id) != plan.graph.inputs.end();
    Bisection::Finding::Input input{value.name,
                                    value.constant ? "constant"
                                    : given        ? "given"
                                                   : "made earlier",
                                    value.type.to_string(), value.type.shape(), std::nullopt};
    if (known != differences.end()) input.difference = known->second;
    finding.inputs.push_back(std::move(input));
  }
}

Bisection observe(const Graph& graph, const std::vector<Array>& inputs, const SessionOptions& options,
                  const std::map<std::string, Array>& expected, double tolerance) {
  const Session session(graph, options);
  Bisection out;
  Differences differences;
  session.observe(inputs, [&](const std::string& value, const Array& found) {
    const auto there = expected.find(value);
    if (there == expected.end()) {
      ++out.skipped;
      return;
    }
    ++out.compared;
    const Difference d = differences[value] = difference(found, there->second);
    if (out.first || d.within(tolerance)) return;
    out.first = Bisection::Finding{value,         {}, {}, {}, TensorType(found.type(), found.shape()).to_string(),
                                   found.shape(), d,  {}};
  });
  if (!out.first) return out;
  for (const auto& plan : session.plans(inputs))
    for (const Step& step : plan->steps) {
      if (step.node == Step::kConversion) continue;
      const Node& node = plan->graph.nodes[static_cast<std::size_t>(step.node)];
      const bool makes = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
        return id != kNoValue && plan->graph.value(id).name == out.first->value;
      });
      if (!makes) continue;
      describe_node(*plan, step, differences, *out.first);
      return out;
    }
  return out;
}

}  // namespace

Bisection bisect(const Graph& graph, const std::vector<Array>& inputs, const SessionOptions& options,
                 const std::map<std::string, Array>& expected, double tolerance) {
  SessionOptions plain = options;
  plain.passes_off = fusing_passes(options.passes_off);
  plain.kernels.clear();  // a plan file speaks of the fused nodes
  Bisection unfused = observe(graph, inputs, plain, expected, tolerance);
  if (unfused.first) return unfused;
  Bisection fused = observe(graph, inputs, options, expected, tolerance);
  if (!fused.first) return unfused;
  fused.fused = true;
  return fused;
}

}  // namespace tessera
