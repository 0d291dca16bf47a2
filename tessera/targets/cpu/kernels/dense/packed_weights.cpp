#include "tessera/targets/cpu/kernels/kernel.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace tessera::cpu {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLargePage = 2 << 20;

thread_local WeightCache::Watch* watching = nullptr;

}  // namespace

void PackedWeights::Free::operator()(std::byte* at) const { std::free(at); }

PackedWeights::PackedWeights(std::size_t bytes) : bytes_(bytes) {
  // Large ones in large pages: a five-hundredth of the page faults when they are filled, and of the entries in the
  // processor's table of pages when they are read.
  const std::size_t alignment = bytes >= kLargePage ? kLargePage : kAlignment;
  void* at = nullptr;
  if (::posix_memalign(&at, alignment, std::max<std::size_t>(bytes, 1)) != 0) throw std::bad_alloc();
  data_.reset(static_cast<std::byte*>(at));
#if defined(MADV_HUGEPAGE)
  if (bytes >= kLargePage) static_cast<void>(::madvise(at, bytes / kLargePage * kLargePage, MADV_HUGEPAGE));
#endif
}

std::shared_ptr<const PackedWeights> WeightCache::get(const std::shared_ptr<const Array>& constant,
                                                      const std::string& key,
                                                      const std::function<PackedWeights(const Array&)>& pack) {
  if (watching != nullptr) watching->seen_.push_back(constant.get());
  // Packing under the lock keeps it to one call; plans of one model are seldom made side by side.
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[{constant.get(), key}];
  if (entry.constant.lock() == constant)
    if (std::shared_ptr<const PackedWeights> packed = entry.packed.lock()) return packed;
  auto packed = std::make_shared<const PackedWeights>(pack(constant->loaded()));
  if (constant->deferred() != nullptr) constant->deferred()->forget();
  entry = {constant, packed};
  std::erase_if(entries_, [](const auto& e) { return e.second.packed.expired(); });
  return packed;
}

std::int64_t WeightCache::bytes() const {
  const std::lock_guard lock(mutex_);
  std::int64_t bytes = 0;
  for (const auto& [key, entry] : entries_)
    if (const auto packed = entry.packed.lock()) bytes += static_cast<std::int64_t>(packed->bytes());
  return bytes;
}

WeightCache::Watch::Watch() : before_(std::exchange(watching, this)) {}
WeightCache::Watch::~Watch() { watching = before_; }

bool WeightCache::Watch::saw(const Array* constant) const {
  return std::find(seen_.begin(), seen_.end(), constant) != seen_.end();
}

}  // namespace tessera::cpu
