#include "tessera/targets/tensix/card/bank_memory.h"

#include "tessera/core/error.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace tessera::tensix {

BankMemory::BankMemory(int banks, std::int64_t bank_bytes) : banks_(banks), bank_bytes_(bank_bytes) {
  if (banks_ == 0 || bank_bytes_ == 0) return;
  const std::size_t total = static_cast<std::size_t>(banks_) * static_cast<std::size_t>(bank_bytes_);
  void* reserved = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    fail(Code::out_of_memory, Hint{"raise the limit on address space (ulimit -v)"},
         "cannot reserve address space for {} banks of {} B: {}", banks_, bank_bytes_, std::strerror(errno));
  base_ = static_cast<std::byte*>(reserved);
}

BankMemory::~BankMemory() {
  if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(banks_) * static_cast<std::size_t>(bank_bytes_));
}

std::byte* BankMemory::at(int bank, std::int64_t address, std::int64_t size_bytes) {
  return const_cast<std::byte*>(static_cast<const BankMemory*>(this)->at(bank, address, size_bytes));
}

const std::byte* BankMemory::at(int bank, std::int64_t address, std::int64_t size_bytes) const {
  if (bank < 0 || bank >= banks_ || address < 0 || size_bytes < 0 || address > bank_bytes_ - size_bytes) [[unlikely]]
    fail(Code::internal, "bytes {} to {} of bank {} are outside a memory of {} banks of {} B", address,
         address + size_bytes, bank, banks_, bank_bytes_);
  return base_ + bank * bank_bytes_ + address;
}

}  // namespace tessera::tensix
