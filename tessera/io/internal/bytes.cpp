#include "tessera/io/internal/bytes.h"

#include "tessera/core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::io {

std::optional<std::int64_t> tensor_bytes(ElementType type, std::span<const std::int64_t> shape) {
  std::int64_t product = element_bytes(type);
  bool empty = false;
  for (std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(product, extent, &product))
      return std::nullopt;
  }
  return empty ? 0 : product;
}

std::string shape_text(std::span<const std::int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string out = "'";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  // A sequence cut in the middle, or never whole, would make the message itself invalid text.
  if (!is_utf8(out))
    for (char& c : out)
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return out + (text.size() > kLongest ? "...'" : "'");
}

bool is_utf8(std::string_view text) {
  std::size_t i = 0;
  const auto at = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  while (i < text.size()) {
    const unsigned char lead = at(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t extra = lead >= 0xc2 && lead <= 0xdf   ? 1
                              : (lead & 0xf0) == 0xe0        ? 2
                              : lead >= 0xf0 && lead <= 0xf4 ? 3
                                                             : 0;
    if (extra == 0 || text.size() - i <= extra) return false;
    for (std::size_t k = 1; k <= extra; ++k)
      if ((at(i + k) & 0xc0) != 0x80) return false;
    const unsigned char second = at(i + 1);
    if (lead == 0xe0 && second < 0xa0) return false;  // longer than needed
    if (lead == 0xed && second > 0x9f) return false;  // half of a surrogate pair
    if (lead == 0xf0 && second < 0x90) return false;  // longer than needed
    if (lead == 0xf4 && second > 0x8f) return false;  // beyond U+10FFFF
    i += extra + 1;
  }
  return true;
}

void check_tensor(std::string_view what, ElementType type, std::span<const std::int64_t> shape, std::size_t bytes) {
  if (shape.size() > kMaxRank)
    fail(Code::invalid_argument, "{}: rank {} is more than {}", what, shape.size(), kMaxRank);
  const std::optional<std::int64_t> needed = tensor_bytes(type, shape);
  if (!needed)
    fail(Code::invalid_argument, "{}: shape {} of {} cannot be counted in 63 bits", what, shape_text(shape),
         name(type));
  if (static_cast<std::uint64_t>(*needed) != bytes)
    fail(Code::invalid_argument, "{}: shape {} of {} needs {} bytes, got {}", what, shape_text(shape), name(type),
         *needed, bytes);
}

}  // namespace tessera::io
