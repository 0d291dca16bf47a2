// A convolution of a network: the configuration a TTNN user would begin with, and what to try when it does not fit.

#include "tessera/core/tensor.h"
#include "tessera/targets/tensix/network/simulation_run.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/ops/conv_transpose2d/conv_transpose2d.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tessera::tensix {
namespace {

constexpr int kBlockHeights[] = {1024, 512, 256, 128, 64, 32};
constexpr TensorMemoryLayout kLayouts[] = {TensorMemoryLayout::height_sharded, TensorMemoryLayout::block_sharded,
                                           TensorMemoryLayout::width_sharded};

// Without values nobody reads it.
Conv2dOperand host_tensor(const Array& x, const Shape& shape, bool values) {
  return values ? Tensor::from_float32(x.as<float>(), shape, DType::float32, Layout::row_major)
                : Tensor(shape, DType::float32, Layout::row_major);
}

// Which shards TTNN would choose for this image if it were in DRAM.
std::optional<TensorMemoryLayout> natural_layout(Conv2dProblem p, const TensixSpec& card) {
  p.input_memory = kDramMemoryConfig;
  p.config.shard_layout.reset();
  p.config.reshard_if_not_optimal = p.config.override_sharding_config = false;
  return plan_conv2d(p, card).problem.config.shard_layout;
}

std::string config_text(const Conv2dPlan& plan, const Conv2dConfig& config) {
  if (plan.interleaved) return "interleaved";
  std::string text =
      fmt::format("{} {}x{}", name(plan.output.layout), plan.output_shard.height, plan.output_shard.width);
  if (!plan.as_matmul) text += fmt::format(", act_block_h {}", plan.act_block_h * 32);
  if (plan.moves_input) text += plan.problem.input_memory.is_sharded() ? ", reshard" : ", shard";
  if (config.enable_act_double_buffer) text += ", act x2";
  if (config.enable_weights_double_buffer) text += ", weights x2";
  if (config.config_tensors_in_dram) text += ", lists in DRAM";
  return text;
}

class ConvRun {
 public:
  ConvRun(SimulationRun& run, const LoweredNode& node, const ConvLayer& layer)
      : run_(run),
        layer_(layer),
        input_(node.inputs[0]),
        own_(config_of(run.options.layers, node.name)),
        operands_(run.operands != nullptr ? *run.operands : own_operands_),
        weights_(operand(*layer.weights, layer.weights->shape())),
        problem_(layer.problem) {
    if (layer.bias) bias_ = operand(*layer.bias, Shape{1, 1, 1, problem_.out_channels});
    problem_.output_dtype = own_.dtype.value_or(run.options.dtype);
    problem_.compute = run.options.compute;
    own_.apply_to(problem_.compute);
    config_.weights_dtype = own_.weights_dtype.value_or(run.options.weights_dtype);
    config_.activation = layer.activation;
    config_.reshard_if_not_optimal = true;
    own_.apply_to(config_);
    if (own_.memory == BufferType::dram) options_.memory_config = kDramMemoryConfig;
  }

  DeviceTensor run() {
    if (run_.strict) return own_.height_slices ? sliced(slice_type(*own_.height_slices)) : once(config_);
    if (own_.height_slices) return run_.fit({}, [&] { return sliced(slice_type(*own_.height_slices)); });
    Result<DeviceTensor> first = run_.try_fit(kept(), [&] { return once(config_); });
    if (first) return std::move(first).value();
    // A configuration that cannot be is the user's to mend; what we chose ourselves may be tried otherwise.
    const Refusal& refusal = first.refusal();
    if (!refusal.out_of_memory() && !own_.conv_fields.empty()) raise(refusal);
    run_.note(refusal.reason());
    if (std::optional<DeviceTensor> y = otherwise(refusal.shortage)) return *y;
    raise(refusal);
  }

 private:
  const Conv2dOperand& operand(const Array& x, const Shape& shape) {
    const auto found = operands_.find(&x);
    if (found != operands_.end()) return found->second;
    return operands_.emplace(&x, host_tensor(x, shape, run_.device->options().values)).first->second;
  }

  static Conv2dSliceType slice_type(bool height) {
    return height ? Conv2dSliceType::dram_height : Conv2dSliceType::dram_width;
  }

  // An input that goes with this call makes room by itself.
  std::vector<ValueId> kept() const {
    return run_.values.may_consume(input_) ? std::vector<ValueId>{input_} : std::vector<ValueId>{};
  }

  Conv2dProblem complete(const Conv2dConfig& config, bool whole = true) const {
    const DeviceTensor& x = run_.values.at(input_);
    Conv2dProblem p = problem_;
    p.input_dtype = x.spec().dtype();
    p.input_layout = x.spec().layout();
    p.input_memory = x.spec().memory_config();
    p.weights_dtype = *config.weights_dtype;
    p.config = config;
    if (!own_.gives("deallocate_activation"))
      p.config.deallocate_activation = run_.values.may_consume(input_) && p.input_memory.is_l1();
    if (whole && !p.config.shard_layout)
      p.config.shard_layout =
          natural_layout(layer_.transposed ? transposed(p).as_convolution() : p, run_.device->card());
    return p;
  }

  ConvTranspose2dProblem transposed(const Conv2dProblem& p) const {
    return {p, layer_.output_pad_h, layer_.output_pad_w};
  }

  DeviceTensor call(const Conv2dProblem& p, const Conv2dOptions& options) {
    const DeviceTensor& x = run_.values.at(input_);
    const Conv2dResult result = layer_.transposed ? conv_transpose2d(x, weights_, bias_, transposed(p), options)
                                                  : conv2d(x, weights_, bias_, p, options);
    run_.weights.push_back(result.weights);
    if (result.bias) run_.weights.push_back(*result.bias);
    run_.step.config = config_text(result.plan, p.config);
    run_.step.act_block_h = result.plan.interleaved || result.plan.as_matmul ? 0 : result.plan.act_block_h * 32;
    run_.step.reshards_input =
        !result.plan.interleaved && result.plan.moves_input && result.plan.problem.input_memory.is_sharded();
    run_.step.cores = result.plan.output.cores.num_cores();
    run_.conv_plan = result.plan;
    return result.output;
  }

  DeviceTensor once(const Conv2dConfig& config) { return call(complete(config), options_); }

  // None: too large, or a combination that does not exist.
  std::optional<DeviceTensor> with(const Conv2dConfig& config) {
    const Result<Conv2dProblem> problem = attempt([&] { return complete(config); });
    if (!problem) return std::nullopt;
    // Cheaper than to prepare weights and find out.
    if (!layer_.transposed && !rehearse_conv2d(run_.values.at(input_), weights_, bias_, *problem, options_))
      return std::nullopt;
    Result<DeviceTensor> y = attempt([&] { return call(*problem, options_); });
    return y ? std::optional(std::move(y).value()) : std::nullopt;
  }

  // From DRAM to DRAM, piece by piece.
  DeviceTensor sliced(Conv2dSliceType type) {
    const DeviceTensor& x = run_.values.at(input_);
    if (x.spec().memory_config() != kDramMemoryConfig) run_.values.put(input_, to_memory_config(x, kDramMemoryConfig));
    Conv2dOptions options = options_;
    options.slice = Conv2dSliceConfig{type, own_.slices};
    const DeviceTensor y = call(complete(config_, false), options);
    run_.step.config += type == Conv2dSliceType::dram_height ? ", DRAM_HEIGHT slices" : ", DRAM_WIDTH slices";
    return y;
  }

  // Fields that the user has set stay.
  std::optional<DeviceTensor> otherwise(Shortage shortage) {
    Conv2dConfig base = config_;
    if (shortage == Shortage::l1_small) {
      if (own_.gives("config_tensors_in_dram")) return std::nullopt;
      base.config_tensors_in_dram = true;
      if (auto y = with(base)) return y;
    }
    if (auto y = with_blocks(base)) return y;
    if (!own_.gives("shard_layout") && !own_.gives("override_sharding_config"))
      for (const TensorMemoryLayout layout : kLayouts) {
        base.shard_layout = layout;
        if (auto y = with_blocks(base)) return y;
      }
    const bool height = natural_slice_type(problem_) == Conv2dSliceType::dram_height;
    for (const bool along_height : {height, !height}) {
      Result<DeviceTensor> y = attempt([&] { return sliced(slice_type(along_height)); });
      if (y) return std::move(y).value();
    }
    return std::nullopt;
  }

  std::optional<DeviceTensor> with_blocks(Conv2dConfig config) {
    if (auto y = with(config)) return y;
    if (own_.gives("act_block_h_override")) return std::nullopt;
    for (const int height : kBlockHeights) {
      config.act_block_h_override = height;
      if (auto y = with(config)) return y;
    }
    return std::nullopt;
  }

  SimulationRun& run_;
  const ConvLayer& layer_;
  ValueId input_;
  LayerConfig own_;
  HostOperands own_operands_;
  HostOperands& operands_;
  const Conv2dOperand& weights_;
  std::optional<Conv2dOperand> bias_;
  Conv2dProblem problem_;
  Conv2dConfig config_;
  Conv2dOptions options_;
};

}  // namespace

DeviceTensor run_conv(SimulationRun& run, const LoweredNode& node, const ConvLayer& layer) {
  return ConvRun(run, node, layer).run();
}

}  // namespace tessera::tensix
