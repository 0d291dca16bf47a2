#include "fuzz.h"

#include "tessera/core/error.h"
#include "tessera/io/safetensors.h"

#include <algorithm>
#include <optional>

namespace {

// By name, since the writer orders tensors in its own way.
std::vector<tessera::SafetensorsTensor> sorted(std::vector<tessera::SafetensorsTensor> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return tensors;
}

bool equal(const tessera::SafetensorsTensor& a, const tessera::SafetensorsTensor& b) {
  return a.name == b.name && a.type == b.type && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
}

}  // namespace

int fuzz_one(std::span<const std::uint8_t> input) {
  std::optional<tessera::Safetensors> content;
  try {
    content = tessera::parse_safetensors(std::as_bytes(input));
  } catch (const tessera::Error& error) {
    return tessera::fuzz::refused(error);
  }
  const std::vector<std::byte> file = tessera::encode_safetensors(content->tensors, content->metadata);
  const tessera::Safetensors again = tessera::parse_safetensors(file);
  tessera::fuzz::require(again.metadata == content->metadata, "metadata written and read again is equal");
  tessera::fuzz::require(std::ranges::equal(sorted(again.tensors), sorted(content->tensors), equal),
                         "tensors written and read again are equal");
  tessera::fuzz::require(tessera::encode_safetensors(again.tensors, again.metadata) == file,
                         "what we wrote is written the same again");
  return 0;
}
