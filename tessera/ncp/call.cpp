#include "tessera/ncp/call.h"

#include "tessera/core/error.h"
#include "tessera/ncp/gradient.h"

#include <span>
#include <string_view>
#include <vector>

namespace tessera::ncp {
namespace {

struct Form {
  bool batched = true;
  std::int64_t batch = 1;
  std::int64_t steps = 0;
  Shape leading{};  // of a sequence: all extents but the last
};

Form form_of(const Shape& input, const LayerSizes& size) {
  check(input.rank() == 2 || input.rank() == 3, Code::invalid_argument,
        "the input is {}: {} is expected, or [steps, inputs] without a batch", input.to_string(),
        size.batch_first ? "[batch, steps, inputs]" : "[steps, batch, inputs]");
  check(input[-1] == size.inputs, Code::invalid_argument, "the input is {}, but the layer has {} inputs",
        input.to_string(), size.inputs);
  Form form{.batched = input.rank() == 3};
  if (form.batched) {
    form.batch = input[size.batch_first ? 0 : 1];
    form.steps = input[size.batch_first ? 1 : 0];
    form.leading = {input[0], input[1]};
  } else {
    form.steps = input[0];
    form.leading = {input[0]};
  }
  check(form.steps >= 1, Code::invalid_argument, "the input is {}: at least one step is needed", input.to_string());
  return form;
}

std::vector<float> floats(const std::optional<Array>& array) {
  if (!array) return {};
  if (array->type() == ElementType::float32) {
    const std::span<const float> values = array->as<float>();
    return {values.begin(), values.end()};
  }
  const std::vector<double> values = array->to_double();
  return {values.begin(), values.end()};
}

Shape with_last(const Shape& shape, std::int64_t last) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.push_back(last);
  return Shape(std::move(dims));
}

void check_shape(std::string_view what, const std::optional<Array>& array, const Shape& wanted) {
  if (array)
    check(array->shape() == wanted, Code::invalid_argument, "the {} is {}, but should be {}", what,
          array->shape().to_string(), wanted.to_string());
}

void check_timespans(const std::optional<Array>& timespans, const Form& form, int units) {
  if (!timespans || timespans->count() == 1) return;
  const Shape &shape = timespans->shape(), one = with_last(form.leading, 1), each = with_last(form.leading, units);
  check(shape == form.leading || shape == one || shape == each, Code::invalid_argument,
        Hint{"one elapsed time for each sample and step, whatever the size of the batch"},
        "timespans are {}: a number, {}, {} or {} is expected", shape.to_string(), form.leading.to_string(),
        one.to_string(), each.to_string());
}

// A call with its arrays as floats.
struct Call {
  LayerSizes size{};
  Form form{};
  Shape state_shape{};
  Shape output_shape{};
  std::vector<float> input{}, state{}, memory{}, timespans{};

  Call(const Layer& layer, const CallArguments& arguments) : size(sizes(layer)) {
    form = form_of(arguments.input.shape(), size);
    state_shape = form.batched ? Shape{form.batch, size.state} : Shape{size.state};
    output_shape = form.batched ? Shape{form.batch} : Shape{};
    if (size.return_sequences) output_shape = form.leading;
    output_shape = with_last(output_shape, size.outputs);
    check_shape("initial state", arguments.state, state_shape);
    check_shape("initial memory", arguments.memory, state_shape);
    check_timespans(arguments.timespans, form, size.state);
    input = floats(arguments.input);
    state = floats(arguments.state);
    memory = floats(arguments.memory);
    timespans = floats(arguments.timespans);
    if (timespans.size() == 1 && arguments.timespans->shape().rank() == 0 && timespans[0] == 1) timespans.clear();
  }
  Sequence<float> sequence(const std::optional<std::uint64_t>& dropout_seed) const {
    return {form.batch, form.steps, input, timespans, state, memory, dropout_seed};
  }
};

Array array(Shape shape, const std::vector<float>& values) { return Array::of<float>(std::move(shape), values); }

}  // namespace

CallResult call(const Runner& runner, const CallArguments& arguments) {
  const Call given(runner.layer(), arguments);
  const auto result = runner.run(given.sequence(arguments.dropout_seed), arguments.keep);
  CallResult out;
  out.output = array(given.output_shape, result.output);
  out.state = array(given.state_shape, result.state);
  if (given.size.mixed_memory) out.memory = array(given.state_shape, result.memory);
  if (arguments.keep == KeepStates::yes)
    out.states = array(with_last(given.form.leading, given.size.state), result.states);
  return out;
}

CallGradients differentiate(const Layer& layer, const ParameterSet<float>& parameters, const CallArguments& arguments,
                            const OutputGradients& gradients) {
  const Call given(layer, arguments);
  check_shape("gradient of the output", gradients.output, given.output_shape);
  check_shape("gradient of the state", gradients.state, given.state_shape);
  check_shape("gradient of the memory", gradients.memory, given.state_shape);
  const std::vector<float> d_output = floats(gradients.output), d_state = floats(gradients.state),
                           d_memory = floats(gradients.memory);
  Gradient gradient(layer);
  gradient.set_parameters(parameters);
  SequenceResult<float> ignored;
  SequenceGradients<float> result;
  gradient.forward(given.sequence(arguments.dropout_seed), ignored);
  gradient.backward(d_output, result, d_state, d_memory);
  CallGradients out;
  out.parameters = std::move(result.parameters);
  out.input = array(arguments.input.shape(), result.input);
  out.state = array(given.state_shape, result.state);
  if (given.size.mixed_memory) out.memory = array(given.state_shape, result.memory);
  return out;
}

}  // namespace tessera::ncp
