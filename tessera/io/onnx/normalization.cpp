#include "tessera/io/onnx/internal/registry.h"

#include <algorithm>

namespace tessera::onnx {

Values import_batch_norm(NodeReader& node, NodeBuilder& build) {
  if (node.opset() < 7) node.ignore({"consumed_inputs"});
  BatchNorm op{.epsilon = node.real("epsilon", 1e-5f), .momentum = node.real("momentum", 0.9f), .training = false};
  if (node.opset() >= 14) op.training = node.flag("training_mode", false);
  if (node.opset() < 9)
    check(node.integer("spatial", 1) != 0, Code::unsupported, "statistics per element (spatial = 0) are not known");
  if (node.opset() < 7)
    check(node.flag("is_test", false), Code::unsupported, Hint{"export the model for inference"},
          "the node is in training mode (is_test = 0)");
  if (!op.training)
    for (int i = 1; i < node.output_count(); ++i)
      check(!node.wants_output(i), Code::unsupported, Hint{"export the model for inference"},
            "output {} exists in training only", i);
  Values outputs = build.add(op, node.inputs(5, 5), op.training ? 3 : 1);
  outputs.resize(std::max(outputs.size(), static_cast<std::size_t>(node.output_count())), kNoValue);
  return outputs;
}

Values import_instance_norm(NodeReader& node, NodeBuilder& build) {
  if (node.opset() < 6) node.ignore({"consumed_inputs"});
  return {build.add(InstanceNorm{.epsilon = node.real("epsilon", 1e-5f)}, node.inputs(3, 3))};
}

Values import_group_norm(NodeReader& node, NodeBuilder& build) {
  node.ignore({"stash_type"});  // sums are made in double
  return {build.add(GroupNorm{.groups = node.integer("num_groups"),
                              .epsilon = node.real("epsilon", 1e-5f),
                              .per_group_scale = node.opset() < 21},
                    node.inputs(3, 3))};
}

Values import_layer_norm(NodeReader& node, NodeBuilder& build) {
  node.ignore({"stash_type"});
  const int outputs = std::max(1, std::min(3, node.output_count()));
  return build.add(
      LayerNorm{.axis = node.integer("axis", -1), .epsilon = node.real("epsilon", 1e-5f), .outputs = outputs},
      node.inputs(2, 3), outputs);
}

Values import_rms_norm(NodeReader& node, NodeBuilder& build) {
  node.ignore({"stash_type"});
  return {
      build.add(RmsNorm{.axis = node.integer("axis", -1), .epsilon = node.real("epsilon", 1e-5f)}, node.inputs(2, 2))};
}

Values import_lp_norm(NodeReader& node, NodeBuilder& build) {
  return {build.add(LpNorm{.axis = node.integer("axis", -1), .p = node.integer("p", 2)}, node.inputs(1, 1))};
}

Values import_lrn(NodeReader& node, NodeBuilder& build) {
  return {build.add(Lrn{.size = node.integer("size"),
                        .alpha = node.real("alpha", 1e-4f),
                        .beta = node.real("beta", 0.75f),
                        .bias = node.real("bias", 1.0f)},
                    node.inputs(1, 1))};
}

Values import_mean_variance_norm(NodeReader& node, NodeBuilder& build) {
  MeanVarianceNorm op;
  if (node.has("axes")) op.axes = node.integers("axes");
  return {build.add(op, node.inputs(1, 1))};
}

}  // namespace tessera::onnx
