#include "tessera/core/deferred_bytes.h"

namespace tessera {

DeferredBytes::~DeferredBytes() = default;

std::span<const std::byte> DeferredBytes::kept() const {
  std::call_once(once_, [&] {
    Bytes bytes(size_);
    write(bytes.data());
    made_bytes_ = std::move(bytes);
    made_ = true;
  });
  return made_bytes_;
}

}  // namespace tessera
