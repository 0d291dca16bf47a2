#include "tessera/io/onnx/internal/registry.h"

#include <unordered_map>

namespace tessera::onnx {
namespace {

using Operators = std::unordered_map<std::string_view, Operator>;

#define TSR_ONNX(op, first, function) operators.emplace(#op, Operator{#op, first, function});

const Operators& standard() {
  static const Operators table = [] {
    Operators operators;
#include "tessera/io/onnx/operators.def"
    return operators;
  }();
  return table;
}

const Operators& microsoft() {
  static const Operators table = [] {
    Operators operators;
#include "tessera/io/onnx/operators_microsoft.def"
    return operators;
  }();
  return table;
}

#undef TSR_ONNX

}  // namespace

const Operator* find_operator(std::string_view domain, std::string_view name) {
  if (!domain.empty() && domain != "com.microsoft") return nullptr;
  const Operators& table = domain.empty() ? standard() : microsoft();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace tessera::onnx
