#include "tessera/backends/sim/tensix/conv2d.h"

#include "tessera/backends/sim/tensix/conv2d_values.h"
#include "tessera/backends/sim/tensix/conv2d_weights.h"
#include "tessera/backends/sim/tensix/internal/conv2d_steps.h"
#include "tessera/core/error.h"
#include "tessera/machine/page_copy.h"

namespace tessera::tensix {
namespace {

void check_input(const DeviceTensor& x, const Conv2dProblem& p) {
  x.check_allocated();
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

// Everything that is known before memory is touched.
struct Call {
  Conv2dProblem problem;
  Conv2dPlan plan;
  std::optional<Tensor> weights, bias;  // prepared on the host, to be sent
  MemorySteps steps;
  Conv2dSlots slots;

  Call(const DeviceTensor& input, const Conv2dOperand& given_weights, const std::optional<Conv2dOperand>& given_bias,
       const Conv2dProblem& asked, const Conv2dOptions& options, bool send)
      : problem(asked), steps(input.device()) {
    input.device()->check_open();
    const Device& device = *input.device();
    problem.input_dtype = input.spec().dtype();
    problem.input_layout = input.spec().layout();
    problem.input_memory = input.spec().memory_config();
    problem.has_bias = given_bias.has_value();
    problem.weights_dtype =
        on_card(given_weights) ? dtype_of(given_weights) : asked.config.weights_dtype.value_or(dtype_of(given_weights));
    plan = plan_conv2d(problem, device.card());
    check_input(input, problem);

    Conv2dStepsInput in;
    in.input = &input;
    in.weights_dtype = problem.weights_dtype;
    in.memory_config = options.memory_config;
    if (const DeviceTensor* there = on_card(given_weights)) {
      check_prepared(*there, device, {1, 1, plan.weight_matrix.height, plan.weight_matrix.width}, "weights");
      in.weights = *there;
    } else if (send) {
      weights = prepare_conv_weights(std::get<Tensor>(given_weights), problem, plan, problem.weights_dtype);
    }
    if (given_bias) {
      if (const DeviceTensor* there = on_card(*given_bias)) {
        check_prepared(*there, device, {1, 1, 1, plan.weight_matrix.width}, "bias");
        in.bias = *there;
      } else if (send) {
        bias = prepare_conv_bias(std::get<Tensor>(*given_bias), problem, plan, problem.weights_dtype);
      }
    }
    slots = add_conv2d_steps(steps, plan, problem, in, device);
  }
};

// As the card computes it; read before the input may be freed.
std::vector<float> compute(const Call& call, const DeviceTensor& input, const Conv2dOperand& weights,
                           const std::optional<Conv2dOperand>& bias) {
  const auto values_of = [](const std::optional<Tensor>& host, const Conv2dOperand& given) {
    return host ? host->to_float32() : read_pages(std::get<DeviceTensor>(given)).to_float32();
  };
  const Conv2dProblem p = multiplied_problem(call.plan);
  const std::vector<float> w = unprepare_conv_weights(values_of(call.weights, weights), call.plan);
  std::vector<float> b;
  if (bias) {
    b = values_of(call.bias, *bias);
    b.resize(static_cast<std::size_t>(p.out_channels));
  }
  std::vector<float> x = read_pages(input).to_float32();
  if (call.plan.folded) x = fold_image(x, call.problem);
  return conv2d_values(conv2d_values_of(p, call.plan), x, w, b);
}

}  // namespace

Conv2dResult conv2d(DeviceTensor input, const Conv2dOperand& weights, const std::optional<Conv2dOperand>& bias,
                    const Conv2dProblem& problem, const Conv2dOptions& options) {
  const Call call(input, weights, bias, problem, options, true);
  MemoryStory story = call.steps.rehearse();
  std::vector<float> values;
  if (options.values) values = compute(call, input, weights, bias);

  std::vector<std::optional<DeviceTensor>> tensors = call.steps.carry_out();
  DeviceTensor output = *tensors[call.slots.output];
  DeviceTensor prepared = *tensors[call.slots.weights];
  std::optional<DeviceTensor> prepared_bias;
  if (call.slots.bias) prepared_bias = tensors[*call.slots.bias];
  if (call.weights) input.device()->note_transfer({"to_device", "weights", {write_pages(*call.weights, prepared)}});
  if (call.bias) input.device()->note_transfer({"to_device", "bias", {write_pages(*call.bias, *prepared_bias)}});
  if (options.values) {
    const TensorSpec& spec = output.spec();
    write_pages(Tensor::from_float32(values, spec.logical_shape(), spec.dtype(), spec.layout(), {}, Rounding::packer),
                output);
  }
  return {output, problem.out_h(), problem.out_w(), prepared, prepared_bias, call.plan, std::move(story)};
}

MemoryStory rehearse_conv2d(const DeviceTensor& input, const Conv2dOperand& weights,
                            const std::optional<Conv2dOperand>& bias, const Conv2dProblem& problem,
                            const Conv2dOptions& options) {
  return Call(input, weights, bias, problem, options, false).steps.rehearse();
}

}  // namespace tessera::tensix
