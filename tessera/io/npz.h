#pragma once

// NumPy's .npz files: a zip file with one .npy per array.
//
// Read: stored and deflated members (numpy.savez and numpy.savez_compressed), with the 64-bit extension. Sizes, bounds,
// overlaps and CRC-32 are checked, and what a member inflates to is bounded by what deflate can produce from its bytes.
// A name is only a key: reading writes nothing to disk.
// Written: stored members; more than 4 GiB in all is refused.

#include "tessera/core/export.h"
#include "tessera/io/npy.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

// Array names, without the ".npy" of their members, and the arrays, in the order of the file.
using NpzArrays = std::vector<std::pair<std::string, NpyArray>>;

// More bytes than this in all members together are refused before any is unpacked.
constexpr std::uint64_t kMaxNpzBytes = std::uint64_t{64} << 30;

TSR_API NpzArrays parse_npz(std::span<const std::byte> file, std::uint64_t max_bytes = kMaxNpzBytes);
TSR_API NpzArrays load_npz(const std::filesystem::path& path, std::uint64_t max_bytes = kMaxNpzBytes);

// What the members say that they hold; no more of them is unpacked than tells that.
TSR_API std::vector<std::pair<std::string, NpyType>> load_npz_types(const std::filesystem::path& path);

TSR_API std::vector<std::byte> encode_npz(std::span<const std::pair<std::string, NpyView>> arrays);
TSR_API std::vector<std::byte> encode_npz(const NpzArrays& arrays);
// Replaces the file in one step; a failure leaves an older one as it was.
TSR_API void save_npz(const std::filesystem::path& path, std::span<const std::pair<std::string, NpyView>> arrays);
TSR_API void save_npz(const std::filesystem::path& path, const NpzArrays& arrays);

}  // namespace tessera
