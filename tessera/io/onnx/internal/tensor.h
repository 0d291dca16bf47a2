#pragma once

#include "tessera/core/array.h"

#include <tessera_onnx.pb.h>

#include <filesystem>
#include <optional>
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
// an empty folder means that there are none. The bytes must be those that the extents ask for.
Array tensor_array(const pb::TensorProto& tensor, const std::filesystem::path& folder);

}  // namespace tessera::onnx
