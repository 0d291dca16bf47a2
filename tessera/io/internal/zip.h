#pragma once

// The part of the ZIP format that .npz files use: stored and deflated members, one disk, no encryption.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::io {

struct ZipMember {
  std::string name;  // only a name: nothing is ever written to a path made from it
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t bytes = 0;            // as the directory declares
  std::span<const std::byte> packed;  // as in the file
};

// The members that the central directory lists, in its order. All of them lie inside the file, ahead of the directory,
// and do not overlap; names are unique UTF-8. Declared sizes are not larger than what deflate can produce.
std::vector<ZipMember> read_zip_directory(std::span<const std::byte> file);

// The member's bytes, with size and CRC-32 checked: a view of the file for stored members, of `buffer` otherwise.
std::span<const std::byte> extract(const ZipMember& member, std::vector<std::byte>& buffer);

// At most so many of the member's first bytes; nothing is checked but that they inflate.
std::vector<std::byte> extract_begin(const ZipMember& member, std::size_t most);

// One member to write: its bytes are the pieces one after the other.
struct ZipInput {
  std::string name;
  std::vector<std::span<const std::byte>> pieces;
};

// A ZIP file as a list of pieces, which refer to `records` and to the inputs.
struct ZipOutput {
  std::vector<std::vector<std::byte>> records;
  std::vector<std::span<const std::byte>> pieces;
};

// All members stored. Refuses duplicate names, and what needs the 64-bit extension: 4 GiB in all, 65,535 members.
ZipOutput layout_zip(std::span<const ZipInput> members);

}  // namespace tessera::io
