#include "tessera/graph/ops/softmax.h"

#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"

#include <cmath>
#include <limits>

namespace tessera {

std::vector<TensorType> infer(const Softmax& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  internal::expect_floating(inputs, 0, inputs.op());
  if (inputs[0].dims) normalized_axis(op.axis, inputs[0].rank(), inputs.op());
  return {inputs[0]};
}

Work work(const Softmax&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs, 5); }

std::vector<Array> reference(const Softmax& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y(x.type(), x.shape());
  if (x.count() == 0) return {std::move(y)};
  const std::vector<std::int64_t>& dims = x.shape().dims();
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, x.shape().rank(), inputs.op()));
  std::size_t length = 1, inner = 1;  // a row has `length` elements, `inner` apart
  for (std::size_t d = axis; d < dims.size(); ++d)
    (d == axis || op.flatten ? length : inner) *= static_cast<std::size_t>(dims[d]);
  visit_floating_type(x.type(), Softmax::kName, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto xs = x.as<T>();
    const auto ys = y.as<T>();
    for (std::size_t block = 0; block < xs.size(); block += length * inner)
      for (std::size_t first = block; first < block + inner; ++first) {
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::size_t i = 0; i < length; ++i) most = std::fmax(most, internal::wide(xs[first + i * inner]));
        for (std::size_t i = 0; i < length; ++i) sum += std::exp(internal::wide(xs[first + i * inner]) - most);
        const double log_sum = std::log(sum);
        for (std::size_t i = 0; i < length; ++i) {
          const double shifted = internal::wide(xs[first + i * inner]) - most;
          ys[first + i * inner] = internal::narrow<T>(op.log ? shifted - log_sum : std::exp(shifted) / sum);
        }
      }
  });
  return {std::move(y)};
}

}  // namespace tessera
