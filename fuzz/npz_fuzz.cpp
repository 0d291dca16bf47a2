#include "fuzz.h"

#include "tessera/io/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace {

using Bytes = std::vector<std::uint8_t>;

int check_archive(std::span<const std::uint8_t> input) {
  std::optional<tessera::NpzArrays> arrays;
  try {
    arrays = tessera::parse_npz(std::as_bytes(input));
  } catch (const tessera::Error& error) {
    return tessera::fuzz::refused(error);
  }
  std::size_t bytes = 0;
  for (const auto& [name, array] : *arrays) bytes += array.data.size();
  tessera::fuzz::require(bytes <= 1032 * input.size(), "no more data than deflate can yield");
  tessera::fuzz::require(tessera::parse_npz(tessera::encode_npz(*arrays)) == *arrays,
                         "written and read again is equal");
  return 0;
}

template <class T>
T load(const Bytes& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Whatever comes out of the member, up to 256 KiB.
Bytes unpack(std::span<const std::uint8_t> packed, bool deflated) {
  if (!deflated) return {packed.begin(), packed.end()};
  static Bytes out(1 << 18);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) std::abort();
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(stream.total_out)};
}

// Without this, nearly every change to a member would end at its checksum. Sizes of deflated members are put right too.
bool repair_checksums(Bytes& bytes) {
  static constexpr char kCentral[] = {'P', 'K', 1, 2};
  bool changed = false;
  for (auto it = bytes.begin();; ++it) {
    it = std::search(it, bytes.end(), std::begin(kCentral), std::end(kCentral));
    const auto at = static_cast<std::size_t>(it - bytes.begin());
    if (bytes.size() - at < 46) return changed;
    const std::size_t local = load<std::uint32_t>(bytes, at + 42), packed_bytes = load<std::uint32_t>(bytes, at + 20);
    if (local + 30 > bytes.size()) continue;
    const std::size_t data =
        local + 30 + load<std::uint16_t>(bytes, local + 26) + load<std::uint16_t>(bytes, local + 28);
    if (data > bytes.size() || packed_bytes > bytes.size() - data) continue;
    const bool deflated = load<std::uint16_t>(bytes, at + 10) == 8;
    const Bytes content = unpack(std::span(bytes).subspan(data, packed_bytes), deflated);
    const auto crc = static_cast<std::uint32_t>(crc32_z(0, content.data(), content.size()));
    const auto size = static_cast<std::uint32_t>(content.size());
    changed = changed || load<std::uint32_t>(bytes, at + 16) != crc;
    std::memcpy(bytes.data() + at + 16, &crc, 4);
    std::memcpy(bytes.data() + local + 14, &crc, 4);
    if (!deflated) continue;
    std::memcpy(bytes.data() + at + 24, &size, 4);
    if (load<std::uint32_t>(bytes, local + 22) != 0xffffffff) std::memcpy(bytes.data() + local + 22, &size, 4);
  }
}

}  // namespace

int fuzz_one(std::span<const std::uint8_t> input) {
  const int place = check_archive(input);
  Bytes repaired(input.begin(), input.end());
  return repair_checksums(repaired) ? check_archive(repaired) : place;
}
