#include "tessera/io/safetensors.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/internal/bytes.h"
#include "tessera/io/internal/loaded_file.h"
#include "tessera/io/internal/safetensors_header.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace tessera {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's limit
constexpr std::size_t kLengthBytes = 8;

// Sorted by place, the tensors must follow each other from the first byte of the data to the last.
void check_cover(std::span<const io::SafetensorsEntry> entries, std::uint64_t data_bytes) {
  std::uint64_t covered = 0;
  for (const io::SafetensorsEntry& entry : entries) {
    if (entry.begin > entry.end || entry.end > data_bytes)
      fail(Code::parse, "safetensors: tensor {} has the data_offsets [{}, {}], but the file has {} bytes of data",
           io::in_quotes(entry.name), entry.begin, entry.end, data_bytes);
    const std::optional<std::int64_t> needed = io::tensor_bytes(entry.type, entry.shape);
    if (!needed)
      fail(Code::parse, "safetensors: tensor {}: shape {} of {} has more bytes than 63 bits can count",
           io::in_quotes(entry.name), io::shape_text(entry.shape), name(entry.type));
    if (static_cast<std::uint64_t>(*needed) != entry.end - entry.begin)
      fail(Code::parse, "safetensors: tensor {}: shape {} of {} needs {} bytes, its data_offsets span {}",
           io::in_quotes(entry.name), io::shape_text(entry.shape), name(entry.type), *needed, entry.end - entry.begin);
    if (entry.begin < covered)
      fail(Code::parse, "safetensors: tensor {} starts at byte {} of the data, inside the tensor that ends at {}",
           io::in_quotes(entry.name), entry.begin, covered);
    if (entry.begin > covered)
      fail(Code::parse, "safetensors: bytes {} to {} of the data, ahead of tensor {}, belong to no tensor", covered,
           entry.begin, io::in_quotes(entry.name));
    covered = entry.end;
  }
  check(covered == data_bytes, Code::parse, "safetensors: the tensors end at byte {} of the data, the file has {}",
        covered, data_bytes);
}

// Header and order of the tensors, as the reference writer has them: wide types first, so that all are aligned, then
// by name.
struct Output {
  std::vector<std::byte> head;
  std::vector<std::span<const std::byte>> pieces;  // without the head
};

Output layout_safetensors(std::span<const SafetensorsTensor> tensors, const SafetensorsMetadata& metadata) {
  std::vector<const SafetensorsTensor*> order;
  std::unordered_set<std::string_view> names;
  for (const SafetensorsTensor& tensor : tensors) {
    const std::string label = io::in_quotes(tensor.name);
    check(io::is_utf8(tensor.name), Code::invalid_argument, "safetensors: the name {} is not UTF-8 text", label);
    check(tensor.name != io::kMetadataKey, Code::invalid_argument, "safetensors: no tensor can be called {}", label);
    check(names.insert(tensor.name).second, Code::invalid_argument, "safetensors: two tensors are called {}", label);
    check(!safetensors_name(tensor.type).empty(), Code::unsupported,
          "safetensors: tensor {} is {}, which has no name there", label, name(tensor.type));
    io::check_tensor(fmt::format("safetensors: tensor {}", label), tensor.type, tensor.shape, tensor.bytes.size());
    order.push_back(&tensor);
  }
  for (const auto& [key, value] : metadata)
    check(io::is_utf8(key) && io::is_utf8(value), Code::invalid_argument,
          "safetensors: the metadata {} is not UTF-8 text", io::in_quotes(key));
  std::sort(order.begin(), order.end(), [](const SafetensorsTensor* a, const SafetensorsTensor* b) {
    return a->type != b->type ? a->type > b->type : a->name < b->name;
  });

  Output output;
  io::SafetensorsHeader header{{}, metadata};
  std::uint64_t offset = 0;
  for (const SafetensorsTensor* tensor : order) {
    const std::uint64_t end = offset + tensor->bytes.size();
    header.entries.push_back({tensor->name, tensor->type, tensor->shape, offset, end});
    output.pieces.push_back(tensor->bytes);
    offset = end;
  }
  const std::string json = io::encode_safetensors_header(header);
  check(json.size() <= kMaxHeaderBytes, Code::invalid_argument,
        "safetensors: a header of {} bytes is more than the {} that readers accept", json.size(), kMaxHeaderBytes);
  io::append_little_endian<std::uint64_t>(output.head, json.size());
  io::append_text(output.head, json);
  return output;
}

}  // namespace

Safetensors parse_safetensors(std::span<const std::byte> file) {
  check(file.size() >= kLengthBytes, Code::parse, "safetensors: {} bytes are too few for a safetensors file",
        file.size());
  const auto header_bytes = io::read_little_endian<std::uint64_t>(file, 0);
  const std::span<const std::byte> rest = file.subspan(kLengthBytes);
  check(header_bytes <= kMaxHeaderBytes, Code::parse, "safetensors: a header of {} bytes is more than {}", header_bytes,
        kMaxHeaderBytes);
  check(header_bytes <= rest.size(), Code::parse,
        "safetensors: the header should have {} bytes, but the file ends after {}", header_bytes, rest.size());
  io::SafetensorsHeader header = io::parse_safetensors_header(io::as_text(rest.first(header_bytes)));
  const std::span<const std::byte> data = rest.subspan(header_bytes);

  std::sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_cover(header.entries, data.size());
  Safetensors out;
  out.metadata = std::move(header.metadata);
  out.tensors.reserve(header.entries.size());
  for (io::SafetensorsEntry& entry : header.entries)
    out.tensors.push_back({std::move(entry.name), entry.type, std::move(entry.shape),
                           data.subspan(entry.begin, entry.end - entry.begin)});
  return out;
}

struct SafetensorsFile::State {
  explicit State(const std::filesystem::path& p) : path(p), file(p), content(parse_safetensors(file.bytes())) {
    for (std::size_t i = 0; i < content.tensors.size(); ++i) index.emplace(content.tensors[i].name, i);
  }

  std::filesystem::path path;
  io::LoadedFile file;
  Safetensors content;
  std::unordered_map<std::string_view, std::size_t> index;
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : state_(with_context("while reading " + path.string(), [&] { return std::make_unique<State>(path); })) {}
SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const SafetensorsTensor& tensor : state_->content.tensors) names.push_back(tensor.name);
  return names;
}

bool SafetensorsFile::contains(std::string_view name) const { return state_->index.contains(name); }

const SafetensorsTensor& SafetensorsFile::tensor(std::string_view name) const {
  const auto found = state_->index.find(name);
  if (found == state_->index.end())
    fail(Code::not_found, "safetensors: no tensor {} among the {} of {}", io::in_quotes(name),
         state_->content.tensors.size(), state_->path.string());
  return state_->content.tensors[found->second];
}

const std::vector<SafetensorsTensor>& SafetensorsFile::tensors() const { return state_->content.tensors; }

const SafetensorsMetadata& SafetensorsFile::metadata() const { return state_->content.metadata; }

std::vector<std::byte> encode_safetensors(std::span<const SafetensorsTensor> tensors,
                                          const SafetensorsMetadata& metadata) {
  Output output = layout_safetensors(tensors, metadata);
  for (const auto& piece : output.pieces) output.head.insert(output.head.end(), piece.begin(), piece.end());
  return std::move(output.head);
}

void save_safetensors(const std::filesystem::path& path, std::span<const SafetensorsTensor> tensors,
                      const SafetensorsMetadata& metadata) {
  with_context("while writing " + path.string(), [&] {
    Output output = layout_safetensors(tensors, metadata);
    output.pieces.insert(output.pieces.begin(), output.head);
    write_file_atomically(path, output.pieces);
  });
}

}  // namespace tessera
