#include "tessera/graph/ops/cast.h"

#include "tessera/core/error.h"
#include "tessera/core/narrow_element.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"

namespace tessera {
namespace {

Array to_narrow(const Cast& op, const Array& x) {
  Array y(op.to, x.shape());
  const std::span<std::byte> ys = y.bytes();
  const bool whole = op.to == ElementType::int4 || op.to == ElementType::uint4 || op.to == ElementType::int2 ||
                     op.to == ElementType::uint2;
  if (whole && internal::is_integer(x.type()) && x.type() != ElementType::uint64) {
    const std::vector<std::int64_t> xs = x.to_int64();  // low bits of all 64, which a double has not got
    for (std::size_t i = 0; i < xs.size(); ++i)
      ys[i] = std::byte{narrow_from_bits(op.to, static_cast<unsigned>(xs[i] & 0xFF))};
    return y;
  }
  const std::vector<double> xs = x.to_double();
  const NarrowRounding rounding{.saturate = op.saturate && !whole};
  for (std::size_t i = 0; i < xs.size(); ++i) ys[i] = std::byte{narrow_element(op.to, xs[i], rounding)};
  return y;
}

Array from_narrow(ElementType to, const Array& x) {
  Array y(to, x.shape());
  const std::vector<double> xs = x.to_double();
  visit_element_type(to, [&](auto tag) {
    using To = typename decltype(tag)::type;
    const auto ys = y.as<To>();
    for (std::size_t i = 0; i < xs.size(); ++i) ys[i] = internal::narrow<To>(xs[i]);
  });
  return y;
}

}  // namespace

std::vector<TensorType> infer(const Cast& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  const ElementType from = inputs[0].type;
  if (op.bits) {
    if (element_bits(from) != element_bits(op.to))
      fail(Code::invalid_argument, "{}: {} has {} bits, {} has {}: those of one are not those of the other",
           inputs.op(), name(from), element_bits(from), name(op.to), element_bits(op.to));
    // Only 0 and 1 are a bool.
    if (op.to == ElementType::boolean && from != op.to)
      fail(Code::unsupported, "{}: {} cannot be seen as bool", inputs.op(), name(from));
    return {TensorType(op.to, inputs[0].dims)};
  }
  return {TensorType(op.to, inputs[0].dims)};
}

Work work(const Cast&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const Cast& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  if (x.type() == op.to) return {x};
  if (op.bits) {
    Array y(op.to, x.shape(), std::vector<std::byte>(x.bytes().begin(), x.bytes().end()));
    if (is_narrow(op.to))  // memory holds int4 with its sign, uint4 without
      for (std::byte& b : y.bytes()) b = std::byte{narrow_from_bits(op.to, static_cast<unsigned>(b))};
    return {std::move(y)};
  }
  if (is_narrow(op.to)) return {to_narrow(op, x)};
  if (is_narrow(x.type())) return {from_narrow(op.to, x)};
  Array y(op.to, x.shape());
  visit_element_type(x.type(), [&](auto from) {
    using From = typename decltype(from)::type;
    visit_element_type(op.to, [&](auto to) {
      using To = typename decltype(to)::type;
      const auto xs = x.as<From>();
      const auto ys = y.as<To>();
      for (std::size_t i = 0; i < xs.size(); ++i) {
        // Integers keep their low bits and go to float32 in one rounding, not by way of double.
        if constexpr (std::is_integral_v<From> && (std::is_integral_v<To> || std::is_same_v<To, float>))
          ys[i] = static_cast<To>(xs[i]);
        else
          ys[i] = internal::narrow<To>(internal::wide(xs[i]));
      }
    });
  });
  return {std::move(y)};
}

}  // namespace tessera
