#include "tessera/io/npy.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/internal/bytes.h"
#include "tessera/io/internal/loaded_file.h"
#include "tessera/io/internal/npy_header.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tessera {
namespace {

// Copies Fortran order (first extent fastest) to C order (last extent fastest), walking the result in order.
template <std::size_t kBytes>
void copy_from_fortran(std::span<const std::int64_t> shape, const std::byte* from, std::byte* to, std::size_t count) {
  const std::size_t rank = shape.size();
  std::vector<std::int64_t> stride(rank, 1), index(rank, 0);
  for (std::size_t d = 1; d < rank; ++d) stride[d] = stride[d - 1] * shape[d - 1];
  std::int64_t source = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + i * kBytes, from + source * static_cast<std::int64_t>(kBytes), kBytes);
    for (std::size_t d = rank; d-- > 0;) {
      source += stride[d];
      if (++index[d] < shape[d]) break;
      source -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
}

void swap_bytes(std::span<std::byte> data, std::size_t element) {
  for (std::size_t at = 0; at < data.size(); at += element) std::reverse(&data[at], &data[at] + element);
}

}  // namespace

NpyArray parse_npy(std::span<const std::byte> file) {
  io::NpyHeader header = io::parse_npy_header(file);
  NpyArray array{header.type, std::move(header.shape), {}};
  const std::size_t element = static_cast<std::size_t>(element_bytes(array.type));
  if (header.fortran_order && array.shape.size() > 1 && !header.data.empty()) {
    array.data.resize(header.data.size());
    const auto copy = element == 1   ? copy_from_fortran<1>
                      : element == 2 ? copy_from_fortran<2>
                      : element == 4 ? copy_from_fortran<4>
                                     : copy_from_fortran<8>;
    copy(array.shape, header.data.data(), array.data.data(), header.data.size() / element);
  } else {
    array.data.assign(header.data.begin(), header.data.end());
  }
  if (header.big_endian) swap_bytes(array.data, element);
  return array;
}

NpyArray load_npy(const std::filesystem::path& path) {
  return with_context("while reading " + path.string(), [&] { return parse_npy(io::LoadedFile(path).bytes()); });
}

NpyType load_npy_type(const std::filesystem::path& path) {
  return with_context("while reading " + path.string(), [&] {
    const io::OpenFile file(path);
    std::vector<std::byte> begin(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), io::kMostNpyHeadBytes)));
    file.read(0, begin);
    io::NpyHeader header = io::parse_npy_head(begin, file.size());
    return NpyType{header.type, std::move(header.shape)};
  });
}

std::vector<std::byte> encode_npy(const NpyView& array) {
  std::vector<std::byte> out = io::encode_npy_header(array);
  out.insert(out.end(), array.data.begin(), array.data.end());
  return out;
}

void save_npy(const std::filesystem::path& path, const NpyView& array) {
  with_context("while writing " + path.string(), [&] {
    const std::vector<std::byte> header = io::encode_npy_header(array);
    write_file_atomically(path, std::array<std::span<const std::byte>, 2>{header, array.data});
  });
}

}  // namespace tessera
