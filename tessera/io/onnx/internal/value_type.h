#pragma once

#include "tessera/graph/tensor_type.h"
#include "tessera/io/onnx/import.h"

#include <tessera_onnx.pb.h>

namespace tessera::onnx {

// The type that a model declares, with named extents filled in from the options. Sequences, maps and optional values
// are refused.
TensorType value_type(const pb::ValueInfoProto& value, const ImportOptions& options);

// The type of a graph input, with the shape that the user asked for.
TensorType input_type(const pb::ValueInfoProto& value, const ImportOptions& options);

}  // namespace tessera::onnx
