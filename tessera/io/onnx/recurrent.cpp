#include "tessera/io/onnx/internal/registry.h"

namespace tessera::onnx {

Values import_recurrent(NodeReader& node, NodeBuilder& build) {
  using K = Recurrent::Kind;
  using D = Recurrent::Direction;
  const std::string& name = node.op_type();
  Recurrent op;
  op.kind = name == "LSTM" ? K::lstm : name == "GRU" ? K::gru : K::rnn;
  op.direction = node.choice<D>(
      "direction", "forward", {{"forward", D::forward}, {"reverse", D::reverse}, {"bidirectional", D::bidirectional}});
  op.hidden = node.integer("hidden_size", 0);
  if (op.hidden == 0 && node.has_input(2) && node.type(2).dims && node.rank(2) == 3)
    op.hidden = node.type(2).dims->back();
  check(op.hidden > 0, Code::parse, "hidden_size is {}", op.hidden);
  op.activations = node.texts("activations");
  op.activation_alpha = node.reals("activation_alpha");
  op.activation_beta = node.reals("activation_beta");
  op.clip = node.maybe_real("clip");
  op.batch_first = node.flag("layout", false);
  if (op.kind == K::gru) op.linear_before_reset = node.flag("linear_before_reset", false);
  if (op.kind == K::lstm) op.input_forget = node.flag("input_forget", false);
  return build.add(op, node.inputs(3, op.kind == K::lstm ? 8 : 6), op.kind == K::lstm ? 3 : 2);
}

}  // namespace tessera::onnx
