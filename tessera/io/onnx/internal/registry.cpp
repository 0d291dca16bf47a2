#include "tessera/io/onnx/internal/registry.h"

#include <unordered_map>

namespace tessera::onnx {

const Operator* find_operator(std::string_view domain, std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Operator> operators;
#define TSR_ONNX(op, first, function) operators.emplace(#op, Operator{#op, first, function});
#include "tessera/io/onnx/operators.def"
#undef TSR_ONNX
    return operators;
  }();
  if (!domain.empty()) return nullptr;
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace tessera::onnx
