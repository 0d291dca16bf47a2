#pragma once

// ttnn.Tensor: one Python class for tensors on the host and on a device.

#include "ttnn_enums.h"

#include "tessera/core/tensor.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <memory>
#include <optional>
#include <string_view>
#include <variant>

namespace tessera::python {

class AnyTensor {
 public:
  AnyTensor(Tensor tensor) : value_(std::make_shared<Tensor>(std::move(tensor))) {}
  AnyTensor(tensix::DeviceTensor tensor) : value_(std::move(tensor)) {}

  bool on_device() const { return std::holds_alternative<tensix::DeviceTensor>(value_); }

  // Each refuses the other kind; `what` says what was asked for.
  const Tensor& host(std::string_view what) const;
  const tensix::DeviceTensor& device(std::string_view what) const;
  tensix::DeviceTensor& device(std::string_view what);

  // Into a host tensor of the same shape, dtype and layout.
  void assign_host(Tensor values, std::string_view what);

  // The values on the host, wherever they are now.
  std::shared_ptr<const Tensor> on_host() const;

  const Shape& shape() const;
  Shape padded_shape() const;
  DType dtype() const;
  Layout layout() const;
  Tile tile() const;
  tensix::MemoryConfig memory_config() const;  // a host tensor's is the default one
  tensix::TensorSpec spec() const;

 private:
  std::variant<std::shared_ptr<Tensor>, tensix::DeviceTensor> value_;
};

// A host tensor to a device; a device tensor comes back as it is, whatever `config` says.
AnyTensor to_device(const AnyTensor& x, const std::shared_ptr<tensix::Device>& device,
                    const std::optional<tensix::MemoryConfig>& config);
AnyTensor from_device(const AnyTensor& x);
// Frees the memory of a device tensor, unless others share it and `force` is false. Nothing happens to host tensors.
void deallocate(AnyTensor& x, bool force);
AnyTensor to_layout(const AnyTensor& x, Layout layout, std::optional<DType> dtype,
                    const std::optional<tensix::MemoryConfig>& config);
AnyTensor typecast(const AnyTensor& x, DType dtype, const std::optional<tensix::MemoryConfig>& config);

}  // namespace tessera::python
