#include "tessera/graph/ops/clip.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/expect.h"

namespace tessera {

std::vector<TensorType> infer(const Clip&, const Knowns& inputs) {
  inputs.expect_count(1, 3);
  internal::expect_number(inputs, 0, inputs.op());
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (!inputs.has(i)) continue;
    inputs.expect_same_type(0, i);
    if (inputs[i].is_static() && inputs[i].shape().volume() != 1)
      fail(Code::invalid_argument, "{}: bound {} is {}, a scalar is needed", inputs.op(), i, inputs[i].to_string());
  }
  return {inputs[0]};
}

Work work(const Clip&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs, 2); }

std::vector<Array> reference(const Clip&, const Arrays& inputs) {
  Array y = inputs[0];
  visit_element_type(y.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto ys = y.as<T>();
    // low first: where low is above high, high wins. NaN passes, as every comparison with it is false.
    if (inputs.has(1)) {
      const T low = inputs[1].as<T>()[0];
      for (T& v : ys)
        if (v < low) v = low;
    }
    if (inputs.has(2)) {
      const T high = inputs[2].as<T>()[0];
      for (T& v : ys)
        if (v > high) v = high;
    }
  });
  return {std::move(y)};
}

}  // namespace tessera
