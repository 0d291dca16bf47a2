#include "tessera/io/npz.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/internal/bytes.h"
#include "tessera/io/internal/loaded_file.h"
#include "tessera/io/internal/npy_header.h"
#include "tessera/io/internal/zip.h"

#include <string_view>

namespace tessera {
namespace {

using NamedViews = std::span<const std::pair<std::string, NpyView>>;

constexpr std::string_view kSuffix = ".npy";

std::vector<std::pair<std::string, NpyView>> views_of(const NpzArrays& arrays) {
  return {arrays.begin(), arrays.end()};
}

void check_suffix(const io::ZipMember& member) {
  check(member.name.ends_with(kSuffix), Code::unsupported, "npz: member {} is not an .npy array",
        io::in_quotes(member.name));
}
std::string array_name(const io::ZipMember& member) {
  return member.name.substr(0, member.name.size() - kSuffix.size());
}

// Hands the pieces of the whole file to `consume`; they live only while it runs.
template <class Consume>
void encode_pieces(NamedViews arrays, Consume&& consume) {
  std::vector<std::vector<std::byte>> headers;
  for (const auto& named : arrays)
    headers.push_back(
        with_context("array " + io::in_quotes(named.first), [&] { return io::encode_npy_header(named.second); }));
  std::vector<io::ZipInput> members;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    members.push_back({arrays[i].first + std::string(kSuffix), {headers[i], arrays[i].second.data}});
  const io::ZipOutput zip = io::layout_zip(members);
  consume(std::span(zip.pieces));
}

}  // namespace

NpzArrays parse_npz(std::span<const std::byte> file, std::uint64_t max_bytes) {
  const std::vector<io::ZipMember> members = io::read_zip_directory(file);
  std::uint64_t total_bytes = 0;
  for (const io::ZipMember& member : members) {
    check_suffix(member);
    check(member.bytes <= max_bytes - total_bytes, Code::out_of_memory,
          "npz: the arrays have more than {} bytes in all", max_bytes);
    total_bytes += member.bytes;
  }
  NpzArrays arrays;
  std::vector<std::byte> buffer;
  for (const io::ZipMember& member : members) {
    NpyArray array =
        with_context("array " + io::in_quotes(member.name), [&] { return parse_npy(io::extract(member, buffer)); });
    arrays.emplace_back(array_name(member), std::move(array));
  }
  return arrays;
}

std::vector<std::pair<std::string, NpyType>> load_npz_types(const std::filesystem::path& path) {
  return with_context("while reading " + path.string(), [&] {
    const io::LoadedFile file(path);
    std::vector<std::pair<std::string, NpyType>> types;
    for (const io::ZipMember& member : io::read_zip_directory(file.bytes())) {
      check_suffix(member);
      io::NpyHeader header = with_context("array " + io::in_quotes(member.name), [&] {
        return io::parse_npy_head(io::extract_begin(member, io::kMostNpyHeadBytes), member.bytes);
      });
      types.emplace_back(array_name(member), NpyType{header.type, std::move(header.shape)});
    }
    return types;
  });
}

NpzArrays load_npz(const std::filesystem::path& path, std::uint64_t max_bytes) {
  return with_context("while reading " + path.string(),
                      [&] { return parse_npz(io::LoadedFile(path).bytes(), max_bytes); });
}

std::vector<std::byte> encode_npz(NamedViews arrays) {
  std::vector<std::byte> out;
  encode_pieces(arrays, [&](auto pieces) {
    for (const auto& piece : pieces) out.insert(out.end(), piece.begin(), piece.end());
  });
  return out;
}

std::vector<std::byte> encode_npz(const NpzArrays& arrays) { return encode_npz(NamedViews(views_of(arrays))); }

void save_npz(const std::filesystem::path& path, NamedViews arrays) {
  with_context("while writing " + path.string(),
               [&] { encode_pieces(arrays, [&](auto pieces) { write_file_atomically(path, pieces); }); });
}

void save_npz(const std::filesystem::path& path, const NpzArrays& arrays) {
  save_npz(path, NamedViews(views_of(arrays)));
}

}  // namespace tessera
