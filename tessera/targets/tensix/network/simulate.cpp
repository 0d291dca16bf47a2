#include "tessera/targets/tensix/network/simulate.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/network/fold_input.h"
#include "tessera/targets/tensix/network/node_trial.h"
#include "tessera/targets/tensix/network/simulated_node.h"
#include "tessera/targets/tensix/network/simulation_run.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/move/move.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"
#include "tessera/targets/tensix/time/kernel_time.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

class Runner {
 public:
  Runner(const std::shared_ptr<Device>& device, const LoweredGraph& network, const SimulateOptions& options)
      : recorder_(device), values_(network, recorder_), run_{device, network, options, recorder_, values_, out_.steps} {
    run_.costs = costs_of(device->machine());
    run_.strict = !options.planned.empty();
    check(!run_.strict || options.planned.size() == network.nodes.size(), Code::invalid_argument,
          "the plan has {} steps, the network {} operators", options.planned.size(), network.nodes.size());
  }

  // One node on a card with nothing but its operands.
  NodeTrial try_node(std::size_t index, std::span<const TensorSpec> inputs, HostOperands& operands) {
    const LoweredNode& node = network().nodes[index];
    run_.strict = true;
    run_.operands = &operands;
    NodeTrial trial;
    const auto done = attempt([&] {
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (!values_.on_card(node.inputs[i]))
          values_.put(node.inputs[i], DeviceTensor::allocate(run_.device, inputs[i]));
      trial.operand_bytes = run_.device->memory_view(BufferType::l1).allocated_bytes_per_bank;
      values_.begin(index);
      run_node(node);
      trial.result = values_.at(node.outputs[0]).spec();
      trial.plan = run_.conv_plan;
    });
    if (!done) trial.refusal = done.refusal();
    trial.step = trial.refusal ? run_.step : out_.steps.back();
    return trial;
  }

  NodeTrial try_move(const TensorSpec& from, const MemoryConfig& to) {
    NodeTrial trial;
    run_.begin("", MoveKind::reshard);
    const auto done = attempt([&] {
      DeviceTensor x = DeviceTensor::allocate(run_.device, from);
      trial.operand_bytes = run_.device->memory_view(BufferType::l1).allocated_bytes_per_bank;
      const DeviceTensor y = from.memory_config() == to ? tensix::move(x) : to_memory_config(x, to);
      trial.result = y.spec();
      run_.finish(&y);
      trial.step = out_.steps.back();
    });
    if (!done) trial.refusal = done.refusal();
    return trial;
  }

  Simulation run(const std::vector<Array>& inputs) {
    send_inputs(inputs);
    const auto& nodes = network().nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      values_.begin(i);
      with_context(
          fmt::format("while running '{}' ({}), operator {} of {} on the card", nodes[i].name, nodes[i].op, i + 1,
                      nodes.size()),
          [&] {
            if (run_.strict) make_moves(options().planned[i]);
            run_node(nodes[i]);
            const ValueId made = nodes[i].outputs[0];
            out_.results.push_back(values_.on_card(made) ? std::optional(values_.at(made).spec()) : std::nullopt);
            if (run_.strict)
              for (const ValueId id : options().planned[i].frees) values_.free(id);
          });
      if (!run_.strict) values_.end();
    }
    if (values())
      for (const ValueId id : network().graph.outputs) out_.outputs.push_back(read(id));
    out_.timeline = recorder_.timeline();
    return std::move(out_);
  }

 private:
  const LoweredGraph& network() const { return run_.network; }
  const SimulateOptions& options() const { return run_.options; }
  bool values() const { return run_.device->options().values; }

  void make_moves(const PlannedCall& call) {
    for (const PlannedCall::Move& move : call.moves) {
      run_.begin(network().graph.value(move.value).name, move.kind);
      if (move.kind == MoveKind::slide)
        values_.slide(move.value);
      else
        values_.put(move.value, to_memory_config(values_.at(move.value), move.to));
      run_.finish(&values_.at(move.value));
    }
  }

  DType input_dtype() const { return run_.input_dtype(); }

  DeviceTensor send(ValueId id, const Array& array, DType dtype, const MemoryConfig& memory = kDramMemoryConfig) {
    const int columns = network().columns_of(id);
    const Shape flat{1, 1, array.count() / array.shape()[columns], array.shape()[columns]};
    return send_values(run_.device, TensorSpec(flat, dtype, Layout::row_major, memory), [&] {
      return Tensor::from_float32(rows_from_array(array, columns), flat, dtype, Layout::row_major);
    });
  }

  DeviceTensor send_input(ValueId id, const Array& image) {
    const auto fold = network().folds.find(id);
    const auto place = options().inputs.find(id);
    const MemoryConfig& memory = place == options().inputs.end() ? kDramMemoryConfig : place->second;
    if (fold == network().folds.end()) return send(id, image, input_dtype(), memory);
    const Shape flat = fold->second.rows();
    return send_values(run_.device, TensorSpec(flat, input_dtype(), Layout::row_major, memory), [&] {
      return Tensor::from_float32(folded_rows(image, fold->second), flat, input_dtype(), Layout::row_major);
    });
  }

  void send_inputs(const std::vector<Array>& inputs) {
    const Graph& graph = network().graph;
    check(inputs.size() == graph.inputs.size(), Code::invalid_argument, "the network takes {} inputs, {} were given",
          graph.inputs.size(), inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      check_input(graph, i, inputs[i]);
      if (fits_card(inputs[i].type(), inputs[i].shape()))
        values_.put(graph.inputs[i], send_input(graph.inputs[i], inputs[i]));
      values_.put_on_host(graph.inputs[i], inputs[i]);
    }
  }

  Array read(ValueId id) const {
    const Value& value = network().graph.value(id);
    if (value.constant) return *value.constant;
    if (const Array* array = values_.on_host(id)) return *array;
    const auto found = network().pixels.find(id);
    return array_from_rows(from_device(values_.at(id)).to_float32(), value.type.shape(),
                           found == network().pixels.end() ? 1 : found->second, network().columns_of(id));
  }

  void run_node(const LoweredNode& node) {
    run_.begin(node.name, node.op);
    if (const auto* host = node.layer.as<HostLayer>()) return run_on_host(node, network().graph.nodes[host->node]);
    SimulatedNode running(run_, node);
    DeviceTensor y = node.layer.op()->run(node.layer, running);
    const LayerConfig own = config_of(options().layers, node.name);
    if (own.memory == BufferType::dram) y = in_dram(y);
    values_.put(node.outputs[0], y);
    run_.finish(&y);
    if (options().on_result && values()) options().on_result(node, read(node.outputs[0]));
  }

  void run_on_host(const LoweredNode& node, const Node& original) {
    std::vector<Array> results = values() ? evaluated(original) : unknown_results(original);
    const DeviceTensor* last = nullptr;
    for (std::size_t i = 0; i < original.outputs.size(); ++i) {
      const ValueId id = original.outputs[i];
      if (id == kNoValue) continue;
      if (fits_card(results[i].type(), results[i].shape())) {
        values_.put(id, send(id, results[i], input_dtype()));
        last = &values_.at(id);
      }
      if (options().on_result && values()) options().on_result(node, results[i]);
      values_.put_on_host(id, std::move(results[i]));
    }
    run_.note("computed on the host in float32: the card has no such operator");
    run_.finish(last);
  }

  std::vector<Array> evaluated(const Node& original) const {
    std::vector<Array> kept;
    kept.reserve(original.inputs.size());
    std::vector<const Array*> operands;
    for (const ValueId id : original.inputs) {
      if (id != kNoValue) kept.push_back(read(id));
      operands.push_back(id == kNoValue ? nullptr : &kept.back());
    }
    return evaluate(original, operands);
  }

  // Of the right types, where there are no values to compute with.
  std::vector<Array> unknown_results(const Node& original) const {
    std::vector<Array> results;
    for (const ValueId id : original.outputs) {
      if (id == kNoValue) {
        results.emplace_back(ElementType::float32, Shape{});
        continue;
      }
      const Value& value = network().graph.value(id);
      check(value.type.is_static(), Code::unsupported, Hint{"simulate with values"},
            "the shape of '{}' ({}) depends on values, and there are none in a simulation of memory only", value.name,
            value.type.to_string());
      results.emplace_back(value.type.type, value.type.shape());
    }
    return results;
  }

  Simulation out_;
  L1Recorder recorder_;
  SimulatedValues values_;
  SimulationRun run_;
};

}  // namespace

struct TrialCard::State {
  std::shared_ptr<Device> device;
  const LoweredGraph& network;
  HostOperands operands = {};

  template <class Body>
  NodeTrial alone(const SimulateOptions& options, Body&& body) {
    NodeTrial trial = body(Runner(device, network, options));
    device->clear_program_cache();
    device->clear_trace();
    return trial;
  }
};

TrialCard::TrialCard(const LoweredGraph& network, const Machine& machine, std::int64_t l1_small_bytes)
    : state_(std::make_unique<State>(
          State{Device::open(machine, {.l1_small_bytes = l1_small_bytes, .values = false}), network})) {}
TrialCard::~TrialCard() = default;

NodeTrial TrialCard::try_node(std::size_t node, std::span<const TensorSpec> inputs, const LayerConfig& config) {
  SimulateOptions options;
  options.layers.emplace(state_->network.nodes[node].name, config);
  return state_->alone(options, [&](Runner&& runner) { return runner.try_node(node, inputs, state_->operands); });
}

NodeTrial TrialCard::try_move(const TensorSpec& from, const MemoryConfig& to) {
  return state_->alone({}, [&](Runner&& runner) { return runner.try_move(from, to); });
}

std::int64_t TrialCard::bytes_of(const TensorSpec& spec) const {
  return spec.memory_config().buffer_type() == BufferType::l1
             ? DeviceTensor::request(*state_->device, spec).bytes_per_bank
             : 0;
}

std::int64_t TrialCard::limit_bytes() const { return L1Recorder(state_->device).timeline().limit_bytes(); }

Simulation simulate(const std::shared_ptr<Device>& device, const LoweredGraph& network,
                    const std::vector<Array>& inputs, const SimulateOptions& options) {
  device->check_open();
  return Runner(device, network, options).run(inputs);
}

}  // namespace tessera::tensix
