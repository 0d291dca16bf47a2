#pragma once

// Safetensors files: 8 bytes of length, a JSON header, and the tensors' bytes one after the other.
//
// Reading is as strict as the format: the tensors cover the data without holes or overlap, every length is what type
// and shape need, names are unique, metadata maps text to text. Unlike the reference reader, a key that occurs twice
// and a field that the format does not define are errors, since two readers could take them differently. Writing gives
// the reference writer's bytes for the same input; metadata, which it writes in any order, is sorted.

#include "tessera/core/export.h"
#include "tessera/core/element_type.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// A tensor in C order, little-endian; its bytes belong to someone else and need not be aligned to the element.
struct SafetensorsTensor {
  std::string name;
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

using SafetensorsMetadata = std::map<std::string, std::string>;

struct Safetensors {
  std::vector<SafetensorsTensor> tensors;  // in the order of their bytes, then of their names
  SafetensorsMetadata metadata;
};

// The tensors are views of `file`.
TSR_API Safetensors parse_safetensors(std::span<const std::byte> file);

// A safetensors file, mapped: tensors are read from disk when their bytes are first used. The views live as long as
// this object, also when it is moved. The file must not be cut short meanwhile.
class TSR_API SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  std::vector<std::string> names() const;
  bool contains(std::string_view name) const;
  // An Error with code not_found that names the file where there is no such tensor.
  const SafetensorsTensor& tensor(std::string_view name) const;
  const std::vector<SafetensorsTensor>& tensors() const;
  const SafetensorsMetadata& metadata() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

TSR_API std::vector<std::byte> encode_safetensors(std::span<const SafetensorsTensor> tensors,
                                                  const SafetensorsMetadata& metadata = {});
// Replaces the file in one step; a failure leaves an older one as it was.
TSR_API void save_safetensors(const std::filesystem::path& path, std::span<const SafetensorsTensor> tensors,
                              const SafetensorsMetadata& metadata = {});

}  // namespace tessera
