#include "tessera/targets/tensix/ops/relu/relu.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"

#include <algorithm>

namespace tessera::tensix {

DeviceTensor relu(const DeviceTensor& x, const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  check(is_floating(from.dtype()), Code::unsupported, "relu: {} tensors are not supported, only floating ones",
        name(from.dtype()));
  DeviceTensor y = DeviceTensor::allocate(x.device(), from.with_memory_config(config.value_or(from.memory_config())));
  write_values(y, [&] {
    std::vector<float> values = read_pages(x).to_float32();
    for (float& v : values) v = v < 0 ? 0.0f : v;  // NaN stays NaN
    return Tensor::from_float32(values, from.logical_shape(), from.dtype(), from.layout(), from.tile(),
                                Rounding::packer);
  });
  finish_program({"relu", from.logical_shape().to_string(), stream_transfers(x, y)}, {&x}, y);
  return y;
}

}  // namespace tessera::tensix
