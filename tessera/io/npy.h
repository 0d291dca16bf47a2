#pragma once

// NumPy's .npy files (format 1.0, 2.0 and 3.0): one array each.
//
// Read: f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 in either byte order, C or Fortran order. bfloat16 is read from 'V2' (two
// bytes of anything: what numpy.save writes for arrays of the ml_dtypes package, and what numpy.load gives back without
// it) and from 'bfloat16'. Object and record arrays are refused; nothing is ever unpickled.
// Written: format 1.0, C order, little-endian, byte for byte what numpy.save writes; bfloat16 as '<V2'
// (numpy.load(f).view(ml_dtypes.bfloat16) reads it).
// A header that claims more or fewer bytes than the file has is an error before anything is allocated.

#include "tessera/core/element_type.h"
#include "tessera/core/export.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace tessera {

// An array in C order and native byte order. Rank 0 is one element; an extent of 0 is no data.
struct NpyArray {
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  bool operator==(const NpyArray&) const = default;
};

// The same, owned by someone else.
struct NpyView {
  ElementType type = ElementType::float32;
  std::span<const std::int64_t> shape;
  std::span<const std::byte> data;

  NpyView() = default;
  NpyView(ElementType t, std::span<const std::int64_t> s, std::span<const std::byte> d) : type(t), shape(s), data(d) {}
  NpyView(const NpyArray& array) : type(array.type), shape(array.shape), data(array.data) {}
};

TSR_API NpyArray parse_npy(std::span<const std::byte> file);
TSR_API NpyArray load_npy(const std::filesystem::path& path);

// What a file says that it holds; its data are not read.
struct NpyType {
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
};
TSR_API NpyType load_npy_type(const std::filesystem::path& path);

TSR_API std::vector<std::byte> encode_npy(const NpyView& array);
// Replaces the file in one step; a failure leaves an older one as it was.
TSR_API void save_npy(const std::filesystem::path& path, const NpyView& array);

}  // namespace tessera
