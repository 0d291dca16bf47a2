#include "tessera/graph/ops/cast.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"

namespace tessera {

std::vector<TensorType> infer(const Cast& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  const ElementType from = inputs[0].type;
  if (op.bits) {
    if (element_bytes(from) != element_bytes(op.to))
      fail(Code::invalid_argument, "{}: {} has {} B, {} has {} B: the bits of one are not those of the other",
           inputs.op(), name(from), element_bytes(from), name(op.to), element_bytes(op.to));
    // Only 0 and 1 are a bool.
    if (op.to == ElementType::boolean && from != op.to)
      fail(Code::unsupported, "{}: {} cannot be seen as bool", inputs.op(), name(from));
    return {TensorType(op.to, inputs[0].dims)};
  }
  if (from != op.to && (!internal::is_computable(from) || !internal::is_computable(op.to)))
    fail(Code::unsupported, "{}: {} cannot be converted to {}", inputs.op(), name(from), name(op.to));
  return {TensorType(op.to, inputs[0].dims)};
}

Work work(const Cast&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const Cast& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  if (x.type() == op.to) return {x};
  if (op.bits) return {Array(op.to, x.shape(), std::vector<std::byte>(x.bytes().begin(), x.bytes().end()))};
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
