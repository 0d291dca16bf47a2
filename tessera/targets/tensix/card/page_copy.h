#pragma once

// Moving the pages of a tensor: between host and banks, and from bank to bank. Each function counts what it moves.

#include "tessera/core/export.h"
#include "tessera/core/tensor.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/trace.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::tensix {

TSR_API MemoryKind memory_kind(BufferType type);

// Host to device and back. Padding of rows in banks is written as zero. A device without values counts, but copies
// nothing; what is read from it is zero.
Transfer write_pages(const Tensor& x, DeviceTensor& y);
Tensor read_pages(const DeviceTensor& x, Transfer* moved = nullptr);

// What an operator computes: `compute` gives the Tensor. A device without values does not ask for it.
template <class Compute>
void write_values(DeviceTensor& y, Compute&& compute) {
  if (y.device()->options().values) write_pages(std::forward<Compute>(compute)(), y);
}

// What writing all of y from the host moves.
Transfer host_transfer(const DeviceTensor& y);

// to_device() of what `compute` gives, a Tensor of this spec. A device without values does not ask for it.
template <class Compute>
DeviceTensor send_values(const std::shared_ptr<Device>& device, const TensorSpec& spec, Compute&& compute) {
  if (device->options().values) return to_device(std::forward<Compute>(compute)(), device, spec.memory_config());
  DeviceTensor y = DeviceTensor::allocate(device, spec);
  device->note_transfer({ProgramKind::to_device,
                         spec.logical_shape().to_string() + " " + std::string(name(spec.dtype())) + " " +
                             std::string(name(spec.layout())),
                         {host_transfer(y)}});
  return y;
}

// Bank to bank, for tensors that differ only in their memory config: whole pages in TILE layout, pieces of rows in
// ROW_MAJOR, where shards may cut rows differently.
Transfer copy_pages(const DeviceTensor& x, DeviceTensor& y);

// What an operation moves that reads all of x and writes all of y, when their pages do not correspond one to one: reads
// into the cores that work, and writes out of them.
std::vector<Transfer> stream_transfers(const DeviceTensor& x, const DeviceTensor& y);

}  // namespace tessera::tensix
