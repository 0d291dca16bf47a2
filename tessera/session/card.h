#pragma once

// A simulated card, for programs: tensors in its banks, and the operators that networks of images are made of. Memory,
// values and errors are those of the real card. What it takes to run a whole network on it is a plan's affair.
//
//   const Card card(load_machine("wormhole_n150"));
//   const CardTensor x = card.to_device(image, kL1MemoryConfig);
//   const CardConv2d y = card.conv2d(x, weights, bias, problem);

#include "tessera/core/export.h"
#include "tessera/core/tensor.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/card/memory_config.h"
#include "tessera/targets/tensix/card/tensor_spec.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_problem.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace tessera::tensix {

class Device;
class DeviceTensor;

// A tensor on a card. Copies share the memory, as handles do; it is freed with the last of them.
class TSR_API CardTensor {
 public:
  explicit CardTensor(const DeviceTensor& tensor);

  const TensorSpec& spec() const;
  std::int64_t address() const;  // the same in every bank
  bool is_allocated() const;
  void deallocate();  // for all handles

  DeviceTensor& device_tensor() const { return *tensor_; }  // its header is not installed

 private:
  std::shared_ptr<DeviceTensor> tensor_;
};

struct CardOptions {
  std::int64_t l1_small_bytes = 0;  // per core, reserved at the top of L1 for small sharded tensors
  bool values = true;               // false: memory and errors only, nothing is computed
};

struct CardConv2d {
  CardTensor output;  // [1, 1, batch * out_h * out_w, out_channels]
  std::int64_t out_h = 0, out_w = 0;
  std::int64_t peak_bytes_per_core = 0;  // of L1, while it ran
};

class TSR_API Card {
 public:
  // An Error for machines of other families.
  explicit Card(const Machine& machine, const CardOptions& options = {});

  CardTensor allocate(const TensorSpec& spec) const;
  CardTensor to_device(const Tensor& x, const MemoryConfig& memory = {}) const;
  Tensor from_device(const CardTensor& x) const;
  std::int64_t allocated_bytes_per_bank(BufferType memory) const;

  // Weights and bias as the model has them. Dtype, layout and place of the input are taken from the tensor. An input in
  // L1 is freed only where problem.config.deallocate_activation says so.
  CardConv2d conv2d(const CardTensor& x, const Tensor& weights, const std::optional<Tensor>& bias,
                    const Conv2dProblem& problem) const;
  // Over [1, 1, batch * height * width, channels].
  CardTensor max_pool2d(const CardTensor& x, std::int64_t batch, std::int64_t height, std::int64_t width,
                        std::int64_t channels, const SlidingWindow& window) const;
  CardTensor matmul(const CardTensor& a, const CardTensor& b,
                    const std::optional<MemoryConfig>& memory = std::nullopt) const;
  CardTensor add(const CardTensor& a, const CardTensor& b) const;

 private:
  std::shared_ptr<Device> device_;
};

}  // namespace tessera::tensix
