#pragma once

// Bytes of an array that are there only when someone asks for them: weights that lie in a mapped file at any address,
// or that follow from such weights.

#include "tessera/core/bytes.h"
#include "tessera/core/export.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>

namespace tessera {

class TSR_API DeferredBytes {
 public:
  explicit DeferredBytes(std::size_t size) : size_(size) {}
  virtual ~DeferredBytes();
  DeferredBytes(const DeferredBytes&) = delete;
  DeferredBytes& operator=(const DeferredBytes&) = delete;

  std::size_t size() const { return size_; }

  // All of them, aligned for any element: made at the first call and kept from then on. Safe from several threads.
  std::span<const std::byte> kept() const;
  bool is_kept() const { return made_; }

  // Writes all of them and keeps nothing.
  virtual void write(std::byte* to) const = 0;
  // Where they lie for now, aligned or not, for who reads them at once; null: nowhere.
  virtual const std::byte* where() const { return nullptr; }
  // Nobody needs them for a while: memory that comes back by itself may go.
  virtual void forget() const {}

 private:
  std::size_t size_;
  mutable std::once_flag once_;
  mutable std::atomic<bool> made_ = false;
  mutable Bytes made_bytes_;
};

}  // namespace tessera
