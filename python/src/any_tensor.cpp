#include "any_tensor.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

namespace tessera::python {

const Tensor& AnyTensor::host(std::string_view what) const {
  const auto* tensor = std::get_if<std::shared_ptr<Tensor>>(&value_);
  check(tensor != nullptr, Code::invalid_argument, Hint{"bring it to the host first: ttnn.from_device"},
        "{} expects a tensor in host memory, but this one is on a device", what);
  return **tensor;
}

const tensix::DeviceTensor& AnyTensor::device(std::string_view what) const {
  return const_cast<AnyTensor*>(this)->device(what);
}

tensix::DeviceTensor& AnyTensor::device(std::string_view what) {
  auto* tensor = std::get_if<tensix::DeviceTensor>(&value_);
  check(tensor != nullptr, Code::invalid_argument, Hint{"put it on a device first: ttnn.to_device"},
        "{} expects a tensor on a device, but this one is in host memory", what);
  return *tensor;
}

void AnyTensor::assign_host(Tensor values, std::string_view what) {
  const Tensor& to = host(what);
  check(to.shape() == values.shape() && to.dtype() == values.dtype() && to.layout() == values.layout(),
        Code::invalid_argument, "{}: a device tensor {} cannot be copied into a host tensor {}", what,
        values.to_string(), to.to_string());
  *std::get<std::shared_ptr<Tensor>>(value_) = std::move(values);
}

std::shared_ptr<const Tensor> AnyTensor::on_host() const {
  if (const auto* tensor = std::get_if<std::shared_ptr<Tensor>>(&value_)) return *tensor;
  return std::make_shared<const Tensor>(tensix::from_device(std::get<tensix::DeviceTensor>(value_)));
}

const Shape& AnyTensor::shape() const {
  return on_device() ? std::get<tensix::DeviceTensor>(value_).spec().logical_shape() : std::get<0>(value_)->shape();
}

Shape AnyTensor::padded_shape() const { return spec().padded_shape(); }

DType AnyTensor::dtype() const {
  return on_device() ? std::get<tensix::DeviceTensor>(value_).spec().dtype() : std::get<0>(value_)->dtype();
}

Layout AnyTensor::layout() const {
  return on_device() ? std::get<tensix::DeviceTensor>(value_).spec().layout() : std::get<0>(value_)->layout();
}

Tile AnyTensor::tile() const {
  return on_device() ? std::get<tensix::DeviceTensor>(value_).spec().tile() : std::get<0>(value_)->tile();
}

tensix::MemoryConfig AnyTensor::memory_config() const {
  return on_device() ? std::get<tensix::DeviceTensor>(value_).spec().memory_config() : tensix::MemoryConfig();
}

tensix::TensorSpec AnyTensor::spec() const {
  if (on_device()) return std::get<tensix::DeviceTensor>(value_).spec();
  return {shape(), dtype(), layout(), {}, tile()};
}

AnyTensor to_device(const AnyTensor& x, const std::shared_ptr<tensix::Device>& device,
                    const std::optional<tensix::MemoryConfig>& config) {
  if (x.on_device()) return x;
  return tensix::to_device(x.host("to_device"), device, config.value_or(tensix::MemoryConfig()));
}

AnyTensor from_device(const AnyTensor& x) {
  if (!x.on_device()) return x;
  return tensix::from_device(x.device("from_device"));
}

void deallocate(AnyTensor& x, bool force) {
  if (!x.on_device()) return;
  tensix::DeviceTensor& tensor = x.device("deallocate");
  if (force || tensor.is_sole_owner()) tensor.deallocate();
}

AnyTensor to_layout(const AnyTensor& x, Layout layout, std::optional<DType> dtype,
                    const std::optional<tensix::MemoryConfig>& config) {
  if (x.on_device()) return tensix::to_layout(x.device("to_layout"), layout, dtype, config);
  if (x.layout() == layout) return x;
  check(!config, Code::invalid_argument,
        "to_layout: a tensor in host memory has no place that a memory_config could name");
  Tensor y = tessera::to_layout(x.host("to_layout"), layout);
  return dtype ? tessera::typecast(y, *dtype) : y;
}

AnyTensor typecast(const AnyTensor& x, DType dtype, const std::optional<tensix::MemoryConfig>& config) {
  if (x.on_device()) return tensix::typecast(x.device("typecast"), dtype, config);
  return tessera::typecast(x.host("typecast"), dtype);
}

}  // namespace tessera::python
