#pragma once

#include "tessera/core/array.h"
#include "tessera/io/internal/loaded_file.h"

#include <tessera_onnx.pb.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tessera::onnx {

// ONNX's numbers for element types. None for those that nothing is computed in here.
std::optional<ElementType> element_type(std::int64_t data_type);
std::string data_type_name(std::int64_t data_type);
ElementType checked_element_type(std::int64_t data_type, const std::string& what);

// The other way round; an Error for types that have no such number here.
std::int32_t data_type(ElementType type);
void fill_tensor(const Array& array, pb::TensorProto& tensor);

// The elements, wherever the message keeps them. Files beside the model are read from `folder`, never from outside it;
// an empty folder means that there are none. The bytes must be those that the extents ask for. Large tensors of files
// stay there until someone asks for their elements.
Array tensor_array(const pb::TensorProto& tensor, const std::filesystem::path& folder);

// The same for a tensor whose raw_data lies apart from the message: in a mapped file, or (null) somewhere to copy from.
Array tensor_array(const pb::TensorProto& tensor, std::span<const std::byte> raw,
                   const std::shared_ptr<const io::LoadedFile>& file);

}  // namespace tessera::onnx
