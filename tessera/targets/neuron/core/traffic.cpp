#include "tessera/targets/neuron/core/traffic.h"

#include "tessera/targets/neuron/core/tile.h"

#include <utility>

namespace tessera::neuron {
namespace {

// Where a view begins and how it goes on, as bytes that compare.
std::string part_of(const View& view) {
  std::vector<std::int64_t> numbers{view.offset()};
  for (const Extent& each : view.dims()) {
    if (each.size == 1) continue;
    numbers.push_back(each.size);
    numbers.push_back(each.stride);
  }
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t)};
}

}  // namespace

std::int64_t Traffic::add(std::string name, std::int64_t bytes) {
  TensorTraffic tensor;
  tensor.name = std::move(name);
  tensor.bytes = bytes;
  tensors_.push_back(std::move(tensor));
  seen_.emplace_back();
  return static_cast<std::int64_t>(tensors_.size()) - 1;
}

void Traffic::count(const View& src, const View& dst) {
  if (src.memory() == Memory::hbm) {
    const auto at = static_cast<std::size_t>(src.tile().serial);
    TensorTraffic& tensor = tensors_[at];
    ++tensor.loads;
    tensor.loaded_bytes += src.bytes();
    if (seen_[at].insert(part_of(src)).second) {
      ++tensor.distinct_loads;
      tensor.distinct_bytes += src.bytes();
    }
  }
  if (dst.memory() == Memory::hbm) {
    TensorTraffic& tensor = tensors_[static_cast<std::size_t>(dst.tile().serial)];
    ++tensor.stores;
    tensor.stored_bytes += dst.bytes();
  }
}

}  // namespace tessera::neuron
