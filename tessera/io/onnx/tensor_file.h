#pragma once

#include "tessera/core/array.h"
#include "tessera/core/export.h"

#include <cstddef>
#include <filesystem>
#include <span>

namespace tessera {

// One tensor as ONNX writes it (TensorProto), such as the input_0.pb of a test directory. Sequences and other kinds of
// value have no such form: their bytes are refused or make no sense as a tensor.
TSR_API Array parse_onnx_tensor(std::span<const std::byte> bytes);
TSR_API Array load_onnx_tensor(const std::filesystem::path& path);

}  // namespace tessera
