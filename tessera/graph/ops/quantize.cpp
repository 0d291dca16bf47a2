#include "tessera/graph/ops/quantize.h"

#include "tessera/core/error.h"
#include "tessera/core/narrow_element.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/internal/saturate.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

void expect_quantized(ElementType type, bool or_int32, std::string_view op) {
  const bool ok = type == ElementType::int8 || type == ElementType::uint8 || type == ElementType::int16 ||
                  type == ElementType::uint16 || (or_int32 && type == ElementType::int32) ||
                  (is_narrow(type) && type != ElementType::float8_e8m0);
  check(ok, Code::unsupported,
        "{}: {} is no type to quantise to here; int8, uint8, int16, uint16{} are, and integers of 4 and 2 bits and "
        "floats of 8 and 4",
        op, name(type), or_int32 ? ", int32" : "");
}

// Which scale belongs to which element: one for all, one per position of an axis, or one per block along it.
class Scales {
 public:
  Scales(const Shape& x, const Shape& scale, std::int64_t axis, std::int64_t block, std::string_view op) {
    if (block == 0 && scale.volume() == 1 && scale.rank() <= 1) return;
    const int a = normalized_axis(axis, x.rank(), op);
    for (int d = a + 1; d < x.rank(); ++d) inner_ *= x[d];
    extent_ = std::max<std::int64_t>(x[a], 1);
    if (block == 0) {
      check(scale == Shape{x[a]}, Code::invalid_argument, "{}: scales of shape {} do not fit axis {} of {}", op,
            scale.to_string(), a, x.to_string());
      count_ = extent_;
      return;
    }
    std::vector<std::int64_t> wanted = x.dims();
    wanted[static_cast<std::size_t>(a)] = x[a] / block + (x[a] % block != 0);
    check(scale == Shape(wanted), Code::invalid_argument,
          "{}: scales of shape {} do not fit blocks of {} along axis {} of {}", op, scale.to_string(), block, a,
          x.to_string());
    block_ = block;
    count_ = std::max<std::int64_t>(wanted[static_cast<std::size_t>(a)], 1);
    blocked_ = true;
  }

  std::size_t operator()(std::int64_t i) const {
    if (count_ == 0) return 0;
    const std::int64_t at = i / inner_ % extent_;
    if (!blocked_) return static_cast<std::size_t>(at);
    return static_cast<std::size_t>((i / (inner_ * extent_) * count_ + at / block_) * inner_ + i % inner_);
  }

 private:
  std::int64_t inner_ = 1, extent_ = 1, block_ = 1, count_ = 0;
  bool blocked_ = false;
};

void check_scales(const Knowns& inputs, std::int64_t axis, std::int64_t block) {
  inputs.expect_count(2, 3);
  check(block >= 0, Code::invalid_argument, "{}: a block of {} elements makes no sense", inputs.op(), block);
  visit_floating_type(inputs[1].type, inputs.op(), [](auto) {});
  const TensorType &x = inputs[0], &scale = inputs[1];
  if (x.is_static() && scale.is_static()) Scales(x.shape(), scale.shape(), axis, block, inputs.op());
  if (inputs.has(2) && scale.is_static() && inputs[2].is_static())
    check(inputs[2].shape() == scale.shape() || (scale.shape().volume() == 1 && inputs[2].shape().volume() == 1),
          Code::invalid_argument, "{}: the zero point is {}, the scale {}", inputs.op(), inputs[2].to_string(),
          scale.to_string());
}

std::vector<double> zero_points(const Arrays& inputs, std::size_t i, std::int64_t count) {
  return inputs.has(i) ? inputs[i].to_double() : std::vector<double>(static_cast<std::size_t>(count), 0.0);
}

}  // namespace

std::vector<TensorType> infer(const QuantizeLinear& op, const Knowns& inputs) {
  check_scales(inputs, op.axis, op.block);
  const TensorType& x = inputs[0];
  if (x.type != ElementType::int32) visit_floating_type(x.type, inputs.op(), [](auto) {});
  if (op.precision) visit_floating_type(*op.precision, inputs.op(), [](auto) {});
  const ElementType type = inputs.has(2) ? inputs[2].type : op.type.value_or(ElementType::uint8);
  check(!op.type || *op.type == type, Code::invalid_argument,
        "QuantizeLinear: the output is to be {} but the zero point is {}", name(op.type.value_or(type)), name(type));
  expect_quantized(type, false, inputs.op());
  return {TensorType(type, x.dims)};
}

Work work(const QuantizeLinear&, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs, outputs, 2);
}

std::vector<Array> reference(const QuantizeLinear& op, const Arrays& inputs) {
  const Array &x = inputs[0], &scale = inputs[1];
  const Scales index(x.shape(), scale.shape(), op.axis, op.block, inputs.op());
  const std::vector<double> xs = x.to_double(), scales = scale.to_double(),
                            zeros = zero_points(inputs, 2, scale.count());
  Array y(inputs.has(2) ? inputs[2].type() : op.type.value_or(ElementType::uint8), x.shape());
  visit_floating_type(op.precision.value_or(scale.type()), inputs.op(), [&](auto precision) {
    using Quotient = typename decltype(precision)::type;
    // Divided in double and rounded once to the precision of the division: ties are decided there.
    const auto quotient = [&](std::size_t i, std::size_t s) {
      return static_cast<double>(static_cast<Quotient>(xs[i] / scales[s]));
    };
    if (is_narrow(y.type())) {
      const bool whole = y.type() == ElementType::int4 || y.type() == ElementType::uint4 ||
                         y.type() == ElementType::int2 || y.type() == ElementType::uint2;
      for (std::size_t i = 0; i < xs.size(); ++i) {
        const std::size_t s = index(static_cast<std::int64_t>(i));
        const double value = whole ? std::nearbyint(quotient(i, s)) + zeros[s] : quotient(i, s) + zeros[s];
        y.bytes()[i] = std::byte{narrow_element(y.type(), value, {.saturate = op.saturate || whole})};
      }
      return;
    }
    visit_element_type(y.type(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto ys = y.as<T>();
      for (std::size_t i = 0; i < xs.size(); ++i) {
        const std::size_t s = index(static_cast<std::int64_t>(i));
        ys[i] = internal::saturated<T>(std::nearbyint(quotient(i, s)) + zeros[s]);
      }
    });
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const DequantizeLinear& op, const Knowns& inputs) {
  check_scales(inputs, op.axis, op.block);
  expect_quantized(inputs[0].type, true, inputs.op());
  if (inputs.has(2)) inputs.expect_same_type(0, 2);
  const ElementType type = op.type.value_or(inputs[1].type);
  visit_floating_type(type, inputs.op(), [](auto) {});
  return {TensorType(type, inputs[0].dims)};
}

Work work(const DequantizeLinear&, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs, outputs, 2);
}

std::vector<Array> reference(const DequantizeLinear& op, const Arrays& inputs) {
  const Array &x = inputs[0], &scale = inputs[1];
  const Scales index(x.shape(), scale.shape(), op.axis, op.block, inputs.op());
  const std::vector<double> xs = x.to_double(), scales = scale.to_double(),
                            zeros = zero_points(inputs, 2, scale.count());
  Array y(op.type.value_or(scale.type()), x.shape());
  visit_floating_type(y.type(), inputs.op(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto ys = y.as<T>();
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const std::size_t s = index(static_cast<std::int64_t>(i));
      ys[i] = static_cast<T>((xs[i] - zeros[s]) * scales[s]);
    }
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const DynamicQuantizeLinear&, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  check(inputs[0].type == ElementType::float32, Code::unsupported, "DynamicQuantizeLinear works on float32, not on {}",
        name(inputs[0].type));
  return {TensorType(ElementType::uint8, inputs[0].dims), TensorType(ElementType::float32, Shape{}),
          TensorType(ElementType::uint8, Shape{})};
}

Work work(const DynamicQuantizeLinear&, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs, outputs, 4);  // minimum, maximum, division, addition
}

// The range always holds 0, so that 0 is exact. Without any range the scale is 1.
std::vector<Array> reference(const DynamicQuantizeLinear&, const Arrays& inputs) {
  const auto xs = inputs[0].as<float>();
  float low = 0, high = 0;
  for (float x : xs) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const auto zero = internal::saturated<std::uint8_t>(static_cast<double>(-low / scale));
  Array y(ElementType::uint8, inputs[0].shape());
  const auto ys = y.as<std::uint8_t>();
  for (std::size_t i = 0; i < xs.size(); ++i)
    ys[i] = internal::saturated<std::uint8_t>(static_cast<double>(std::nearbyint(xs[i] / scale)) + zero);
  return {std::move(y), Array::scalar(scale), Array::scalar(zero)};
}

}  // namespace tessera
