#include "tessera/targets/tensix/ops/conv2d/conv2d.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/operand_facts.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_call.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_parallel.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_values.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tessera::tensix {
namespace {

void check_input(const DeviceTensor& x, const Conv2dProblem& spread, std::int64_t spread_h, std::int64_t spread_w) {
  x.check_allocated();
  Conv2dProblem p = spread;
  p.height = (p.height - 1) / spread_h + 1;
  p.width = (p.width - 1) / spread_w + 1;
  const Shape flat{1, 1, p.batch * p.height * p.width, p.in_channels};
  const Shape image{p.batch, p.height, p.width, p.in_channels};
  check(x.spec().logical_shape() == flat || x.spec().logical_shape() == image, Code::invalid_argument,
        "conv2d: the input of {} images of {}x{} with {} channels has shape {} or {}, not {}", p.batch, p.height,
        p.width, p.in_channels, image.to_string(), flat.to_string(), x.spec().logical_shape().to_string());
}

DType dtype_of(const Conv2dOperand& operand) {
  if (const Tensor* host = std::get_if<Tensor>(&operand)) return host->dtype();
  return std::get<DeviceTensor>(operand).spec().dtype();
}

const DeviceTensor* on_card(const Conv2dOperand& operand) { return std::get_if<DeviceTensor>(&operand); }

void check_prepared(const DeviceTensor& x, const Device& device, const Shape& shape, std::string_view what) {
  x.check_allocated();
  check(x.device().get() == &device, Code::invalid_argument, "conv2d: the {} are on another device", what);
  check(x.spec().logical_shape() == shape && x.spec().layout() == Layout::tile, Code::invalid_argument,
        Hint{"weights and bias depend on the plan: prepare them again, or give them on the host"},
        "conv2d: this plan reads prepared {} of shape {} in TILE layout, these have shape {} in {}", what,
        shape.to_string(), x.spec().logical_shape().to_string(), name(x.spec().layout()));
}

// Sends or takes over weights and bias, whatever the plan reads.
void take_operands(Conv2dCall& call, Conv2dStepsInput& in, const Conv2dOperand& weights,
                   const std::optional<Conv2dOperand>& bias, const Device& device, bool send) {
  const Conv2dPlan& plan = call.plan;
  // A slice has its own image; the weights are the same for all.
  Conv2dProblem problem = call.sliced ? plan.problem : call.problem;
  if (const DeviceTensor* there = on_card(weights)) {
    check_prepared(*there, device, {1, 1, plan.weight_matrix.height, plan.weight_matrix.width}, "weights");
    in.weights = *there;
  } else if (send) {
    check_conv_weights(std::get<Tensor>(weights).shape(), problem);
    if (device.options().values)
      call.weights = prepare_conv_weights(std::get<Tensor>(weights), problem, plan, problem.weights_dtype);
  }
  if (!bias) return;
  if (const DeviceTensor* there = on_card(*bias)) {
    check_prepared(*there, device, {1, 1, 1, plan.weight_matrix.width}, "bias");
    in.bias = *there;
  } else if (send) {
    check_conv_bias(std::get<Tensor>(*bias).shape(), problem);
    if (device.options().values)
      call.bias = prepare_conv_bias(std::get<Tensor>(*bias), problem, plan, problem.weights_dtype);
  }
}

// The steps of a call in slices, or none where there is no need to slice.
class SlicedCall {
 public:
  SlicedCall(Conv2dCall& call, Conv2dStepsInput in, const DeviceTensor& input, const Conv2dOperand& weights,
             const std::optional<Conv2dOperand>& bias, bool send)
      : call_(call), in_(std::move(in)), input_(input), weights_(weights), bias_(bias), send_(send) {}

  void cut(Conv2dSliceType type, std::int64_t count) {
    std::vector<Conv2dProblem> slices = slice_conv2d(call_.problem, type, count, in_.spread_h, in_.spread_w);
    const Device& device = *input_.device();
    call_.sliced = true;
    call_.steps = MemorySteps(input_.device());
    Conv2dSlots slots;
    slots.input = call_.steps.existing(input_);
    const Conv2dProblem& p = call_.problem;
    const Shape flat{1, 1, p.batch * p.out_h() * p.out_w(), p.out_channels};
    const TensorSpec whole({p.batch, p.out_h(), p.out_w(), p.out_channels}, p.output_dtype, p.config.output_layout,
                           kDramMemoryConfig);
    slots.output = call_.steps.allocate(whole, "output");
    for (std::size_t i = 0; i < slices.size(); ++i) {
      if (i > 0) slices[i].config.shard_layout = call_.plan.problem.config.shard_layout;
      keep_cores(slices[i], device.card());
      plans_.push_back(plan_of(slices[i], device.card()));
      in_.cut_into = cut_plan(slices[i], device.card());
      if (i == 0) {
        call_.plan = plans_.front();
        take_operands(call_, in_, weights_, bias_, device, send_);
      }
      check(plans_.back().weight_matrix == call_.plan.weight_matrix, Code::unsupported,
            Hint{"take another number of slices, or a fixed shard_layout"},
            "conv2d: slice {} reads weights of {}x{}, the first one of {}x{}", i, plans_.back().weight_matrix.height,
            plans_.back().weight_matrix.width, call_.plan.weight_matrix.height, call_.plan.weight_matrix.width);
      in_.slice_of = slots;
      in_.first_slice = i == 0;
      slots = add_conv2d_steps(call_.steps, plans_.back(), p, in_, device);
    }
    const TensorSpec seen(flat, p.output_dtype, p.config.output_layout, kDramMemoryConfig);
    if (seen.num_pages() == whole.num_pages()) {
      call_.output_view = seen;
    } else {
      // Rows of the image began tiles of their own.
      const MemorySteps::Slot padded = slots.output;
      slots.output = call_.steps.allocate(seen, "output");
      const std::int64_t bytes = seen.num_pages() * seen.page_bytes();
      const TraceRecord record{ProgramKind::reshape,
                               flat.to_string(),
                               {{MemoryKind::dram, MemoryKind::dram, bytes, seen.num_pages(), 0, 0}},
                               work_on(ProgramKind::reshape, {facts_of(whole), facts_of(seen)})};
      call_.steps.run({.key = "reshape " + whole.to_string(),
                       .lists = {},
                       .circular_buffers = {},
                       .dataflow = false,
                       .record = record});
      call_.steps.free(padded);
    }
    call_.slots = slots;
  }

 private:
  Conv2dPlan plan_of(const Conv2dProblem& slice, const TensixSpec& card) const {
    Conv2dPlan plan = plan_conv2d(slice, card);
    if (in_.spread_h > 1 || in_.spread_w > 1) spread_input_shard(plan, in_.spread_h, in_.spread_w);
    return plan;
  }

  // A slice is cut out of the image into the shards that it would have on the whole card. Only then does it move to
  // the cores that the caller wants.
  std::optional<Conv2dPlan> cut_plan(const Conv2dProblem& slice, const TensixSpec& card) const {
    if (!slice.config.override_sharding_config) return std::nullopt;
    Conv2dProblem free = slice;
    free.config.override_sharding_config = false;
    free.config.core_grid.reset();
    free.config.act_block_h_override = 0;
    return plan_of(free, card);
  }

  // Rows of a slice are dealt to cores without regard to blocks, which then divide what each core has.
  static void keep_cores(Conv2dProblem& slice, const TensixSpec& card) {
    const int asked = slice.config.act_block_h_override;
    if (asked < kTileRows || asked % kTileRows != 0) return;
    slice.config.act_block_h_override = 0;
    const std::int64_t rows = plan_conv2d(slice, card).output_shard.height / kTileRows;
    slice.config.act_block_h_override = static_cast<int>(largest_divisor(rows, asked / kTileRows) * kTileRows);
  }

  static constexpr int kTileRows = 32;
  Conv2dCall& call_;
  Conv2dStepsInput in_;
  const DeviceTensor& input_;
  const Conv2dOperand& weights_;
  const std::optional<Conv2dOperand>& bias_;
  bool send_;
  std::vector<Conv2dPlan> plans_;
};

// Folding may make a product of it.
bool runs_as_product(const Conv2dProblem& problem, const TensixSpec& card) {
  const Result<Conv2dPlan> plan = try_plan_conv2d(problem, card);
  return plan && plan->as_matmul;  // none: too large for one plan, or wrong, which comes out later
}

// The way that was tried last says why.
Refusal no_slices_fit(const Refusal& last) {
  constexpr std::string_view kText = "conv2d: no number of slices fits; the last reason: {}";
  Refusal out = last;
  out.code = Code::out_of_memory;
  out.message = fmt::format(kText, last.text());
  out.lasting_message = fmt::format(kText, last.lasting_reason());
  out.hint = "use smaller blocks (act_block_h_override) or dtypes, or free tensors in L1";
  out.context.clear();
  return out;
}

// As the card computes it; read before the input may be freed.
std::vector<float> compute(const Conv2dCall& call, const DeviceTensor& input, const Conv2dOperand& weights,
                           const std::optional<Conv2dOperand>& bias) {
  const auto values_of = [](const std::optional<Tensor>& host, const Conv2dOperand& given) {
    return host ? host->to_float32() : read_pages(std::get<DeviceTensor>(given)).to_float32();
  };
  // Every slice computes its rows in the same way, so the image is computed as a whole.
  const Conv2dProblem p = call.sliced ? call.problem : multiplied_problem(call.plan);
  const std::vector<float> w = unprepare_conv_weights(values_of(call.weights, weights), call.plan);
  std::vector<float> b;
  if (bias) {
    b = values_of(call.bias, *bias);
    b.resize(static_cast<std::size_t>(p.out_channels));
  }
  std::vector<float> x = read_pages(input).to_float32();
  if (call.plan.folded) x = fold_image(x, call.problem);
  if (call.spread_h > 1 || call.spread_w > 1) x = spread_image(x, call.problem, call.spread_h, call.spread_w);
  Conv2dValues conv = conv2d_values_of(p, call.plan);
  const std::int64_t all = conv.batch, wanted = input.device()->options().valued_images;
  if (wanted == 0 || wanted >= all) return conv2d_values(conv, x, w, b);
  conv.batch = wanted;
  x.resize(x.size() / static_cast<std::size_t>(all) * static_cast<std::size_t>(wanted));
  std::vector<float> y = conv2d_values(conv, x, w, b);
  y.resize(y.size() / static_cast<std::size_t>(wanted) * static_cast<std::size_t>(all));
  return y;
}

}  // namespace

Conv2dCall call_conv2d(const DeviceTensor& input, const Conv2dOperand& weights,
                       const std::optional<Conv2dOperand>& bias, const Conv2dProblem& asked,
                       const Conv2dOptions& options, bool send, std::int64_t spread_h, std::int64_t spread_w) {
  input.device()->check_open();
  const Device& device = *input.device();
  Conv2dCall call(input.device());
  call.spread_h = spread_h;
  call.spread_w = spread_w;
  Conv2dProblem& problem = call.problem;
  problem = asked;
  problem.input_dtype = input.spec().dtype();
  problem.input_layout = input.spec().layout();
  problem.input_memory = input.spec().memory_config();
  problem.has_bias = bias.has_value();
  problem.weights_dtype = on_card(weights) ? dtype_of(weights) : asked.config.weights_dtype.value_or(dtype_of(weights));
  Conv2dStepsInput in;
  in.input = &input;
  in.weights_dtype = problem.weights_dtype;
  in.memory_config = options.memory_config;
  in.spread_h = spread_h;
  in.spread_w = spread_w;

  bool in_tiles = false;
  Conv2dSliceConfig slice = options.slice.value_or(Conv2dSliceConfig{});
  const bool in_dram = problem.input_memory.is_dram();
  const bool plain = spread_h == 1 && spread_w == 1;
  const bool product = in_dram && runs_as_product(problem, device.card());
  if (product || !in_dram) slice = {};
  const bool chosen = !options.slice && in_dram && !product;
  if (chosen) slice.type = natural_slice_type(problem);
  if (slice.type != Conv2dSliceType::l1_full) {
    check_input(input, problem, spread_h, spread_w);
    check(slice.num_slices >= 0, Code::invalid_argument, "conv2d: num_slices is {}", slice.num_slices);
    check(problem.out_h() > 0 && problem.out_w() > 0, Code::invalid_argument,
          "conv2d: a window of {}x{} over an image of {}x{} has no output", problem.window.kernel_h,
          problem.window.kernel_w, problem.height, problem.width);
    if (slice.num_slices > 1) {
      SlicedCall(call, in, input, weights, bias, send).cut(slice.type, slice.num_slices);
      return call;
    }
    if (!in.memory_config) in.memory_config = kDramMemoryConfig;
    in_tiles = true;
  }
  const auto whole = [&] {
    call.sliced = false;
    Conv2dProblem one = problem;
    if (in_tiles) one.config.output_layout = Layout::tile;  // a single slice stays in tiles, as TTNN leaves it
    call.plan = plan_conv2d(one, device.card());
    if (!plain) spread_input_shard(call.plan, spread_h, spread_w);
    check_input(input, problem, spread_h, spread_w);
    take_operands(call, in, weights, bias, device, send);
    call.slots = add_conv2d_steps(call.steps, call.plan, problem, in, device);
  };
  if (slice.type == Conv2dSliceType::l1_full || slice.num_slices == 1) {
    whole();
    return call;
  }
  // As few slices as fit; the other axis where this one cannot be cut finely enough.
  const Conv2dCall fresh = call;
  Refusal last;
  if (const auto planned = attempt(whole); !planned) {
    last = planned.refusal();
    if (!last.out_of_memory()) raise(last);
  } else {
    const Result<MemoryStory> story = call.steps.rehearse();
    if (story) return call;
    last = story.refusal();
  }
  Conv2dStepsInput plain_in = in;
  plain_in.weights.reset();
  plain_in.bias.reset();
  const Conv2dSliceType other =
      slice.type == Conv2dSliceType::dram_height ? Conv2dSliceType::dram_width : Conv2dSliceType::dram_height;
  for (const Conv2dSliceType type : {slice.type, other}) {
    for (std::int64_t count = 2; count <= most_slices(problem, type); ++count) {
      Conv2dCall trial = fresh;
      const auto cut = attempt([&] { SlicedCall(trial, plain_in, input, weights, bias, send).cut(type, count); });
      if (!cut) {
        last = cut.refusal();
        break;  // no plan for slices this thin
      }
      const Result<MemoryStory> story = trial.steps.rehearse();
      if (story) return trial;
      last = story.refusal();
    }
    if (!chosen) break;
  }
  raise(no_slices_fit(last));
}

Conv2dResult finish_conv2d(const Conv2dCall& call, DeviceTensor input, const Conv2dOperand& weights,
                           const std::optional<Conv2dOperand>& bias) {
  if (call.weights || call.bias) input.device()->before_transfer("conv2d, which moves weights from the host,");
  MemoryStory story = call.steps.rehearse().value();
  Device& device = *input.device();
  std::vector<float> values;
  if (device.options().values) values = compute(call, input, weights, bias);

  std::vector<std::optional<DeviceTensor>> tensors = call.steps.carry_out();
  DeviceTensor output = *tensors[call.slots.output];
  if (call.output_view) output = output.view(*call.output_view);
  DeviceTensor prepared = *tensors[call.slots.weights];
  std::optional<DeviceTensor> prepared_bias;
  if (call.slots.bias) prepared_bias = tensors[*call.slots.bias];
  const auto send = [&](const char* what, const std::optional<Tensor>& host, DeviceTensor& y) {
    device.note_transfer({ProgramKind::to_device, what, {host ? write_pages(*host, y) : host_transfer(y)}});
  };
  if (!on_card(weights)) send("weights", call.weights, prepared);
  if (bias && !on_card(*bias)) send("bias", call.bias, *prepared_bias);
  write_values(output, [&, &spec = output.spec()] {
    return Tensor::from_float32(values, spec.logical_shape(), spec.dtype(), spec.layout(), {}, Rounding::packer);
  });
  return {output, call.problem.out_h(), call.problem.out_w(), prepared, prepared_bias, call.plan, std::move(story)};
}

Conv2dResult conv2d(DeviceTensor input, const Conv2dOperand& weights, const std::optional<Conv2dOperand>& bias,
                    const Conv2dProblem& problem, const Conv2dOptions& options) {
  const Conv2dCall call = call_conv2d(input, weights, bias, problem, options, true);
  return finish_conv2d(call, std::move(input), weights, bias);
}

Result<MemoryStory> rehearse_conv2d(const DeviceTensor& input, const Conv2dOperand& weights,
                                    const std::optional<Conv2dOperand>& bias, const Conv2dProblem& problem,
                                    const Conv2dOptions& options, MemoryPeak* reached) {
  const Result<Conv2dCall> call = attempt([&] { return call_conv2d(input, weights, bias, problem, options, false); });
  if (!call) return call.refusal();
  return call->steps.rehearse(reached);
}

}  // namespace tessera::tensix
