#pragma once

// What fast layers allocate, counted: weights that they pack and workspaces of their runs.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::ncp {

struct MemoryCounter {
  std::atomic<std::int64_t> allocated{0};  // since the start of the process
  std::atomic<std::int64_t> freed{0};
  std::atomic<std::int64_t> current{0};
  std::atomic<std::int64_t> peak{0};

  void add(std::int64_t bytes) {
    allocated += bytes;
    const std::int64_t now = current += bytes;
    std::int64_t before = peak;
    while (before < now && !peak.compare_exchange_weak(before, now)) {
    }
  }
  void remove(std::int64_t bytes) {
    freed += bytes;
    current -= bytes;
  }
};
inline MemoryCounter& memory_counter() {
  static MemoryCounter counter;
  return counter;
}

template <class T>
struct CountedAllocator {
  using value_type = T;
  CountedAllocator() = default;
  template <class U>
  CountedAllocator(const CountedAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(std::size_t n) {
    T* out = std::allocator<T>().allocate(n);
    memory_counter().add(static_cast<std::int64_t>(n * sizeof(T)));
    return out;
  }
  void deallocate(T* p, std::size_t n) {
    memory_counter().remove(static_cast<std::int64_t>(n * sizeof(T)));
    std::allocator<T>().deallocate(p, n);
  }
  bool operator==(const CountedAllocator&) const { return true; }
};

using CountedFloats = std::vector<float, CountedAllocator<float>>;

}  // namespace tessera::ncp
