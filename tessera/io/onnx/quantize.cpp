#include "tessera/io/onnx/internal/registry.h"
#include "tessera/io/onnx/internal/tensor.h"

namespace tessera::onnx {
namespace {

std::optional<ElementType> wanted_type(NodeReader& node, const std::string& attribute) {
  const std::int64_t type = node.integer(attribute, 0);
  return type == 0 ? std::nullopt : std::optional<ElementType>(checked_element_type(type, "the wanted type"));
}

}  // namespace

Values import_quantize_linear(NodeReader& node, NodeBuilder& build) {
  return {build.add(QuantizeLinear{.axis = node.integer("axis", 1),
                                   .block = node.integer("block_size", 0),
                                   .saturate = node.flag("saturate", true),
                                   .type = wanted_type(node, "output_dtype"),
                                   .precision = wanted_type(node, "precision")},
                    node.inputs(2, 3))};
}

Values import_dequantize_linear(NodeReader& node, NodeBuilder& build) {
  return {build.add(DequantizeLinear{.axis = node.integer("axis", 1),
                                     .block = node.integer("block_size", 0),
                                     .type = wanted_type(node, "output_dtype")},
                    node.inputs(2, 3))};
}

Values import_dynamic_quantize_linear(NodeReader& node, NodeBuilder& build) {
  return build.add(DynamicQuantizeLinear{}, node.inputs(1, 1), 3);
}

}  // namespace tessera::onnx
