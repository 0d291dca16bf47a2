#include "tessera/graph/ops/batch_norm.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"

#include <cmath>

namespace tessera {
namespace {

// x seen as batch x channels x area; a vector is a batch of one channel.
struct Extents {
  std::size_t batch = 1, channels = 1, area = 1;
};

Extents extents_of(const Shape& shape) {
  Extents e;
  for (std::size_t d = 0; d < shape.dims().size(); ++d)
    (d == 0 ? e.batch : d == 1 ? e.channels : e.area) *= static_cast<std::size_t>(shape.dims()[d]);
  return e;
}

Array rounded(const std::vector<double>& values, const Array& like) {
  Array out(like.type(), like.shape());
  visit_floating_type(like.type(), BatchNorm::kName, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto to = out.as<T>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = internal::narrow<T>(values[i]);
  });
  return out;
}

}  // namespace

std::vector<TensorType> infer(const BatchNorm& op, const Knowns& inputs) {
  inputs.expect_count(5, 5);
  inputs.expect_rank(0, 1, Shape::kMaxRank);
  const TensorType& x = inputs[0];
  const std::int64_t channels = !x.dims ? TensorType::kUnknown : x.rank() == 1 ? 1 : (*x.dims)[1];
  for (std::size_t i = 0; i < 5; ++i) internal::expect_floating(inputs, i, inputs.op());
  for (std::size_t i = 1; i < 5; ++i) internal::expect_vector(inputs, i, channels, inputs.op());
  if (!op.training) return {x};
  return {x, inputs[3], inputs[4]};
}

Work work(const BatchNorm& op, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs, outputs.first(1), op.training ? 7 : 2);
}

std::vector<Array> reference(const BatchNorm& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const Extents e = extents_of(x.shape());
  const std::vector<double> scale = inputs[1].to_double(), bias = inputs[2].to_double();
  std::vector<double> mean = inputs[3].to_double(), variance = inputs[4].to_double();
  Array y(x.type(), x.shape());
  std::vector<double> running_mean = mean, running_variance = variance;
  visit_floating_type(x.type(), BatchNorm::kName, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto xs = x.as<T>();
    const auto ys = y.as<T>();
    const auto for_channel = [&](std::size_t c, auto&& visit) {
      for (std::size_t n = 0; n < e.batch; ++n)
        for (std::size_t i = 0; i < e.area; ++i) visit((n * e.channels + c) * e.area + i);
    };
    for (std::size_t c = 0; c < e.channels; ++c) {
      if (op.training) {
        const double count = static_cast<double>(e.batch * e.area), momentum = op.momentum;
        double sum = 0, squares = 0;
        for_channel(c, [&](std::size_t i) { sum += internal::wide(xs[i]); });
        mean[c] = sum / count;
        for_channel(c, [&](std::size_t i) { squares += std::pow(internal::wide(xs[i]) - mean[c], 2); });
        variance[c] = squares / count;
        running_mean[c] = running_mean[c] * momentum + mean[c] * (1 - momentum);
        running_variance[c] = running_variance[c] * momentum + variance[c] * (1 - momentum);
      }
      const double factor = scale[c] / std::sqrt(variance[c] + static_cast<double>(op.epsilon));
      for_channel(
          c, [&](std::size_t i) { ys[i] = internal::narrow<T>((internal::wide(xs[i]) - mean[c]) * factor + bias[c]); });
    }
  });
  std::vector<Array> out{std::move(y)};
  if (op.training) {
    out.push_back(rounded(running_mean, inputs[3]));
    out.push_back(rounded(running_variance, inputs[4]));
  }
  return out;
}

}  // namespace tessera
