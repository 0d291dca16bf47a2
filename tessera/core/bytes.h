#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace tessera {

// Leaves bytes as they come from the system where std::allocator would clear them: a large buffer that is about to be
// overwritten should not be written twice.
template <class T>
struct UninitializedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UninitializedAllocator<U>;
  };
  using std::allocator<T>::allocator;

  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }
};

// Bytes(n) holds anything; Bytes(n, std::byte{0}) holds zeros.
using Bytes = std::vector<std::byte, UninitializedAllocator<std::byte>>;

}  // namespace tessera
