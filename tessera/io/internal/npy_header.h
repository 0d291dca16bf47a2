#pragma once

#include "tessera/core/element_type.h"
#include "tessera/io/npy.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::io {

struct NpyHeader {
  ElementType type = ElementType::float32;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;  // as in the file; its size is what shape and type need
};

// Reads magic, version and header of a whole .npy file, and checks that exactly the data it announces follows.
NpyHeader parse_npy_header(std::span<const std::byte> file);

// The same of a file of `file_bytes`, of which the first kMostNpyHeadBytes are there, or all. `data` is left empty.
constexpr std::size_t kMostNpyHeadBytes = (1 << 16) + 64;
NpyHeader parse_npy_head(std::span<const std::byte> begin, std::uint64_t file_bytes);

// Everything ahead of the data; checks the array.
std::vector<std::byte> encode_npy_header(const NpyView& array);

}  // namespace tessera::io
