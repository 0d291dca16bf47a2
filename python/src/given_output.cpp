#include "given_output.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"

#include <span>

namespace tessera::python {

AnyTensor into(std::string_view op, const tensix::DeviceTensor& y, const OptionalTensor& output) {
  if (!output) return AnyTensor(y);
  const tensix::DeviceTensor& to = output->device(op);
  const tensix::TensorSpec &a = y.spec(), &b = to.spec();
  check(a.logical_shape() == b.logical_shape() && a.dtype() == b.dtype() && a.layout() == b.layout(),
        Code::invalid_argument, "{}: the output tensor is {} {} {}, the result {} {} {}", op,
        b.logical_shape().to_string(), name(b.dtype()), name(b.layout()), a.logical_shape().to_string(),
        name(a.dtype()), name(a.layout()));
  const tensix::VectorFunction same = tensix::vector_function("identity");
  return AnyTensor(tensix::unary("identity", std::span(&same, 1), y, {.output = to}));
}

}  // namespace tessera::python
