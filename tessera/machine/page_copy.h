#pragma once

// Moving the pages of a tensor: between host and banks, and from bank to bank. Each function counts what it moves.

#include "tessera/core/export.h"
#include "tessera/core/tensor.h"
#include "tessera/core/trace.h"
#include "tessera/machine/device_tensor.h"

namespace tessera {

TSR_API MemoryKind memory_kind(BufferType type);

// Host to device and back. Padding of rows in banks is written as zero.
Transfer write_pages(const Tensor& x, DeviceTensor& y);
Tensor read_pages(const DeviceTensor& x, Transfer* moved = nullptr);

// Bank to bank, for tensors that differ only in their memory config: whole pages in TILE layout, pieces of rows in
// ROW_MAJOR, where shards may cut rows differently.
Transfer copy_pages(const DeviceTensor& x, DeviceTensor& y);

// What an operation moves that reads all of x and writes all of y, when their pages do not correspond one to one: reads
// into the cores that work, and writes out of them.
std::vector<Transfer> stream_transfers(const DeviceTensor& x, const DeviceTensor& y);

}  // namespace tessera
