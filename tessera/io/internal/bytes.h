#pragma once

// Small helpers that the file readers share: bounded little-endian access, sizes, and text for messages.

#include "tessera/core/element_type.h"

#include <bit>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

static_assert(std::endian::native == std::endian::little, "the readers copy little-endian data as it is");

// NumPy's own limit; it also bounds what a hostile header can make us keep.
constexpr std::size_t kMaxRank = 64;

template <std::unsigned_integral T>
T read_little_endian(std::span<const std::byte> bytes, std::size_t at) {
  assert(at <= bytes.size() && bytes.size() - at >= sizeof(T));
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

template <std::unsigned_integral T>
void append_little_endian(std::vector<std::byte>& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

inline void append_text(std::vector<std::byte>& out, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The bytes of a tensor, or nothing if an extent is negative or the bytes do not fit 63 bits. Zero extents do not
// excuse the others: all of them together must be countable.
std::optional<std::int64_t> tensor_bytes(ElementType type, std::span<const std::int64_t> shape);

// "[2, 3]"
std::string shape_text(std::span<const std::int64_t> shape);

// Text from a file for use in a message: quoted, control characters escaped, cut after 80 bytes.
std::string in_quotes(std::string_view text);

bool is_utf8(std::string_view text);

// What every writer demands: extents that can be counted, rank in bounds, and as many bytes as they need.
void check_tensor(std::string_view what, ElementType type, std::span<const std::int64_t> shape, std::size_t bytes);

}  // namespace tessera::io
