#pragma once

// A tensor that lives in the banks of a device. Copies share the same buffer, as handles do.

#include "tessera/core/export.h"
#include "tessera/core/tensor.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/card/page_map.h"
#include "tessera/targets/tensix/card/tensor_spec.h"

#include <memory>

namespace tessera::tensix {

class TSR_API DeviceTensor {
 public:
  // Allocates; the contents are whatever the banks held before. An empty tensor takes no memory and has address 0.
  static DeviceTensor allocate(const std::shared_ptr<Device>& device, const TensorSpec& spec);
  // In more memory than its pages take, where an operation pads what it writes.
  static DeviceTensor allocate(const std::shared_ptr<Device>& device, const TensorSpec& spec,
                               const AllocationRequest& memory);
  // What allocate() would ask the allocator for.
  static AllocationRequest request(const Device& device, const TensorSpec& spec);
  // The same bytes under another spec, which must be cut into the same pages.
  DeviceTensor view(const TensorSpec& spec) const;
  // In memory that another one has or had, for replays of traces.
  static DeviceTensor borrow(const std::shared_ptr<Device>& device, const TensorSpec& spec, const Allocation& place);
  const Buffer* buffer() const { return buffer_.get(); }

  const TensorSpec& spec() const { return spec_; }
  const PageMap& pages() const { return pages_; }
  const std::shared_ptr<Device>& device() const { return device_; }

  std::int64_t address() const { return buffer_ ? buffer_->address() : 0; }
  std::int64_t page_bytes() const { return spec_.page_bytes(); }
  std::int64_t aligned_page_bytes() const { return aligned_page_bytes_; }
  std::int64_t num_pages() const { return spec_.num_pages(); }
  bool is_allocated() const { return device_->is_open() && (!buffer_ || buffer_->is_allocated()) && !gone_; }
  void check_allocated() const;  // says which tensor was used after it was freed

  // Whether no other handle shares the memory.
  bool is_sole_owner() const { return !buffer_ || buffer_.use_count() == 1; }
  // Frees the memory for all handles.
  void deallocate();

  // The bytes of one page where it lies.
  std::byte* page(std::int64_t index);
  const std::byte* page(std::int64_t index) const;

 private:
  DeviceTensor(std::shared_ptr<Device> device, const TensorSpec& spec);
  AllocationRequest request() const;

  std::shared_ptr<Device> device_;
  TensorSpec spec_;
  PageMap pages_;
  std::int64_t aligned_page_bytes_ = 0;
  std::shared_ptr<Buffer> buffer_;  // none for an empty tensor
  bool gone_ = false;
};

// Host memory to the device and back. The values arrive as they are: layout and dtype do not change.
TSR_API DeviceTensor to_device(const Tensor& x, const std::shared_ptr<Device>& device, const MemoryConfig& config = {});
TSR_API Tensor from_device(const DeviceTensor& x);
// Into memory that exists already; shape, dtype and layout must be those of the destination.
TSR_API void copy_host_to_device(const Tensor& x, DeviceTensor& y);

}  // namespace tessera::tensix
