#include "tessera/targets/tensix/network/simulated_node.h"

#include "tessera/targets/tensix/card/page_copy.h"

namespace tessera::tensix {

ComputeConfig SimulatedNode::compute() const {
  ComputeConfig compute = run_.options.compute;
  config().apply_to(compute);
  return compute;
}

DeviceTensor SimulatedNode::send_weights(const Shape& shape, DType dtype,
                                         const std::function<std::vector<float>()>& values) {
  return run_.weights.emplace_back(
      send_values(run_.device, TensorSpec(shape, dtype, Layout::tile, kDramMemoryConfig),
                  [&] { return Tensor::from_float32(values(), shape, dtype, Layout::tile); }));
}

DeviceTensor SimulatedNode::fit(const Body& body, bool keeps_inputs) {
  return run_.fit(keeps_inputs ? std::span<const ValueId>(node_.inputs) : std::span<const ValueId>(), body);
}

DeviceTensor SimulatedNode::near_or_far(const Body& near, const Body& far) {
  return run_.near_or_far(node_.inputs, near, far);
}

}  // namespace tessera::tensix
