// QLinearAdd, QLinearGlobalAveragePool and ByteLookup: from bytes to bytes without products.

#include "tessera/core/error.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/internal/expect_bytes.h"
#include "tessera/graph/ops/internal/saturate.h"
#include "tessera/graph/ops/quantize.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using internal::expect_bytes;
using internal::expect_one;

void expect_scale(const Knowns& inputs, std::size_t i) {
  check(inputs[i].type == ElementType::float32, Code::unsupported, "{}: input {} is {}, float32 is needed", inputs.op(),
        i, name(inputs[i].type));
  expect_one(inputs, i);
}

float scale_at(const Arrays& inputs, std::size_t i) { return inputs[i].as<float>()[0]; }
std::int64_t zero_at(const Arrays& inputs, std::size_t i) { return inputs[i].to_int64()[0]; }

}  // namespace

std::vector<TensorType> infer(const QLinearAdd&, const Knowns& inputs) {
  inputs.expect_count(8, 8);
  for (const std::size_t i : {0, 3, 7}) expect_bytes(inputs, i);
  for (const std::size_t i : {1, 4, 6}) expect_scale(inputs, i);
  for (const std::size_t i : {2, 5, 7}) expect_one(inputs, i);
  inputs.expect_same_type(0, 2);
  inputs.expect_same_type(3, 5);
  const TensorType &a = inputs[0], &b = inputs[3];
  if (a.is_static() && b.is_static())
    check(a.shape() == b.shape(), Code::invalid_argument, "QLinearAdd: shapes {} and {} differ", a.to_string(),
          b.to_string());
  return {TensorType(inputs[7].type, a.dims ? a.dims : b.dims)};
}

Work work(const QLinearAdd&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs, 5); }

std::vector<Array> reference(const QLinearAdd&, const Arrays& inputs) {
  const std::vector<std::int64_t> as = inputs[0].to_int64(), bs = inputs[3].to_int64();
  const auto a_scale = static_cast<double>(scale_at(inputs, 1)), b_scale = static_cast<double>(scale_at(inputs, 4)),
             y_scale = static_cast<double>(scale_at(inputs, 6));
  const std::int64_t a_zero = zero_at(inputs, 2), b_zero = zero_at(inputs, 5), y_zero = zero_at(inputs, 7);
  Array y(inputs[7].type(), inputs[0].shape());
  visit_element_type(y.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto ys = y.as<T>();
    for (std::size_t i = 0; i < ys.size(); ++i) {
      // Products and the quotient of floats, rounded from double, are those that float makes.
      const auto a = static_cast<float>(static_cast<double>(as[i] - a_zero) * a_scale),
                 b = static_cast<float>(static_cast<double>(bs[i] - b_zero) * b_scale);
      const auto quotient = static_cast<float>(static_cast<double>(a + b) / y_scale);
      ys[i] = internal::saturated<T>(std::nearbyint(static_cast<double>(quotient)) + static_cast<double>(y_zero));
    }
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const QLinearGlobalAveragePool&, const Knowns& inputs) {
  inputs.expect_count(5, 5);
  for (const std::size_t i : {0, 4}) expect_bytes(inputs, i);
  for (const std::size_t i : {1, 3}) expect_scale(inputs, i);
  for (const std::size_t i : {2, 4}) expect_one(inputs, i);
  inputs.expect_same_type(0, 2);
  inputs.expect_rank(0, 2, Shape::kMaxRank);
  const TensorType& x = inputs[0];
  if (!x.dims) return {TensorType(inputs[4].type, std::nullopt)};
  std::vector<std::int64_t> dims(x.dims->size(), 1);
  std::copy_n(x.dims->begin(), 2, dims.begin());
  return {TensorType(inputs[4].type, dims)};
}

Work work(const QLinearGlobalAveragePool&, const Types& inputs, const Types& outputs) {
  Work total = streaming_work(inputs, outputs, 2);
  if (inputs[0].is_static()) total.flops += static_cast<double>(inputs[0].shape().volume());
  return total;
}

std::vector<Array> reference(const QLinearGlobalAveragePool&, const Arrays& inputs) {
  const Array& x = inputs[0];
  const std::vector<std::int64_t> xs = x.to_int64();
  std::vector<std::int64_t> dims(static_cast<std::size_t>(x.shape().rank()), 1);
  std::copy_n(x.shape().begin(), 2, dims.begin());
  Array y(inputs[4].type(), Shape(dims));
  const std::int64_t area = y.count() == 0 ? 0 : x.count() / y.count();
  const float factor = scale_at(inputs, 1) / (static_cast<float>(area) * scale_at(inputs, 3));
  const std::int64_t x_zero = zero_at(inputs, 2), y_zero = zero_at(inputs, 4);
  visit_element_type(y.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto ys = y.as<T>();
    for (std::size_t plane = 0; plane < ys.size(); ++plane) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < area; ++i)
        sum += xs[plane * static_cast<std::size_t>(area) + static_cast<std::size_t>(i)] - x_zero;
      const float value = static_cast<float>(static_cast<std::int32_t>(sum)) * factor;
      ys[plane] = internal::saturated<T>(std::nearbyint(static_cast<double>(value)) + static_cast<double>(y_zero));
    }
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const ByteLookup&, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  for (const std::size_t i : {0, 1}) expect_bytes(inputs, i);
  if (inputs[1].is_static())
    check(inputs[1].shape() == Shape{256}, Code::invalid_argument, "ByteLookup: the table is {}, 256 bytes are needed",
          inputs[1].to_string());
  return {TensorType(inputs[1].type, inputs[0].dims)};
}

Work work(const ByteLookup&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs, 1); }

std::vector<Array> reference(const ByteLookup&, const Arrays& inputs) {
  const Array &x = inputs[0], &table = inputs[1];
  Array y(table.type(), x.shape());
  for (std::size_t i = 0; i < x.bytes().size(); ++i)
    y.bytes()[i] = table.bytes()[std::to_integer<std::size_t>(x.bytes()[i])];
  return {std::move(y)};
}

}  // namespace tessera
