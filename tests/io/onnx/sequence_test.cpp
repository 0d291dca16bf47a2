#include "tessera/io/onnx/import.h"

#include "model_builder.h"

#include "tessera/graph/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> run(const ModelBuilder& model, const Array& x) {
  const std::vector<Array> outputs = evaluate(import_onnx_bytes(model.bytes()), {x});
  return {outputs.at(0).as<float>().begin(), outputs.at(0).as<float>().end()};
}

std::string refusal(const ModelBuilder& model) {
  try {
    import_onnx_bytes(model.bytes());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class Sequence : public testing::Test {
 protected:
  Sequence() {
    model.input("x", {3, 2});
    model.output("y");
    pb::TensorProto& last = model.initializer("last", {}, pb::TensorProto::INT64);
    last.add_int64_data(-1);
  }
  const Array x = Array::of<float>(Shape{3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
  ModelBuilder model;
};

TEST_F(Sequence, PartsOfATensorAreFoundByPosition) {
  ModelBuilder::integer(model.node("SplitToSequence", {"x"}, {"s"}), "keepdims", 0);
  model.node("SequenceAt", {"s", "last"}, {"y"});
  EXPECT_THAT(run(model, x), ElementsAre(5, 6));
}

TEST_F(Sequence, WhatIsPutInComesOutJoined) {
  model.node("Neg", {"x"}, {"n"});
  model.node("SequenceConstruct", {"x", "n"}, {"s"});
  model.node("SequenceInsert", {"s", "x", "last"}, {"t"});
  model.node("Identity", {"t"}, {"u"});
  model.node("SequenceErase", {"u", "last"}, {"v"});
  ModelBuilder::integer(model.node("ConcatFromSequence", {"v"}, {"y"}), "axis", 1);
  EXPECT_THAT(run(model, x), ElementsAre(1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6));
}

TEST_F(Sequence, WhatIsTakenOutIsWhereItIsSaidOrTheLast) {
  for (const bool said : {true, false}) {
    ModelBuilder other;
    other.input("x", {2});
    other.output("y");
    other.initializer("first", {}, pb::TensorProto::INT64).add_int64_data(0);
    other.node("Neg", {"x"}, {"n"});
    other.node("SequenceConstruct", {"x", "n"}, {"s"});
    if (said)
      other.node("SequenceErase", {"s", "first"}, {"t"});
    else
      other.node("SequenceErase", {"s"}, {"t"});
    other.node("SequenceAt", {"t", "first"}, {"y"});
    const float sign = said ? -1 : 1;
    EXPECT_THAT(run(other, Array::of<float>(Shape{2}, std::vector<float>{3, 4})), ElementsAre(3 * sign, 4 * sign));
  }
}

TEST_F(Sequence, LengthIsAConstant) {
  model.node("SequenceEmpty", {}, {"s"});
  model.node("SequenceInsert", {"s", "x"}, {"t"});
  model.node("SequenceLength", {"t"}, {"n"});
  ModelBuilder::integer(model.node("Cast", {"n"}, {"f"}), "to", pb::TensorProto::FLOAT);
  model.node("Add", {"x", "f"}, {"y"});
  EXPECT_THAT(run(model, x), ElementsAre(2, 3, 4, 5, 6, 7));
}

TEST_F(Sequence, IsRefusedWhereATensorIsNeeded) {
  model.node("SequenceConstruct", {"x"}, {"s"});
  model.node("Relu", {"s"}, {"y"});
  EXPECT_THAT(refusal(model), HasSubstr("a sequence is given where a tensor is known"));

  ModelBuilder out;
  out.input("x", {1});
  out.output("s");
  out.node("SequenceConstruct", {"x"}, {"s"});
  EXPECT_THAT(refusal(out), HasSubstr("output 's' is a sequence"));

  ModelBuilder tensor;
  tensor.input("x", {1});
  tensor.output("y");
  tensor.node("SequenceLength", {"x"}, {"y"});
  EXPECT_THAT(refusal(tensor), HasSubstr("a tensor is given where a sequence is needed"));
}

TEST_F(Sequence, OfUnknownPositionOrPartsIsRefused) {
  model.input("at", {}, pb::TensorProto::INT64);
  model.node("SequenceConstruct", {"x"}, {"s"});
  model.node("SequenceAt", {"s", "at"}, {"y"});
  EXPECT_THAT(refusal(model), HasSubstr("must be a constant"));

  ModelBuilder outside;
  outside.input("x", {1});
  outside.output("y");
  outside.initializer("two", {}, pb::TensorProto::INT64).add_int64_data(2);
  outside.node("SequenceConstruct", {"x"}, {"s"});
  outside.node("SequenceAt", {"s", "two"}, {"y"});
  EXPECT_THAT(refusal(outside), HasSubstr("position 2 is outside a sequence of 1"));
}

TEST_F(Sequence, ThatGrowsWithoutEndIsRefused) {
  model.node("SequenceConstruct", {"x"}, {"s0"});
  for (int i = 0; i < 2000; ++i)
    model.node("SequenceInsert", {"s" + std::to_string(i), "x"}, {"s" + std::to_string(i + 1)});
  model.node("SequenceAt", {"s2000", "last"}, {"y"});
  EXPECT_THAT(refusal(model), HasSubstr("too many or too long"));
}

TEST_F(Sequence, OfTheGraphAroundIsRefusedInABody) {
  model.input("c", {}, pb::TensorProto::BOOL);
  model.node("SequenceConstruct", {"x"}, {"s"});
  pb::NodeProto& node = model.node("If", {"c"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    pb::GraphProto& graph = ModelBuilder::subgraph(node, branch);
    ModelBuilder::node(graph, "SequenceAt", {"s", "last"}, {"t"});
    ModelBuilder::describe(*graph.add_output(), "t", {3, 2});
  }
  EXPECT_THAT(refusal(model), HasSubstr("'s' is a sequence: a graph inside a node cannot use it"));
}

}  // namespace
}  // namespace tessera::onnx
