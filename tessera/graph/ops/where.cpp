#include "tessera/graph/ops/where.h"

#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/walk.h"

#include <cstring>

namespace tessera {

std::vector<TensorType> infer(const Where&, const Knowns& inputs) {
  inputs.expect_count(3, 3);
  internal::expect_type(inputs, 0, ElementType::boolean, inputs.op());
  inputs.expect_same_type(1, 2);
  const TensorType values(inputs[1].type, broadcast_dims(inputs[1], inputs[2], inputs.op()));
  return {internal::possible(TensorType(values.type, broadcast_dims(inputs[0], values, inputs.op())))};
}

Work work(const Where&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const Where&, const Arrays& inputs) {
  const Array &condition = inputs[0], &a = inputs[1], &b = inputs[2];
  const Shape shape =
      broadcast_shape(condition.shape(), broadcast_shape(a.shape(), b.shape(), inputs.op()), inputs.op());
  Array y(a.type(), shape);
  // The values are only moved: bytes will do for every element type.
  const std::int64_t size = element_bytes(a.type());
  const std::byte *from_a = a.bytes().data(), *from_b = b.bytes().data();
  std::byte* to = y.bytes().data();
  const auto chosen = condition.as<bool>();
  internal::walk<3>(shape.dims(),
                    {internal::broadcast_strides(condition.shape(), shape),
                     internal::broadcast_strides(a.shape(), shape), internal::broadcast_strides(b.shape(), shape)},
                    [&](const auto& at) {
                      std::memcpy(
                          to, chosen[static_cast<std::size_t>(at[0])] ? from_a + at[1] * size : from_b + at[2] * size,
                          static_cast<std::size_t>(size));
                      to += size;
                    });
  return {std::move(y)};
}

}  // namespace tessera
