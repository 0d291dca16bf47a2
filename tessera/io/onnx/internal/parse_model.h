#pragma once

#include <tessera_onnx.pb.h>

#include <cstddef>
#include <span>
#include <vector>

namespace tessera::onnx {

// The message, and the bytes of large weights that were left out of it. An Error if it is none, or has no graph.
std::vector<std::span<const std::byte>> parse_model(std::span<const std::byte> bytes, pb::ModelProto& model);

}  // namespace tessera::onnx
