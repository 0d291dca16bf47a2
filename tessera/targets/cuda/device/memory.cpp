#include "tessera/targets/cuda/device/memory.h"

#include "tessera/core/error.h"
#include "tessera/targets/cuda/device/driver.h"

#include <fmt/format.h>

#include <utility>

namespace tessera::cuda {

Memory::Memory(const Context& context, std::int64_t bytes) : context_(&context), bytes_(bytes) {
  check(bytes >= 0, Code::invalid_argument, "cuda: a buffer cannot have {} bytes", bytes);
  context.make_current();
  if (bytes == 0) return;
  const CUresult result = driver().cuMemAlloc(&address_, static_cast<std::size_t>(bytes));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t free = 0, total = 0;
    ignore(driver().cuMemGetInfo(&free, &total));
    fail(Code::out_of_memory, "cuda: {} bytes were asked for; {} of the device's {} are free", bytes, free, total);
  }
  check_call(result, fmt::format("allocate {} bytes", bytes));
}

Memory::Memory(const Context& context, std::span<const std::byte> bytes)
    : Memory(context, static_cast<std::int64_t>(bytes.size())) {
  const Stream stream(context);
  write(stream, bytes);
  stream.synchronize();
}

Memory::~Memory() {
  if (address_ == 0) return;
  context_->make_current_if_alive();
  ignore(driver().cuMemFree(address_));
}

Memory::Memory(Memory&& other) noexcept
    : context_(other.context_), address_(std::exchange(other.address_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Memory::write(const Stream& stream, std::span<const std::byte> from, std::int64_t offset) const {
  check(offset >= 0 && offset + static_cast<std::int64_t>(from.size()) <= bytes_, Code::invalid_argument,
        "cuda: {} bytes from {} on do not fit into a buffer of {}", from.size(), offset, bytes_);
  if (!from.empty())
    check_call(driver().cuMemcpyHtoDAsync(address_ + static_cast<CUdeviceptr>(offset), from.data(), from.size(),
                                          stream.handle()),
               "copy to the device");
}

void copy_out(const Stream& stream, const void* from, std::span<std::byte> to) {
  if (!to.empty())
    check_call(driver().cuMemcpyDtoHAsync(to.data(), reinterpret_cast<CUdeviceptr>(from), to.size(), stream.handle()),
               "copy from the device");
}

void Memory::read(const Stream& stream, std::span<std::byte> to) const {
  check(static_cast<std::int64_t>(to.size()) <= bytes_, Code::invalid_argument,
        "cuda: {} bytes were asked of a buffer of {}", to.size(), bytes_);
  if (!to.empty())
    check_call(driver().cuMemcpyDtoHAsync(to.data(), address_, to.size(), stream.handle()), "copy from the device");
}

void Memory::fill(const Stream& stream, std::uint8_t value) const {
  if (bytes_ > 0)
    check_call(driver().cuMemsetD8Async(address_, value, static_cast<std::size_t>(bytes_), stream.handle()),
               "fill a buffer");
}

}  // namespace tessera::cuda
