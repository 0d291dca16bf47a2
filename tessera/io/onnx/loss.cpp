// Losses, for models that were exported with them.

#include "tessera/io/onnx/internal/formula.h"
#include "tessera/io/onnx/internal/registry.h"

namespace tessera::onnx {
namespace {

enum class Sum : std::uint8_t { none, sum, mean };

// Minus the log probability of each target, times the weight of its class; a target to be ignored counts nothing.
ValueId likelihood_loss(const Formula& f, NodeReader& node, ValueId log_probabilities) {
  const Sum sum = node.choice<Sum>("reduction", "mean", {{"none", Sum::none}, {"sum", Sum::sum}, {"mean", Sum::mean}});
  const auto ignored = node.maybe_integer("ignore_index");
  const ElementType type = node.type(0).type;
  ValueId target = f.cast(node.input(1), ElementType::int64), left_out = kNoValue;
  if (ignored) {
    left_out = f.equal(target, f.whole(*ignored));
    target = f.where(left_out, f.whole(0), target);
  }
  const ValueId picked = f.build().add(GatherElements{.axis = 1}, {log_probabilities, f.unsqueeze(target, {1})});
  ValueId loss = f.unary(Unary::Kind::neg, f.squeeze(picked, {1})), weight = kNoValue;
  const ValueId zero = f.number(type, 0);
  if (node.has_input(2)) weight = f.gather(node.input(2), target, 0);
  if (weight != kNoValue) loss = f.mul(loss, weight);
  if (ignored) {
    loss = f.where(left_out, zero, loss);
    weight = f.where(left_out, zero, weight == kNoValue ? f.number(type, 1) : weight);
  }
  if (sum == Sum::none) return loss;
  if (sum == Sum::mean && weight == kNoValue) return f.reduce(Reduce::Kind::mean, loss, {}, false);
  const ValueId total = f.reduce(Reduce::Kind::sum, loss, {}, false);
  return sum == Sum::sum ? total : f.div(total, f.reduce(Reduce::Kind::sum, weight, {}, false));
}

}  // namespace

Values import_likelihood_loss(NodeReader& node, NodeBuilder& build) {
  node.inputs(2, 3);
  return {likelihood_loss(Formula(build), node, node.input(0))};
}

Values import_cross_entropy_loss(NodeReader& node, NodeBuilder& build) {
  node.inputs(2, 3);
  const ValueId log_probabilities = build.add(Softmax{.axis = 1, .log = true, .flatten = false}, {node.input(0)});
  return {likelihood_loss(Formula(build), node, log_probabilities), log_probabilities};
}

}  // namespace tessera::onnx
