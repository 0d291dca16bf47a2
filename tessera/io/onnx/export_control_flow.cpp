// Graphs inside nodes, and recurrent layers. What a body captures it reads by the name outside.

#include "tessera/io/onnx/internal/writers.h"

namespace tessera::onnx {

void write(const If& op, NodeWriter& out) {
  const Names captures(out.inputs().begin() + 1, out.inputs().end());
  NodeAttributes attributes = out.add("If", {out.input(0)});
  out.body(*op.then_branch, 0, captures, attributes.graph("then_branch"));
  out.body(*op.else_branch, 0, captures, attributes.graph("else_branch"));
}

void write(const Loop& op, NodeWriter& out) {
  const std::size_t own = static_cast<std::size_t>(op.carried) + 2;
  Names inputs, captures;
  for (std::size_t i = 0; i < own; ++i) inputs.push_back(out.input(i));
  for (std::size_t i = own; i < out.inputs().size(); ++i) captures.push_back(out.inputs()[i]);
  NodeAttributes attributes = out.add("Loop", std::move(inputs));
  out.body(*op.body, own, captures, attributes.graph("body"));
}

void write(const Recurrent& op, NodeWriter& out) {
  constexpr std::string_view kNames[] = {"RNN", "GRU", "LSTM"};
  constexpr std::string_view kDirections[] = {"forward", "reverse", "bidirectional"};
  NodeAttributes attributes = out.add(kNames[static_cast<std::size_t>(op.kind)]);
  attributes.text("direction", kDirections[static_cast<std::size_t>(op.direction)], "forward")
      .integer("hidden_size", op.hidden)
      .texts("activations", op.activations)
      .reals("activation_alpha", op.activation_alpha)
      .reals("activation_beta", op.activation_beta)
      .integer("linear_before_reset", op.linear_before_reset, 0)
      .integer("input_forget", op.input_forget, 0)
      .integer("layout", op.batch_first, 0);
  if (op.clip) attributes.real("clip", *op.clip);
}

}  // namespace tessera::onnx
