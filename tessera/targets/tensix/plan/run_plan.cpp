#include "tessera/targets/tensix/plan/run_plan.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/targets/tensix/network/batch_groups.h"
#include "tessera/targets/tensix/network/batch_passes.h"
#include "tessera/targets/tensix/network/fold_input.h"
#include "tessera/targets/tensix/plan/digest.h"

#include <map>
#include <optional>

namespace tessera::tensix {

namespace {

Hint plan_again() { return {"make the plan again"}; }

tensix::LoweredGraph rewritten_pass(const tensix::LoweredGraph& pass, const CardPlan& plan) {
  return tensix::fold_inputs(tensix::group_images(pass, plan.grouped_images), plan.folded_inputs);
}

tensix::Simulation run_pass(const std::shared_ptr<Device>& device, const tensix::LoweredGraph& given,
                            const CardPlan& plan, const std::vector<Array>& inputs, const RunPlanHooks& hooks) {
  const bool grouped = plan.grouped_images > 1;
  std::optional<tensix::LoweredGraph> rewritten;
  if (grouped || !plan.folded_inputs.empty()) rewritten = rewritten_pass(given, plan);
  const tensix::LoweredGraph& network = rewritten ? *rewritten : given;
  check(plan.steps.size() == network.nodes.size(), Code::invalid_argument, plan_again(),
        "the plan is not for this network: it has {} steps, the network {} operators on the card", plan.steps.size(),
        network.nodes.size());
  check(device->options().l1_small_bytes == plan.request.l1_small_bytes, Code::invalid_argument,
        "the plan sets {} B of each core aside as L1_SMALL, the device was opened with {} B",
        plan.request.l1_small_bytes, device->options().l1_small_bytes);
  std::map<std::string, ValueId, std::less<>> values;
  for (std::size_t i = 0; i < network.graph.values.size(); ++i)
    values.emplace(network.graph.values[i].name, static_cast<ValueId>(i));
  const auto value_of = [&](const std::string& name, const PlannedStep& step) {
    const auto found = values.find(name);
    check(found != values.end(), Code::not_found, plan_again(),
          "step '{}' of the plan moves or frees '{}', which is no value", step.node, name);
    return found->second;
  };
  tensix::SimulateOptions options;
  for (const CardPlan::Input& input : plan.placed_inputs) {
    const auto found = values.find(input.value);
    check(found != values.end(), Code::not_found, plan_again(), "the plan places an input '{}', which is no value",
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
    check(step.node == network.nodes[i].name, Code::invalid_argument, plan_again(),
          "step {} of the plan is for '{}', the network has '{}' there", i + 1, step.node, network.nodes[i].name);
    options.layers.insert_or_assign(step.node, step.config);
    tensix::PlannedCall& call = options.planned.emplace_back();
    for (const PlannedMove& move : step.moves) call.moves.push_back({move.kind, value_of(move.value, step), move.to});
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

}  // namespace

tensix::LoweredGraph pass_network(const tensix::LoweredGraph& network, const CardPlan& plan) {
  return plan.pass_images == 0 ? network : tensix::with_images(network, plan.pass_images);
}

tensix::LoweredGraph planned_network(const tensix::LoweredGraph& network, const CardPlan& plan) {
  return rewritten_pass(pass_network(network, plan), plan);
}

tensix::Simulation run_plan(const std::shared_ptr<Device>& device, const tensix::LoweredGraph& given,
                            const CardPlan& plan, const std::vector<Array>& inputs, const RunPlanHooks& hooks) {
  check(plan.network_digest.empty() || plan.network_digest == network_digest(given), Code::invalid_argument,
        plan_again(), "the plan is for a network {}, this one is {}: operators or shapes differ", plan.network_digest,
        network_digest(given));
  if (plan.pass_images == 0) return run_pass(device, given, plan, inputs, hooks);
  const tensix::LoweredGraph pass = pass_network(given, plan);
  const std::int64_t batch = *tensix::independent_images(given), passes = ceil_div(batch, plan.pass_images);
  for (std::size_t i = 0; i < inputs.size(); ++i) check_input(given.graph, i, inputs[i]);
  const auto inputs_of = [&](std::int64_t number) {
    std::vector<Array> part;
    for (const Array& input : inputs)
      part.push_back(tensix::images_of(input, number * plan.pass_images, plan.pass_images));
    return part;
  };
  std::map<std::string, std::vector<Array>> results;
  RunPlanHooks own{.on_step = hooks.on_step, .on_result = {}};
  RunPlanHooks silent;
  if (hooks.on_result) {
    silent.on_result = [&](const tensix::LoweredNode& node, const Array& result) {
      results[node.name].push_back(result);
    };
    own.on_result = [&](const tensix::LoweredNode& node, const Array& result) {
      std::vector<Array>& all = results[node.name];
      all.push_back(result);
      hooks.on_result(node, tensix::joined_images(all, batch));
    };
  }
  std::vector<std::vector<Array>> outputs(given.graph.outputs.size());
  const auto keep = [&](std::vector<Array> part) {
    for (std::size_t i = 0; i < part.size(); ++i) outputs[i].push_back(std::move(part[i]));
  };
  if (device->options().values)
    for (std::int64_t number = 0; number + 1 < passes; ++number)
      keep(run_pass(Device::open(device->machine(), device->options()), pass, plan, inputs_of(number), silent).outputs);
  tensix::Simulation done = run_pass(device, pass, plan, inputs_of(passes - 1), own);
  if (done.outputs.empty()) return done;
  keep(std::move(done.outputs));
  done.outputs.clear();
  for (const std::vector<Array>& parts : outputs) done.outputs.push_back(tensix::joined_images(parts, batch));
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

}  // namespace tessera::tensix
