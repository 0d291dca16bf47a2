#pragma once

#include "tessera/io/onnx/internal/node_reader.h"

#include <string_view>

namespace tessera::onnx {

// Imports one node: adds what it becomes and answers with its outputs, all that the operator can have.
using ImportFunction = Values (*)(NodeReader& node, NodeBuilder& build);

struct Operator {
  std::string_view name;
  std::int64_t first_opset;
  ImportFunction function;
};

constexpr std::int64_t kNewestOpset = 27;

// Null for operators that are neither in operators.def nor (domain com.microsoft) in operators_microsoft.def.
const Operator* find_operator(std::string_view domain, std::string_view name);

#define TSR_ONNX(name, first_opset, function) Values function(NodeReader& node, NodeBuilder& build);
#include "tessera/io/onnx/operators.def"
#include "tessera/io/onnx/operators_microsoft.def"
#undef TSR_ONNX

}  // namespace tessera::onnx
