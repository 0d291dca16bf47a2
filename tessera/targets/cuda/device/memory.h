#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/cuda/device/context.h"
#include "tessera/targets/cuda/device/stream.h"

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::cuda {

// Bytes on the device. Uninitialised; of no size: no address.
class TSR_API Memory {
 public:
  Memory() = default;
  Memory(const Context& context, std::int64_t bytes);
  Memory(const Context& context, std::span<const std::byte> bytes);  // a copy; it is there when this returns
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;

  void* data() const { return reinterpret_cast<void*>(address_); }
  std::int64_t bytes() const { return bytes_; }

  // In the order of the stream. The host's bytes must stay until it has come so far.
  void write(const Stream& stream, std::span<const std::byte> from, std::int64_t offset = 0) const;
  void read(const Stream& stream, std::span<std::byte> to) const;
  void fill(const Stream& stream, std::uint8_t value) const;

 private:
  const Context* context_ = nullptr;
  CUdeviceptr address_ = 0;
  std::int64_t bytes_ = 0;
};

// From an address on the device, in the order of the stream.
TSR_API void copy_out(const Stream& stream, const void* from, std::span<std::byte> to);

}  // namespace tessera::cuda
