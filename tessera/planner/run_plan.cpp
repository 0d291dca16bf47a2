#include "tessera/planner/run_plan.h"

#include "tessera/backends/sim/tensix/batch_groups.h"
#include "tessera/backends/sim/tensix/fold_input.h"
#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/planner/digest.h"

#include <map>
#include <optional>

namespace tessera::planner {

tensix::LoweredGraph planned_network(const tensix::LoweredGraph& network, const CardPlan& plan) {
  return tensix::fold_inputs(tensix::group_images(network, plan.grouped_images), plan.folded_inputs);
}

tensix::Simulation run_plan(const std::shared_ptr<Device>& device, const tensix::LoweredGraph& given,
                            const CardPlan& plan, const std::vector<Array>& inputs, const RunPlanHooks& hooks) {
  const Hint again{"make the plan again"};
  const bool grouped = plan.grouped_images > 1;
  std::optional<tensix::LoweredGraph> rewritten;
  if (grouped || !plan.folded_inputs.empty()) rewritten = planned_network(given, plan);
  const tensix::LoweredGraph& network = rewritten ? *rewritten : given;
  check(plan.steps.size() == network.nodes.size(), Code::invalid_argument, again,
        "the plan is not for this network: it has {} steps, the network {} operators on the card", plan.steps.size(),
        network.nodes.size());
  check(plan.network_digest.empty() || plan.network_digest == network_digest(given), Code::invalid_argument, again,
        "the plan is for a network {}, this one is {}: operators or shapes differ", plan.network_digest,
        network_digest(given));
  check(device->options().l1_small_bytes == plan.request.l1_small_bytes, Code::invalid_argument,
        "the plan sets {} B of each core aside as L1_SMALL, the device was opened with {} B",
        plan.request.l1_small_bytes, device->options().l1_small_bytes);
  std::map<std::string, ValueId, std::less<>> values;
  for (std::size_t i = 0; i < network.graph.values.size(); ++i)
    values.emplace(network.graph.values[i].name, static_cast<ValueId>(i));
  const auto value_of = [&](const std::string& name, const PlannedStep& step) {
    const auto found = values.find(name);
    check(found != values.end(), Code::not_found, again, "step '{}' of the plan moves or frees '{}', which is no value",
          step.node, name);
    return found->second;
  };
  tensix::SimulateOptions options;
  for (const CardPlan::Input& input : plan.placed_inputs) {
    const auto found = values.find(input.value);
    check(found != values.end(), Code::not_found, again, "the plan places an input '{}', which is no value",
          input.value);
    options.inputs.insert_or_assign(found->second, input.memory);
  }
  options.on_step = hooks.on_step;
  options.on_result = hooks.on_result;
  if (grouped && hooks.on_result)
    options.on_result = [&](const tensix::LoweredNode& node, const Array& result) {
      hooks.on_result(node, result.reshaped(given.graph.value(node.outputs[0]).type.shape()));
    };
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlannedStep& step = plan.steps[i];
    check(step.node == network.nodes[i].name, Code::invalid_argument, again,
          "step {} of the plan is for '{}', the network has '{}' there", i + 1, step.node, network.nodes[i].name);
    options.layers.insert_or_assign(step.node, step.config);
    tensix::PlannedCall& call = options.planned.emplace_back();
    for (const PlannedMove& move : step.moves)
      call.moves.push_back({std::string(name(move.kind)), value_of(move.value, step), move.to});
    for (const std::string& value : step.frees) call.frees.push_back(value_of(value, step));
  }
  if (!grouped) return tensix::simulate(device, network, inputs, options);
  std::vector<Array> together;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_input(given.graph, i, inputs[i]);
    together.push_back(inputs[i].reshaped(tensix::grouped_shape(inputs[i].shape(), plan.grouped_images)));
  }
  tensix::Simulation done = tensix::simulate(device, network, together, options);
  for (std::size_t i = 0; i < done.outputs.size(); ++i)
    done.outputs[i] = std::move(done.outputs[i]).reshaped(given.graph.value(given.graph.outputs[i]).type.shape());
  return done;
}

tensix::Simulation rehearse_plan(const Machine& machine, const tensix::LoweredGraph& network, const CardPlan& plan,
                                 const RunPlanHooks& hooks) {
  const auto device = Device::open(machine, {.l1_small_bytes = plan.request.l1_small_bytes, .values = false});
  std::vector<Array> inputs;
  for (const ValueId id : network.graph.inputs) {
    const TensorType& type = network.graph.value(id).type;
    inputs.emplace_back(type.type, type.shape());
  }
  return run_plan(device, network, plan, inputs, hooks);
}

}  // namespace tessera::planner
