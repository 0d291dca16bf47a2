#include "tessera/session/card.h"

#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/matmul/matmul.h"
#include "tessera/targets/tensix/ops/pool/pool.h"

namespace tessera::tensix {

CardTensor::CardTensor(const DeviceTensor& tensor) : tensor_(std::make_shared<DeviceTensor>(tensor)) {}

const TensorSpec& CardTensor::spec() const { return tensor_->spec(); }
std::int64_t CardTensor::address() const { return tensor_->address(); }
bool CardTensor::is_allocated() const { return tensor_->is_allocated(); }
void CardTensor::deallocate() { tensor_->deallocate(); }

Card::Card(const Machine& machine, const CardOptions& options)
    : device_(Device::open(machine, {.l1_small_bytes = options.l1_small_bytes, .values = options.values})) {}

CardTensor Card::allocate(const TensorSpec& spec) const { return CardTensor(DeviceTensor::allocate(device_, spec)); }

CardTensor Card::to_device(const Tensor& x, const MemoryConfig& memory) const {
  return CardTensor(tensix::to_device(x, device_, memory));
}

Tensor Card::from_device(const CardTensor& x) const { return tensix::from_device(x.device_tensor()); }

std::int64_t Card::allocated_bytes_per_bank(BufferType memory) const {
  return device_->memory_view(memory).allocated_bytes_per_bank;
}

CardConv2d Card::conv2d(const CardTensor& x, const Tensor& weights, const std::optional<Tensor>& bias,
                        const Conv2dProblem& problem) const {
  std::optional<Conv2dOperand> bias_operand;
  if (bias) bias_operand = *bias;
  const Conv2dResult result = tensix::conv2d(x.device_tensor(), Conv2dOperand(weights), bias_operand, problem);
  return {CardTensor(result.output), result.out_h, result.out_w, result.memory.peak.total_bytes};
}

CardTensor Card::max_pool2d(const CardTensor& x, std::int64_t batch, std::int64_t height, std::int64_t width,
                            std::int64_t channels, const SlidingWindow& window) const {
  PoolOptions options;
  options.batch = batch;
  options.height = height;
  options.width = width;
  options.channels = channels;
  options.window = window;
  return CardTensor(pool2d(PoolKind::max, x.device_tensor(), options));
}

CardTensor Card::matmul(const CardTensor& a, const CardTensor& b, const std::optional<MemoryConfig>& memory) const {
  MatmulOptions options;
  options.memory_config = memory;
  return CardTensor(tensix::matmul(a.device_tensor(), b.device_tensor(), options));
}

CardTensor Card::add(const CardTensor& a, const CardTensor& b) const {
  return CardTensor(binary(Binary::Kind::add, a.device_tensor(), b.device_tensor()));
}

}  // namespace tessera::tensix
