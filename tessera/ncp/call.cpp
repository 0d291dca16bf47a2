#include "tessera/ncp/call.h"

#include "tessera/core/error.h"

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

void check_timespans(const std::optional<Array>& timespans, const Form& form) {
  if (!timespans || timespans->count() == 1) return;
  const Shape& shape = timespans->shape();
  check(shape == form.leading || shape == with_last(form.leading, 1), Code::invalid_argument,
        "timespans are {}: a number, {} or {} is expected", shape.to_string(), form.leading.to_string(),
        with_last(form.leading, 1).to_string());
}

}  // namespace

CallResult call(const Runner& runner, const CallArguments& arguments) {
  const LayerSizes size = sizes(runner.layer());
  const Form form = form_of(arguments.input.shape(), size);
  const Shape state_shape = form.batched ? Shape{form.batch, size.state} : Shape{size.state};
  check_shape("initial state", arguments.state, state_shape);
  check_shape("initial memory", arguments.memory, state_shape);
  check_timespans(arguments.timespans, form);
  const std::vector<float> input = floats(arguments.input), state = floats(arguments.state),
                           memory = floats(arguments.memory), timespans = floats(arguments.timespans);
  const auto result =
      runner.run({form.batch, form.steps, input, timespans, state, memory, arguments.dropout_seed}, arguments.keep);

  const auto array = [](Shape shape, const std::vector<float>& values) {
    return Array::of<float>(std::move(shape), values);
  };
  Shape output = form.batched ? Shape{form.batch} : Shape{};
  if (size.return_sequences) output = form.leading;
  CallResult out;
  out.output = array(with_last(output, size.outputs), result.output);
  out.state = array(state_shape, result.state);
  if (size.mixed_memory) out.memory = array(state_shape, result.memory);
  if (arguments.keep == KeepStates::yes) out.states = array(with_last(form.leading, size.state), result.states);
  return out;
}

}  // namespace tessera::ncp
