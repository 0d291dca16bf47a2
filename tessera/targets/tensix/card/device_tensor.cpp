#include "tessera/targets/tensix/card/device_tensor.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/page_copy.h"

namespace tessera::tensix {

DeviceTensor::DeviceTensor(std::shared_ptr<Device> device, const TensorSpec& spec)
    : device_(std::move(device)), spec_(spec), pages_(spec_, device_->banks(spec_.memory_config().buffer_type())) {
  aligned_page_bytes_ =
      round_up(spec_.page_bytes(), device_->allocator().page_alignment_bytes(spec_.memory_config().buffer_type()));
}

DeviceTensor DeviceTensor::allocate(const std::shared_ptr<Device>& device, const TensorSpec& spec) {
  device->check_open();
  return allocate(device, spec, DeviceTensor(device, spec).request());
}

DeviceTensor DeviceTensor::allocate(const std::shared_ptr<Device>& device, const TensorSpec& spec,
                                    const AllocationRequest& memory) {
  device->check_open();
  DeviceTensor t(device, spec);
  check(memory.bytes_per_bank >= t.request().bytes_per_bank, Code::internal, "{} B per bank for a tensor of {} B",
        memory.bytes_per_bank, t.request().bytes_per_bank);
  const BufferType type = spec.memory_config().buffer_type();
  check(type != BufferType::l1_small || spec.memory_config().is_sharded(), Code::invalid_argument,
        "L1_SMALL holds sharded tensors only, the tensor of shape {} is INTERLEAVED", spec.logical_shape().to_string());
  if (spec.num_pages() == 0) return t;
  BufferContents holds{fmt::format("{} {} {} {}", spec.logical_shape().to_string(), name(spec.dtype()),
                                   name(spec.layout()), name(spec.memory_config().layout())),
                       t.pages_.pages_by_bank()};
  for (std::int64_t& pages : holds.bytes_by_bank) pages *= spec.page_bytes();
  t.buffer_ = device->allocate(type, memory, std::move(holds));
  return t;
}

AllocationRequest DeviceTensor::request() const {
  const std::int64_t need = pages_.slots_per_bank() * aligned_page_bytes_;
  const std::int64_t total =
      spec_.memory_config().is_sharded() ? need * pages_.banks_used() : spec_.num_pages() * aligned_page_bytes_;
  return {need, total, pages_.banks_used()};
}

AllocationRequest DeviceTensor::request(const Device& device, const TensorSpec& spec) {
  return DeviceTensor(std::const_pointer_cast<Device>(device.shared_from_this()), spec).request();
}

DeviceTensor DeviceTensor::view(const TensorSpec& spec) const {
  check(spec.page_bytes() == spec_.page_bytes() && spec.num_pages() == spec_.num_pages(), Code::internal,
        "a view of {} pages of {} B cannot have {} pages of {} B", num_pages(), page_bytes(), spec.num_pages(),
        spec.page_bytes());
  DeviceTensor t(device_, spec);
  t.buffer_ = buffer_;
  return t;
}

void DeviceTensor::check_allocated() const {
  device_->check_open();
  check(is_allocated(), Code::invalid_argument, "the tensor of shape {} on device {} was deallocated",
        spec_.logical_shape().to_string(), device_->id());
}

DeviceTensor DeviceTensor::borrow(const std::shared_ptr<Device>& device, const TensorSpec& spec,
                                  const Allocation& place) {
  DeviceTensor out(device, spec);
  out.buffer_ = std::make_shared<Buffer>(device, place);
  return out;
}

void DeviceTensor::deallocate() {
  if (buffer_)
    buffer_->deallocate();
  else
    gone_ = true;
}

std::byte* DeviceTensor::page(std::int64_t index) {
  const PagePlace at = pages_.place(index);
  return device_->memory(spec_.memory_config().buffer_type())
      .at(at.bank, address() + at.slot * aligned_page_bytes_, spec_.page_bytes());
}

const std::byte* DeviceTensor::page(std::int64_t index) const { return const_cast<DeviceTensor*>(this)->page(index); }

DeviceTensor to_device(const Tensor& x, const std::shared_ptr<Device>& device, const MemoryConfig& config) {
  device->before_transfer("to_device");
  DeviceTensor y = DeviceTensor::allocate(device, TensorSpec(x.shape(), x.dtype(), x.layout(), config, x.tile()));
  const Transfer moved = write_pages(x, y);
  device->note_transfer({ProgramKind::to_device, x.to_string(), {moved}});
  return y;
}

void copy_host_to_device(const Tensor& x, DeviceTensor& y) {
  y.device()->before_transfer("copy_host_to_device");
  y.check_allocated();
  const TensorSpec& spec = y.spec();
  if (x.shape() != spec.logical_shape() || x.dtype() != spec.dtype() || x.layout() != spec.layout() ||
      x.tile() != spec.tile())
    fail(Code::invalid_argument, "a host tensor {} cannot be copied into a device tensor {} {} {}", x.to_string(),
         spec.logical_shape().to_string(), name(spec.dtype()), name(spec.layout()));
  const Transfer moved = write_pages(x, y);
  y.device()->note_transfer({ProgramKind::copy_host_to_device, x.to_string(), {moved}});
}

Tensor from_device(const DeviceTensor& x) {
  x.device()->before_transfer("from_device");
  x.check_allocated();
  Transfer moved;
  Tensor y = read_pages(x, &moved);
  x.device()->note_transfer({ProgramKind::from_device, y.to_string(), {moved}});
  return y;
}

}  // namespace tessera::tensix
