#include "tessera/targets/tensix/emit/ttnn.h"

#include "tessera/core/error.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/emit/ttnn_prelude.h"
#include "tessera/targets/tensix/network/concat_parts.h"
#include "tessera/targets/tensix/ops/upsample/upsample.h"
#include "tessera/targets/tensix/plan/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tessera::tensix {
namespace {

using tensix::LayerConfig;
using tensix::LoweredNode;
using tensix::Placement;
using tensix::PlannedMove;
using tensix::PlannedStep;

constexpr std::int64_t kTraceRegionBytes = 64 << 20;

std::string py_dtype(DType dtype) { return fmt::format("ttnn.{}", name(dtype)); }
std::string py_layout(Layout layout) { return layout == Layout::tile ? "TILE" : "ROWS"; }

std::string py_cores(const CoreRangeSet& cores) {
  std::vector<std::string> parts;
  for (const CoreRange& range : cores.ranges())
    parts.push_back(fmt::format("({}, {}, {}, {})", range.start.x, range.start.y, range.end.x, range.end.y));
  return fmt::format("cores({})", fmt::join(parts, ", "));
}

std::string py_memory(const MemoryConfig& memory) {
  if (!memory.is_sharded()) return memory.is_dram() ? "DRAM" : "L1";
  check(memory.shard_spec().has_value(), Code::unsupported, "a tensor in {} cannot be written as TTNN code",
        memory.to_string());
  const ShardSpec& shards = *memory.shard_spec();
  return fmt::format("sharded({}, [{}, {}], {}{}{})", emit::py(name(memory.layout())), shards.shape.height,
                     shards.shape.width, py_cores(shards.grid),
                     shards.orientation == ShardOrientation::row_major ? "" : ", \"COL_MAJOR\"",
                     memory.is_l1() ? "" : ", place=ttnn.BufferType.DRAM");
}

std::string py_compute(const ComputeConfig& c) {
  return fmt::format("compute({}, {}, {}, {})", emit::py(name(c.fidelity)), emit::py(c.fp32_dest_acc_en),
                     emit::py(c.packer_l1_acc), emit::py(c.approximate));
}

std::string py_function(const tensix::VectorFunction& f) {
  using Kind = tensix::VectorFunction::Kind;
  if (f.kind == Kind::clamp)
    return fmt::format("unary(\"clamp_tss\", {}, {})", emit::py(double{f.low}), emit::py(double{f.high}));
  if (f.name == "leaky_relu" || f.name == "elu")
    return fmt::format("unary({}, {})", emit::py(f.name), emit::py(double{f.activation.function.alpha}));
  return fmt::format("unary({})", emit::py(f.name));
}

std::string pair(std::int64_t a, std::int64_t b) { return fmt::format("({}, {})", a, b); }
std::string padding_of(const tensix::Window& w) {
  if (w.top == w.bottom && w.left == w.right) return pair(w.top, w.left);
  return fmt::format("({}, {}, {}, {})", w.top, w.bottom, w.left, w.right);
}

tensix::Constant linear_weights(const tensix::LinearLayer& layer, std::int64_t n) {
  const std::vector<float> matrix = tensix::linear_matrix(layer, n);
  return std::make_shared<const Array>(Array::of<float>(Shape{layer.weights->count() / n, n}, matrix));
}

class Writer {
 public:
  Writer(const tensix::LoweredGraph& network, const tensix::CardPlan& plan, const std::string& weights_file)
      : given_(network), network_(tensix::planned_network(network, plan)), plan_(plan) {
    script_.weights_file = weights_file;
    for (const LoweredNode& node : network_.nodes) nodes_[node.name] = &node;
  }

  emit::Script run() && {
    refuse_host_layers();
    for (const ValueId id : network_.graph.inputs) {
      const Extent2d matrix = network_.matrix(id);
      const auto fold = network_.folds.find(id);
      const Shape shape = fold == network_.folds.end() ? Shape{1, 1, matrix.height, matrix.width} : fold->second.rows();
      places_[value(id)] = {shape, DType::bfloat16, Layout::row_major, kDramMemoryConfig};
      owner_[value(id)] = value(id);
    }
    check(plan_.steps.size() == network_.nodes.size(), Code::invalid_argument,
          "the plan has {} steps, the network {} operators: it was made for another one", plan_.steps.size(),
          network_.nodes.size());
    std::string layers;
    for (const PlannedStep& step : plan_.steps) layers += layer_text(step);
    script_.text = head() + std::string(kTtnnHead.substr(1)) + std::string(emit::kReadSafetensors) + "\n\n" + facts() +
                   layers + std::string(kTtnnTail.substr(1));
    return std::move(script_);
  }

 private:
  const std::string& value(ValueId id) const { return network_.graph.value(id).name; }

  void refuse_host_layers() const {
    std::vector<std::string> found;
    for (const LoweredNode& node : network_.nodes)
      if (std::holds_alternative<tensix::HostLayer>(node.layer))
        found.push_back(fmt::format("'{}' ({})", node.name, node.op));
    check(found.empty(), Code::unsupported,
          Hint{"cut the model before them, or replace them by operators that TTNN has"},
          "{} of {} operators have no TTNN call: {}", found.size(), network_.nodes.size(), fmt::join(found, ", "));
  }

  std::string head() const {
    return fmt::format(
        R"("""{} on {}, as planned by Tessera: {} layers, {:.1f} us of kernels predicted for a batch of {}{}.

    python FILE.py [--check] [--input x.npy] [--output DIR] [--runs N]

Needs ttnn (made for 0.81.1) and numpy, and its weights beside it. Every layer runs with the planned configuration; one
that the card refuses makes the script end with 1. With --check, and on a mocked card (TT_METAL_MOCK_CLUSTER_DESC_PATH),
each layer's use of L1 is compared with the plan's.
"""

)",
        emit::py_comment(plan_.model), emit::py_comment(plan_.machine), plan_.steps.size(), plan_.kernels_ns / 1000,
        plan_.batch, plan_.request.mesh == 1 ? "" : fmt::format(" on each of {} cards", plan_.request.mesh));
  }

  std::string facts() const {
    std::string text =
        fmt::format("WEIGHTS_FILE = {}\n", script_.weights.empty() ? emit::py("") : emit::py(script_.weights_file));
    std::vector<std::string> inputs, outputs;
    for (const ValueId id : network_.graph.inputs)
      inputs.push_back(fmt::format("{}: {}", emit::py(value(id)), shape_tuple(id)));
    for (const ValueId id : network_.graph.outputs) {
      const auto pixels = network_.pixels.find(id);
      outputs.push_back(fmt::format("{}: ({}, {})", emit::py(value(id)), shape_tuple(id),
                                    pixels == network_.pixels.end() ? 1 : pixels->second));
    }
    std::vector<std::string> folds;
    for (const auto& [id, f] : network_.folds)
      folds.push_back(fmt::format("{}: ({}, {}, {}, {}, {}, {})", emit::py(value(id)), f.height, f.width, f.by_h,
                                  f.by_w, f.top, f.left));
    text += emit::py_call(0, "INPUTS = {", inputs, "}");
    text += fmt::format("PASS = {}  # images that go through the layers at a time; 0: all\n",
                        plan_.pass_images * plan_.request.mesh);
    text += fmt::format("IMAGES = {}  # of those, side by side in channels\n", plan_.grouped_images);
    text += emit::py_call(0, "FOLDS = {", folds, "}  # height, width, pixels in one, padding above and left");
    std::vector<std::string> places;
    for (const tensix::CardPlan::Input& input : plan_.placed_inputs)
      places.push_back(fmt::format("{}: {}", emit::py(input.value), py_memory(input.memory)));
    text += emit::py_call(0, "PLACES = {", places, "}");
    text += emit::py_call(0, "OUTPUTS = {", outputs, "}");
    text += fmt::format(
        "INPUT_DTYPE = ttnn.bfloat16\nCARDS = {}\nL1_SMALL = {}\nTRACE, QUEUES, TRACE_REGION = {}, {}, {}\n\n",
        plan_.request.mesh, plan_.request.l1_small_bytes, emit::py(plan_.metal_trace), plan_.command_queues,
        plan_.metal_trace ? kTraceRegionBytes : 0);
    return text;
  }

  // Of all cards together: each has a batch of its own.
  std::string shape_tuple(ValueId id) const {
    std::vector<std::int64_t> extents;
    const Shape shape = given_.graph.value(id).type.shape();
    for (int d = 0; d < shape.rank(); ++d) extents.push_back(d == 0 ? shape[d] * plan_.request.mesh : shape[d]);
    return emit::py_tuple(extents);
  }

  const Placement& place(const std::string& name) const {
    const auto found = places_.find(name);
    check(found != places_.end(), Code::invalid_argument, "the plan reads '{}' before it is there", name);
    return found->second;
  }
  bool is_tiled(const std::string& name) const { return place(name).layout == Layout::tile; }

  // Nobody reads it later, and its memory is its own.
  bool may_consume(const std::string& name) const {
    if (std::find(frees_.begin(), frees_.end(), name) == frees_.end()) return false;
    const std::string& owner = owner_.at(name);
    return std::count_if(owner_.begin(), owner_.end(), [&](const auto& each) { return each.second == owner; }) == 1;
  }

  static std::string at(const std::string& name) { return fmt::format("v[{}]", emit::py(name)); }
  static std::string dram(const std::string& x) { return fmt::format("ttnn.to_memory_config({}, DRAM)", x); }
  static std::string in_layout(const std::string& x, Layout layout) {
    return fmt::format("ttnn.to_layout({}, {})", x, py_layout(layout));
  }
  std::string tiles(const std::string& name) const {
    return is_tiled(name) ? at(name) : in_layout(at(name), Layout::tile);
  }

  std::string layer_text(const PlannedStep& step) {
    const auto found = nodes_.find(step.node);
    check(found != nodes_.end(), Code::invalid_argument, "the plan has a step '{}', which the network has not",
          step.node);
    const LoweredNode& node = *found->second;
    std::string text;
    for (const PlannedMove& move : step.moves) {
      text += fmt::format("\n@layer({}, {}, l1={})\ndef _(v):\n", emit::py(move.value),
                          emit::py(tensix::name(move.kind)), move.l1_peak_bytes);
      if (!move.why.empty()) text += fmt::format("    # {}\n", emit::py_comment(move.why));
      text += move.kind == PlannedMove::Kind::slide
                  ? fmt::format("    v[{0}] = ttnn.move(v[{0}])\n\n", emit::py(move.value))
                  : fmt::format("    v[{0}] = ttnn.to_memory_config(v[{0}], {1})\n\n", emit::py(move.value),
                                py_memory(move.to));
      places_[move.value].memory = move.to;
      owner_[move.value] = fmt::format("{} before {}", move.value, step.node);
    }
    inputs_.clear();
    for (const ValueId id : node.inputs) inputs_.push_back(value(id));
    const std::string result = value(node.outputs[0]);
    result_ = at(result);
    in_place_of_.reset();
    config_ = step.config;
    frees_ = step.frees;
    std::string body = std::visit([&](const auto& layer) { return call(node, layer); }, node.layer);
    const bool conv = std::holds_alternative<tensix::ConvLayer>(node.layer);
    if (!conv && step.config.memory == BufferType::dram)
      body += fmt::format("    {0} = ttnn.to_memory_config({0}, DRAM)\n", at(result));
    const Placement& y = step.result;
    std::vector<std::string> head{emit::py(step.node), emit::py(step.op),
                                  fmt::format("l1={}", step.predicted.l1_peak_bytes),
                                  fmt::format("makes=({}, {}, {}, {}, {})", emit::py(result), emit::py_list(y.shape),
                                              py_dtype(y.dtype), py_layout(y.layout), py_memory(y.memory))};
    if (!step.frees.empty()) {
      std::string gone;
      for (const std::string& name : step.frees) gone += (gone.empty() ? "" : ", ") + emit::py(name);
      head.push_back(fmt::format("frees=[{}]", gone));
    }
    text += emit::py_call(0, "\n@layer(", head);
    text += "def _(v):\n";
    if (!step.why.empty()) text += fmt::format("    # {}\n", emit::py_comment(step.why));
    text += body + "\n";
    places_[result] = y;
    owner_[result] = in_place_of_ ? owner_.at(*in_place_of_) : result;
    for (const std::string& name : step.frees) owner_.erase(name);
    return text;
  }

  std::string assign(const std::string& function, const std::vector<std::string>& arguments) const {
    return emit::py_call(4, fmt::format("{} = {}(", result_, function), arguments);
  }

  ComputeConfig compute() const {
    ComputeConfig compute;
    config_.apply_to(compute);
    return compute;
  }
  DType result_dtype() const { return config_.dtype.value_or(DType::bfloat16); }
  DType weights_dtype() const { return config_.weights_dtype.value_or(DType::bfloat8_b); }

  void keep_weight(const std::string& name, const tensix::Constant& array, std::vector<std::int64_t> shape) {
    script_.weights.push_back({name, std::move(shape), array});
  }

  std::string call(const LoweredNode& node, const tensix::ConvLayer& layer) {
    const tensix::Conv2dProblem& p = layer.problem;
    const tensix::Window& w = p.window;
    std::vector<std::int64_t> shape;
    for (int d = 0; d < 4; ++d) shape.push_back(layer.weights->shape()[d]);
    keep_weight(node.name + ".weight", layer.weights, shape);
    if (layer.bias) keep_weight(node.name + ".bias", layer.bias, {p.out_channels});
    const std::string& x = inputs_[0];
    // Slices come from DRAM.
    std::string input = at(x), text;
    if (config_.height_slices && places_.at(x).memory != kDramMemoryConfig) {
      text = fmt::format("    {0} = {1}\n", at(x), dram(at(x)));
      places_[x].memory = kDramMemoryConfig;
      owner_[x] = fmt::format("{} for {}", x, node.name);
    }
    std::vector<std::string> arguments{
        input,
        emit::py(node.name),
        fmt::format("image=({}, {}, {})", p.batch, p.height, p.width),
        fmt::format("channels={}", pair(p.in_channels, p.out_channels)),
        fmt::format("kernel={}", pair(w.kernel_h, w.kernel_w)),
        fmt::format("stride={}", pair(w.stride_h, w.stride_w)),
        fmt::format("padding={}", padding_of(w)),
        fmt::format("dilation={}", pair(w.dilation_h, w.dilation_w)),
        fmt::format("groups={}", p.groups),
        fmt::format("dtype={}", py_dtype(result_dtype())),
        fmt::format("compute_config={}", py_compute(compute())),
    };
    if (layer.transposed)
      arguments.push_back(fmt::format("output_padding={}", pair(layer.output_pad_h, layer.output_pad_w)));
    if (config_.height_slices)
      arguments.push_back(fmt::format("slices=dict(slice_type=ttnn.Conv2dDRAMSlice{}, num_slices={})",
                                      *config_.height_slices ? "Height" : "Width", config_.slices));
    if (config_.memory == BufferType::dram) arguments.push_back("memory_config=DRAM");
    std::string config = emit::py_call(8, "config=dict(", conv_fields(layer));
    arguments.push_back(config.substr(8, config.size() - 9));
    return text + assign("convolution", arguments);
  }

  // All that differs from what a Conv2dConfig is by itself.
  std::vector<std::string> conv_fields(const tensix::ConvLayer& layer) const {
    Conv2dConfig c;
    c.weights_dtype = weights_dtype();
    c.activation = layer.activation;
    c.reshard_if_not_optimal = true;
    config_.apply_to(c);
    const Conv2dConfig plain;
    if (!config_.gives("deallocate_activation"))
      c.deallocate_activation = may_consume(inputs_[0]) && place(inputs_[0]).memory.is_l1();
    std::vector<std::string> out;
    const auto flag = [&](const char* name, bool value, bool normal) {
      if (value != normal) out.push_back(fmt::format("{}={}", name, emit::py(value)));
    };
    const auto number = [&](const char* name, std::int64_t value, std::int64_t normal) {
      if (value != normal) out.push_back(fmt::format("{}={}", name, value));
    };
    if (c.weights_dtype) out.push_back(fmt::format("weights_dtype={}", py_dtype(*c.weights_dtype)));
    if (c.activation) out.push_back(fmt::format("activation={}", py_function(tensix::vector_function(*c.activation))));
    if (c.shard_layout) out.push_back(fmt::format("shard_layout=ttnn.TensorMemoryLayout.{}", name(*c.shard_layout)));
    if (c.core_grid) out.push_back(fmt::format("core_grid={}", py_cores(*c.core_grid)));
    number("act_block_h_override", c.act_block_h_override, plain.act_block_h_override);
    number("act_block_w_div", c.act_block_w_div, plain.act_block_w_div);
    flag("deallocate_activation", c.deallocate_activation, plain.deallocate_activation);
    flag("reallocate_halo_output", c.reallocate_halo_output, plain.reallocate_halo_output);
    flag("config_tensors_in_dram", c.config_tensors_in_dram, plain.config_tensors_in_dram);
    flag("reshard_if_not_optimal", c.reshard_if_not_optimal, plain.reshard_if_not_optimal);
    flag("override_sharding_config", c.override_sharding_config, plain.override_sharding_config);
    flag("transpose_shards", c.transpose_shards, plain.transpose_shards);
    if (c.output_layout != plain.output_layout) out.push_back("output_layout=ROWS");
    flag("enable_act_double_buffer", c.enable_act_double_buffer, plain.enable_act_double_buffer);
    flag("enable_weights_double_buffer", c.enable_weights_double_buffer, plain.enable_weights_double_buffer);
    flag("full_inner_dim", c.full_inner_dim, plain.full_inner_dim);
    if (c.enable_kernel_stride_folding)
      flag("enable_kernel_stride_folding", *c.enable_kernel_stride_folding, !*c.enable_kernel_stride_folding);
    flag("enable_activation_reuse", c.enable_activation_reuse, plain.enable_activation_reuse);
    if (c.force_split_reader) flag("force_split_reader", *c.force_split_reader, !*c.force_split_reader);
    flag("override_output_sharding_config", c.override_output_sharding_config, plain.override_output_sharding_config);
    return out;
  }

  std::string call(const LoweredNode&, const tensix::PoolLayer& layer) {
    const tensix::PoolValues& p = layer.pool;
    const tensix::Window& w = p.window;
    const std::string& x = inputs_[0];
    const bool tiled = config_.gives("output_layout") && config_.conv.output_layout == Layout::tile;
    std::vector<std::string> arguments{
        at(x),
        fmt::format("batch_size={}", p.batch),
        fmt::format("input_h={}", p.height),
        fmt::format("input_w={}", p.width),
        fmt::format("channels={}", p.channels),
        fmt::format("kernel_size=[{}, {}]", w.kernel_h, w.kernel_w),
        fmt::format("stride=[{}, {}]", w.stride_h, w.stride_w),
        fmt::format("padding=[{}, {}, {}, {}]", w.top, w.bottom, w.left, w.right),
    };
    if (layer.maximum) arguments.push_back(fmt::format("dilation=[{}, {}]", w.dilation_h, w.dilation_w));
    arguments.push_back(fmt::format("ceil_mode={}", emit::py(p.ceil_mode)));
    if (!layer.maximum) {
      arguments.push_back(fmt::format("count_include_pad={}", emit::py(p.count_include_pad)));
      arguments.push_back(fmt::format("compute_kernel_config={}", py_compute(compute())));
    }
    if (config_.gives("shard_layout") && config_.conv.shard_layout)
      arguments.push_back(
          fmt::format("applied_shard_scheme=ttnn.TensorMemoryLayout.{}", name(*config_.conv.shard_layout)));
    if (config_.gives("reallocate_halo_output"))
      arguments.push_back(fmt::format("reallocate_halo_output={}", emit::py(config_.conv.reallocate_halo_output)));
    if (may_consume(x) && place(x).memory.is_l1()) arguments.push_back("deallocate_input=True");
    if (tiled) arguments.push_back("output_layout=TILE");
    arguments.push_back(fmt::format("dtype={}", py_dtype(tiled ? result_dtype() : DType::bfloat16)));
    return assign(layer.maximum ? "ttnn.max_pool2d" : "ttnn.avg_pool2d", arguments);
  }

  // What a plan left in DRAM is read from there.
  std::string near_tiles(const std::string& x) const {
    const MemoryConfig& memory = place(x).memory;
    const std::string moved =
        memory.is_dram() || memory == kL1MemoryConfig ? at(x) : fmt::format("ttnn.to_memory_config({}, L1)", at(x));
    return is_tiled(x) ? moved : in_layout(moved, Layout::tile);
  }

  std::string call(const LoweredNode& node, const tensix::LinearLayer& layer) {
    const std::int64_t n = network_.matrix(node.outputs[0]).width, k = layer.weights->count() / n;
    keep_weight(node.name + ".weight", linear_weights(layer, n), {1, 1, k, n});
    std::vector<std::string> arguments{
        near_tiles(inputs_[0]),
        fmt::format("weights({}, {})", emit::py(node.name + ".weight"), py_dtype(weights_dtype())),
    };
    if (layer.bias) {
      keep_weight(node.name + ".bias", layer.bias, {1, 1, 1, n});
      arguments.push_back(
          fmt::format("bias=weights({}, {})", emit::py(node.name + ".bias"), py_dtype(weights_dtype())));
    }
    arguments.push_back(fmt::format("dtype={}", py_dtype(result_dtype())));
    arguments.push_back(fmt::format("compute_kernel_config={}", py_compute(compute())));
    return assign("ttnn.linear", arguments);
  }

  std::string call(const LoweredNode& node, const tensix::BinaryLayer& layer) {
    std::vector<std::string> more{fmt::format("dtype={}", py_dtype(result_dtype()))};
    if (layer.activation) more.push_back(fmt::format("activations=[{}]", py_function(*layer.activation)));
    std::vector<std::string> operands;
    if (layer.constant) {
      std::string x = tiles(inputs_[0]), other;
      const auto values = layer.constant->as<float>();
      if (values.size() == 1) {
        other = emit::py(double{values[0]});
      } else {
        keep_weight(node.name + ".constant", layer.constant, {1, 1, 1, static_cast<std::int64_t>(values.size())});
        other = fmt::format("weights({}, ttnn.bfloat16)", emit::py(node.name + ".constant"));
        more.push_back(fmt::format("memory_config={}.memory_config()", at(inputs_[0])));
      }
      operands = layer.constant_first ? std::vector{other, x} : std::vector{x, other};
    } else {
      // Rows of a pool may lie in shards that are no whole tiles.
      for (const std::string& x : inputs_)
        operands.push_back(is_tiled(x) ? at(x)
                                       : in_layout(place(x).memory.is_sharded() ? dram(at(x)) : at(x), Layout::tile));
      const Placement &a = place(inputs_[0]), &b = place(inputs_[1]);
      if (is_tiled(inputs_[0]) && is_tiled(inputs_[1]) && a.shape == b.shape && a.dtype == result_dtype() &&
          a.memory == b.memory && a.memory.is_l1() && may_consume(inputs_[0])) {
        more.push_back(fmt::format("output_tensor={}", at(inputs_[0])));
        in_place_of_ = inputs_[0];
      }
    }
    operands.insert(operands.end(), more.begin(), more.end());
    return assign(fmt::format("ttnn.{}", node.op), operands);
  }

  std::string call(const LoweredNode& node, const tensix::UnaryLayer& layer) {
    const tensix::VectorFunction& f = layer.function;
    std::vector<std::string> arguments{at(inputs_[0])};
    if (f.kind == tensix::VectorFunction::Kind::clamp) {
      arguments.push_back(emit::py(double{f.low}));
      arguments.push_back(emit::py(double{f.high}));
    } else if (f.name == "leaky_relu") {
      arguments.push_back(fmt::format("negative_slope={}", emit::py(double{f.activation.function.alpha})));
    } else if (f.name == "elu") {
      arguments.push_back(fmt::format("alpha={}", emit::py(double{f.activation.function.alpha})));
    }
    if (may_consume(inputs_[0])) {
      arguments.push_back(fmt::format("output_tensor={}", at(inputs_[0])));
      in_place_of_ = inputs_[0];
    }
    return assign(fmt::format("ttnn.{}", node.op), arguments);
  }

  std::string call(const LoweredNode&, const tensix::ConcatLayer& layer) {
    std::vector<std::string> parts;
    const std::string dim = layer.channels ? "dim=3" : "dim=2";
    std::vector<TensorSpec> specs;
    for (const std::string& x : inputs_)
      specs.emplace_back(place(x).shape, place(x).dtype, place(x).layout, place(x).memory);
    if (const auto joined = tensix::join_in_shards(specs, layer, config_)) return join(layer, *joined);
    check(layer.groups == 1, Code::invalid_argument, Hint{"make the plan again"},
          "the plan joins {} groups of channels of tensors that do not lie in like shards", layer.groups);
    const bool rows = std::any_of(inputs_.begin(), inputs_.end(), [&](const auto& x) { return !is_tiled(x); });
    for (const std::string& x : inputs_) {
      std::string part = place(x).memory == kDramMemoryConfig ? at(x) : dram(at(x));
      if (rows && is_tiled(x)) part = in_layout(part, Layout::row_major);
      if (!rows && place(x).dtype != result_dtype())
        part = fmt::format("ttnn.typecast({}, {})", part, py_dtype(result_dtype()));
      parts.push_back(part);
    }
    std::string text = assign("ttnn.concat", {fmt::format("[{}]", fmt::join(parts, ", ")), dim});
    if (rows && is_block_float(result_dtype()))
      text += fmt::format("    {0} = ttnn.to_layout({0}, TILE, {1})\n", result_, py_dtype(result_dtype()));
    return text;
  }

  // Where they lie. Copies take the place of what nobody else reads.
  std::string join(const tensix::ConcatLayer& layer, const tensix::JoinedParts& joined) {
    std::string text;
    std::vector<std::string> parts;
    for (const std::string& x : inputs_) {
      if (place(x).layout == joined.layout && place(x).dtype == joined.dtype) {
        parts.push_back(at(x));
        continue;
      }
      const bool rows = joined.layout == Layout::row_major;
      const std::string copy = rows ? in_layout(at(x), Layout::row_major)
                               : is_tiled(x)
                                   ? fmt::format("ttnn.typecast({}, {})", at(x), py_dtype(joined.dtype))
                                   : fmt::format("ttnn.to_layout({}, TILE, {})", at(x), py_dtype(joined.dtype));
      const std::string kept = may_consume(x) ? at(x) : fmt::format("part{}", parts.size());
      text += fmt::format("    {} = {}\n", kept, copy);
      parts.push_back(kept);
    }
    std::vector<std::string> arguments{fmt::format("[{}]", fmt::join(parts, ", ")), "dim=3",
                                       fmt::format("memory_config={}", py_memory(joined.memory))};
    if (layer.groups > 1) arguments.push_back(fmt::format("groups={}", layer.groups));
    return text + assign("ttnn.concat", arguments);
  }

  std::string call(const LoweredNode& node, const tensix::SliceLayer& layer) {
    const Extent2d in = network_.matrix(node.inputs[0]);
    return assign("ttnn.slice", {at(inputs_[0]), fmt::format("[0, 0, 0, {}]", layer.begin),
                                 fmt::format("[1, 1, {}, {}]", in.height, layer.end), "[1, 1, 1, 1]"});
  }

  std::string call(const LoweredNode& node, const tensix::UpsampleLayer& layer) {
    const Extent2d out = network_.matrix(node.outputs[0]);
    const std::string& x = inputs_[0];
    const std::string rows = is_tiled(x) ? in_layout(at(x), Layout::row_major) : at(x);
    const std::string image =
        fmt::format("ttnn.reshape({}, [{}, {}, {}, {}])", rows, layer.batch, layer.height, layer.width, layer.channels);
    std::string text = emit::py_call(
        4, "y = ttnn.upsample(",
        {image, fmt::format("[{}, {}]", layer.scale_h, layer.scale_w),
         fmt::format("mode={}",
                     layer.mode == tensix::UpsampleMode::nearest ? emit::py("nearest") : emit::py("bilinear")),
         fmt::format("compute_kernel_config={}", py_compute(tensix::upsample_compute(compute(), layer.mode)))});
    return text + assign("ttnn.reshape", {"y", fmt::format("[1, 1, {}, {}]", out.height, out.width)});
  }

  std::string call(const LoweredNode&, const tensix::SoftmaxLayer&) {
    return assign("ttnn.softmax",
                  {near_tiles(inputs_[0]), "dim=-1", fmt::format("compute_kernel_config={}", py_compute(compute()))});
  }

  std::string call(const LoweredNode&, const tensix::ViewLayer&) {
    in_place_of_ = inputs_[0];
    return fmt::format("    {} = {}\n", result_, at(inputs_[0]));
  }

  std::string call(const LoweredNode& node, const tensix::FlattenLayer&) {
    const Extent2d out = network_.matrix(node.outputs[0]);
    const std::string& x = inputs_[0];
    const std::string far = place(x).memory == kDramMemoryConfig ? at(x) : dram(at(x));
    return assign("ttnn.reshape", {is_tiled(x) ? in_layout(far, Layout::row_major) : far,
                                   fmt::format("[1, 1, {}, {}]", out.height, out.width)});
  }

  std::string call(const LoweredNode& node, const tensix::HostLayer&) {
    fail(Code::internal, "'{}' runs on the host", node.name);
  }

  const tensix::LoweredGraph& given_;
  const tensix::LoweredGraph network_;
  const tensix::CardPlan& plan_;
  emit::Script script_;
  std::map<std::string, const LoweredNode*> nodes_;
  std::map<std::string, Placement> places_;
  std::map<std::string, std::string> owner_;  // of live values: whose memory it is
  std::vector<std::string> inputs_;           // of the step that is written
  std::vector<std::string> frees_;            // after it
  std::string result_;                        // what it makes, in Python
  std::optional<std::string> in_place_of_;
  LayerConfig config_;
};

}  // namespace

emit::Script ttnn_script(const tensix::LoweredGraph& network, const tensix::CardPlan& plan,
                         const std::string& weights_file) {
  return Writer(network, plan, weights_file).run();
}

}  // namespace tessera::tensix
