#include "tessera/backends/cpu/kernel.h"

#include <new>

namespace tessera::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void PackedWeights::Free::operator()(std::byte* at) const { ::operator delete[](at, kAlignment); }

PackedWeights::PackedWeights(std::size_t bytes)
    : data_(static_cast<std::byte*>(::operator new[](bytes, kAlignment))), bytes_(bytes) {}

std::shared_ptr<const PackedWeights> WeightCache::get(const std::shared_ptr<const Array>& constant,
                                                      const std::string& key,
                                                      const std::function<PackedWeights(const Array&)>& pack) {
  // Packing under the lock keeps it to one call; plans of one model are seldom made side by side.
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[{constant.get(), key}];
  if (entry.constant.lock() == constant)
    if (std::shared_ptr<const PackedWeights> packed = entry.packed.lock()) return packed;
  auto packed = std::make_shared<const PackedWeights>(pack(*constant));
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

}  // namespace tessera::cpu
