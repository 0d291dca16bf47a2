#pragma once

// The bytes of all banks of one memory. They are reserved as address space and become real memory when first written,
// so a card with gigabytes of DRAM costs what its tensors cost.

#include "tessera/core/export.h"

#include <cstddef>
#include <cstdint>

namespace tessera::tensix {

class TSR_API BankMemory {
 public:
  BankMemory(int banks, std::int64_t bank_bytes);
  ~BankMemory();
  BankMemory(const BankMemory&) = delete;
  BankMemory& operator=(const BankMemory&) = delete;

  int banks() const { return banks_; }
  std::int64_t bank_bytes() const { return bank_bytes_; }

  // Bytes [address, address + size) of a bank; never written ones read as zero. Out of range is an internal Error.
  std::byte* at(int bank, std::int64_t address, std::int64_t size_bytes);
  const std::byte* at(int bank, std::int64_t address, std::int64_t size_bytes) const;

 private:
  int banks_;
  std::int64_t bank_bytes_;
  std::byte* base_ = nullptr;
};

}  // namespace tessera::tensix
