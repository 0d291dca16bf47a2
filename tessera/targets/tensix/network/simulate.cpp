#include "tessera/targets/tensix/network/simulate.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/network/fold_input.h"
#include "tessera/targets/tensix/network/node_trial.h"
#include "tessera/targets/tensix/network/simulation_run.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/matmul/matmul.h"
#include "tessera/targets/tensix/ops/move/move.h"
#include "tessera/targets/tensix/ops/pool/pool.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/slice/slice.h"
#include "tessera/targets/tensix/ops/softmax/softmax.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"
#include "tessera/targets/tensix/ops/upsample/upsample.h"
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
      with_context(fmt::format("while running '{}' ({}), operator {} of {} on the card", nodes[i].name, nodes[i].op,
                               i + 1, nodes.size()),
                   [&] {
                     if (run_.strict) make_moves(options().planned[i]);
                     run_node(nodes[i]);
                     const ValueId made = nodes[i].outputs[0];
                     out_.results.push_back(made != kNoValue && values_.on_card(made)
                                                ? std::optional(values_.at(made).spec())
                                                : std::nullopt);
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

  DType input_dtype() const { return is_block_float(options().dtype) ? DType::bfloat16 : options().dtype; }

  DeviceTensor send(const Array& array, DType dtype, const MemoryConfig& memory = kDramMemoryConfig) {
    const Shape flat{1, 1, array.count() / array.shape()[1], array.shape()[1]};
    return send_values(run_.device, TensorSpec(flat, dtype, Layout::row_major, memory),
                       [&] { return Tensor::from_float32(rows_from_array(array), flat, dtype, Layout::row_major); });
  }

  DeviceTensor send_input(ValueId id, const Array& image) {
    const auto fold = network().folds.find(id);
    const auto place = options().inputs.find(id);
    const MemoryConfig& memory = place == options().inputs.end() ? kDramMemoryConfig : place->second;
    if (fold == network().folds.end()) return send(image, input_dtype(), memory);
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
      if (inputs[i].type() == ElementType::float32 && inputs[i].shape().rank() >= 2)
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
                           found == network().pixels.end() ? 1 : found->second);
  }

  void run_node(const LoweredNode& node) {
    run_.begin(node.name, node.op);
    if (const auto* host = std::get_if<HostLayer>(&node.layer))
      return run_on_host(node, network().graph.nodes[host->node]);
    DeviceTensor y = std::visit([&](const auto& layer) { return run_layer(node, layer); }, node.layer);
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
      if (results[i].type() == ElementType::float32 && results[i].shape().rank() >= 2 && results[i].count() > 0) {
        values_.put(id, send(results[i], input_dtype()));
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
      const TensorType type =
          id == kNoValue ? TensorType(ElementType::float32, Shape{}) : network().graph.value(id).type;
      results.emplace_back(type.type, type.shape());
    }
    return results;
  }

  DType result_dtype(const LoweredNode& node) const {
    return config_of(options().layers, node.name).dtype.value_or(options().dtype);
  }
  ComputeConfig compute(const LoweredNode& node) const {
    ComputeConfig config = options().compute;
    config_of(options().layers, node.name).apply_to(config);
    return config;
  }
  const DeviceTensor& input(const LoweredNode& node, std::size_t i = 0) const { return values_.at(node.inputs[i]); }

  // Operators that keep their operands in place cannot do without them.
  template <class Body>
  DeviceTensor fit(const LoweredNode& node, Body&& body) {
    return run_.fit(node.inputs, std::forward<Body>(body));
  }
  template <class Near, class Far>
  DeviceTensor near_or_far(const LoweredNode& node, Near&& near, Far&& far) {
    return run_.near_or_far(node.inputs, std::forward<Near>(near), std::forward<Far>(far));
  }

  DeviceTensor run_layer(const LoweredNode& node, const ConvLayer& layer) { return run_conv(run_, node, layer); }
  DeviceTensor run_layer(const LoweredNode& node, const ConcatLayer& layer) { return run_concat(run_, node, layer); }

  DeviceTensor run_layer(const LoweredNode& node, const PoolLayer& layer) {
    const PoolValues& p = layer.pool;
    PoolOptions o;
    o.batch = p.batch;
    o.height = p.height;
    o.width = p.width;
    o.channels = p.channels;
    o.window = p.window;
    o.ceil_mode = p.ceil_mode;
    o.count_include_pad = p.count_include_pad;
    o.dtype = input_dtype();
    o.compute = compute(node);
    const LayerConfig own = config_of(options().layers, node.name);
    if (own.gives("shard_layout")) o.scheme = own.conv.shard_layout;
    if (own.gives("reallocate_halo_output")) o.reallocate_halo = own.conv.reallocate_halo_output;
    if (own.gives("output_layout")) o.layout = own.conv.output_layout;
    if (o.layout == Layout::tile) o.dtype = result_dtype(node);
    const PoolKind kind = layer.maximum ? PoolKind::max : PoolKind::average;
    return near_or_far(
        node,
        [&] {
          // Asked before there is a second handle.
          o.deallocate_input = values_.may_consume(node.inputs[0]) && input(node).spec().memory_config().is_l1();
          DeviceTensor x = input(node);
          return pool2d(kind, x, o);
        },
        [&] {
          o.deallocate_input = false;
          DeviceTensor x = in_dram(input(node));
          return pool2d(kind, x, o);
        });
  }

  DeviceTensor run_layer(const LoweredNode& node, const LinearLayer& layer) {
    const Extent2d out = network().matrix(node.outputs[0]);
    const DType weights_dtype = config_of(options().layers, node.name).weights_dtype.value_or(options().weights_dtype);
    const DeviceTensor weights = send_weights(layer, out.width, weights_dtype);
    MatmulOptions o;
    if (layer.bias) o.bias = send_row(layer.bias->as<float>(), weights_dtype);
    o.dtype = result_dtype(node);
    o.compute = compute(node);
    return near_or_far(
        node, [&] { return matmul(tiles_near(input(node)), weights, o); },
        [&] { return matmul(in_tiles(in_dram(input(node))), weights, o); });
  }

  // The rows in L1 are gone when there are tiles.
  DeviceTensor tiles_near(const DeviceTensor& x) const {
    const DeviceTensor near = in_l1(x);
    return in_tiles(near);
  }

  // What a plan left in DRAM is read from there.
  DeviceTensor in_l1(const DeviceTensor& x) const {
    return run_.strict && x.spec().memory_config().is_dram() ? x : to_memory_config(x, kL1MemoryConfig);
  }

  DeviceTensor send_row(std::span<const float> values, DType dtype) {
    const Shape shape{1, 1, 1, static_cast<std::int64_t>(values.size())};
    return run_.weights.emplace_back(
        send_values(run_.device, TensorSpec(shape, dtype, Layout::tile, kDramMemoryConfig),
                    [&] { return Tensor::from_float32(values, shape, dtype, Layout::tile); }));
  }

  DeviceTensor send_weights(const LinearLayer& layer, std::int64_t n, DType dtype) {
    const Shape shape{1, 1, layer.weights->count() / n, n};
    return run_.weights.emplace_back(
        send_values(run_.device, TensorSpec(shape, dtype, Layout::tile, kDramMemoryConfig),
                    [&] { return Tensor::from_float32(linear_matrix(layer, n), shape, dtype, Layout::tile); }));
  }

  DeviceTensor run_layer(const LoweredNode& node, const BinaryLayer& layer) {
    BinaryOptions o;
    o.dtype = result_dtype(node);
    if (layer.activation) o.activations.push_back(*layer.activation);
    if (layer.constant) return with_constant(node, layer, o);
    // Rows of a pool may lie in shards that are no whole tiles.
    const auto tiles_of = [](const DeviceTensor& x) {
      return is_tiled(x) ? x : in_tiles(x.spec().memory_config().is_sharded() ? in_dram(x) : x);
    };
    const auto add = [&](const DeviceTensor& left, const DeviceTensor& right) {
      const bool in_place = values_.may_consume(node.inputs[0]);  // asked before there is a second handle
      const DeviceTensor a = tiles_of(left), b = tiles_of(right);
      BinaryOptions inner = o;
      // In place of the first operand, where it is not needed any more.
      if (a.spec().logical_shape() == b.spec().logical_shape() && a.spec().dtype() == *o.dtype &&
          a.spec().memory_config() == b.spec().memory_config() && a.address() == input(node).address() && in_place &&
          a.spec().memory_config().is_l1())
        inner.output = a;
      return binary(layer.kind, a, b, inner);
    };
    return near_or_far(
        node, [&] { return add(input(node), input(node, 1)); },
        [&] { return add(in_dram(input(node)), in_dram(input(node, 1))); });
  }

  DeviceTensor with_constant(const LoweredNode& node, const BinaryLayer& layer, const BinaryOptions& o) {
    const auto values = layer.constant->as<float>();
    if (values.size() == 1) {
      return fit(node, [&] {
        const DeviceTensor x = in_tiles(input(node));
        return layer.constant_first ? binary(layer.kind, double{values[0]}, x, o)
                                    : binary(layer.kind, x, double{values[0]}, o);
      });
    }
    const DeviceTensor row = send_row(values, DType::bfloat16);
    const auto add = [&](const DeviceTensor& x) {
      BinaryOptions inner = o;
      inner.memory_config = x.spec().memory_config();
      return layer.constant_first ? binary(layer.kind, row, x, inner) : binary(layer.kind, x, row, inner);
    };
    return near_or_far(
        node, [&] { return add(in_tiles(input(node))); }, [&] { return add(in_tiles(in_dram(input(node)))); });
  }

  DeviceTensor run_layer(const LoweredNode& node, const UnaryLayer& layer) {
    return fit(node, [&] {
      const DeviceTensor& x = input(node);
      UnaryOptions o;
      if (values_.may_consume(node.inputs[0])) o.output = x;
      return unary(layer.function.name, std::span(&layer.function, 1), x, o);
    });
  }

  DeviceTensor run_layer(const LoweredNode& node, const SliceLayer& layer) {
    const Extent2d in = network().matrix(node.inputs[0]);
    const std::int64_t begins[] = {0, 0, 0, layer.begin}, ends[] = {1, 1, in.height, layer.end}, steps[] = {1, 1, 1, 1};
    return near_or_far(
        node, [&] { return slice(input(node), begins, ends, steps); },
        [&] { return slice(in_dram(input(node)), begins, ends, steps); });
  }

  DeviceTensor run_layer(const LoweredNode& node, const UpsampleLayer& layer) {
    UpsampleOptions o;
    o.scale = {static_cast<double>(layer.scale_h), static_cast<double>(layer.scale_w)};
    o.mode = layer.mode;
    o.compute = upsample_compute(compute(node), layer.mode);
    const auto grow = [&](const DeviceTensor& rows) {
      const DeviceTensor image = reshape(rows, Shape{layer.batch, layer.height, layer.width, layer.channels});
      const Extent2d out = network().matrix(node.outputs[0]);
      return reshape(upsample(image, o), Shape{1, 1, out.height, out.width});
    };
    return near_or_far(
        node, [&] { return grow(in_rows(input(node))); }, [&] { return grow(in_rows(in_dram(input(node)))); });
  }

  DeviceTensor run_layer(const LoweredNode& node, const SoftmaxLayer&) {
    return near_or_far(
        node, [&] { return softmax(tiles_near(input(node)), -1, std::nullopt, compute(node)); },
        [&] { return softmax(in_tiles(in_dram(input(node))), -1, std::nullopt, compute(node)); });
  }

  DeviceTensor run_layer(const LoweredNode& node, const ViewLayer&) { return input(node); }

  DeviceTensor run_layer(const LoweredNode& node, const FlattenLayer&) {
    const Extent2d out = network().matrix(node.outputs[0]);
    return run_.fit({}, [&] { return reshape(in_rows(in_dram(input(node))), Shape{1, 1, out.height, out.width}); });
  }

  DeviceTensor run_layer(const LoweredNode&, const HostLayer&) { fail(Code::internal, "a host layer on the card"); }

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
