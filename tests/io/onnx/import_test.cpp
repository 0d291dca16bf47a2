#include "tessera/io/onnx/import.h"

#include "model_builder.h"

#include "tessera/graph/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tessera::onnx {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Array floats(Shape shape, std::vector<float> values) { return Array::of<float>(std::move(shape), values); }

std::string refusal(const ModelBuilder& model, const ImportOptions& options = {}) {
  try {
    import_onnx_bytes(model.bytes(), {}, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<float> run(const ModelBuilder& model, const std::vector<Array>& inputs) {
  const Graph graph = import_onnx_bytes(model.bytes());
  const std::vector<Array> outputs = evaluate(graph, inputs);
  return {outputs.at(0).as<float>().begin(), outputs.at(0).as<float>().end()};
}

TEST(Import, KeepsNamesAndInfersTypes) {
  ModelBuilder model;
  model.input("x", {2, 3});
  model.output("y");
  model.floats("w", {3}, {1, 2, 3});
  model.node("Add", {"x", "w"}, {"sum"});
  model.node("Relu", {"sum"}, {"y"});
  const Graph graph = import_onnx_bytes(model.bytes());
  EXPECT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.input_position("x"), 0u);
  EXPECT_EQ(graph.output_position("y"), 0u);
  EXPECT_EQ(graph.value(graph.outputs[0]).type.to_string(), "float32[2, 3]");
  EXPECT_THAT(run(model, {floats({2, 3}, {-9, 0, 0, 1, -1, -4})}), ElementsAre(0, 2, 3, 2, 1, 0));
}

TEST(Import, SortsNodesThatAreOutOfOrder) {
  ModelBuilder model;
  model.input("x", {1});
  model.output("y");
  model.node("Neg", {"b"}, {"y"});
  model.node("Exp", {"a"}, {"b"});
  model.node("Abs", {"x"}, {"a"});
  EXPECT_THAT(run(model, {floats({1}, {0})}), ElementsAre(-1));
}

TEST(Import, ListsAllProblemsAtOnce) {
  ModelBuilder model;
  model.input("x", {2, 3});
  model.output("y");
  model.node("Frobnicate", {"x"}, {"a"});
  model.node("Relu", {"a"}, {"b"});  // follows from the first: no problem of its own
  ModelBuilder::integer(model.node("Relu", {"x"}, {"c"}), "mystery", 1);
  ModelBuilder::real(model.node("Softmax", {"x"}, {"d"}), "axis", 1.0f);
  model.node("Add", {"b", "nowhere"}, {"y"});
  ImportReport report = check_onnx_bytes(model.bytes());
  ASSERT_THAT(report.problems, SizeIs(4));
  EXPECT_EQ(report.problems[0].op_type, "Frobnicate");
  EXPECT_EQ(report.problems[0].opset, 17);
  EXPECT_EQ(report.problems[0].code, Code::unsupported);
  EXPECT_EQ(report.problems[1].attribute, "mystery");
  EXPECT_THAT(report.problems[2].reason, HasSubstr("'axis' must be an integer"));
  EXPECT_THAT(report.problems[3].reason, HasSubstr("'nowhere' is made by nothing"));
  EXPECT_THAT(refusal(model), AllOf(HasSubstr("4 problems"), HasSubstr("Frobnicate"), HasSubstr("nowhere")));
}

TEST(Import, OldFormsBecomeTheCurrentOnes) {
  ModelBuilder model(6);
  model.input("x", {2, 2});
  model.output("y");
  model.floats("b", {2}, {10, 20});
  pb::NodeProto& add = model.node("Add", {"x", "b"}, {"s"});
  ModelBuilder::integer(add, "broadcast", 1);
  ModelBuilder::integer(add, "axis", 0);
  pb::NodeProto& clip = model.node("Clip", {"s"}, {"y"});
  ModelBuilder::real(clip, "max", 21);
  EXPECT_THAT(run(model, {floats({2, 2}, {1, 2, 3, 4})}), ElementsAre(11, 12, 21, 21));
}

TEST(Import, AClipWithoutABoundStopsAtTheLargestNumber) {
  constexpr float kMost = std::numeric_limits<float>::max(), kInf = std::numeric_limits<float>::infinity();
  for (const std::int64_t opset : {7, 17}) {
    ModelBuilder model(opset);
    model.input("x", {3});
    model.output("y");
    model.node("Clip", {"x"}, {"y"});
    EXPECT_THAT(run(model, {floats({3}, {-kInf, 2, kInf})}), ElementsAre(-kMost, 2, kMost)) << opset;
  }
  ModelBuilder half;
  half.input("x", {2}, pb::TensorProto::FLOAT16);
  half.output("y");
  half.floats("low", {}, {0});
  pb::NodeProto& cast = half.node("Cast", {"low"}, {"low16"});
  ModelBuilder::integer(cast, "to", pb::TensorProto::FLOAT16);
  half.node("Clip", {"x", "low16"}, {"y"});
  const Array x = Array::of<Float16>(Shape{2}, std::vector<Float16>{Float16(kInf), Float16(-kInf)});
  EXPECT_THAT(evaluate(import_onnx_bytes(half.bytes()), {x})[0].to_double(), ElementsAre(65504, 0));

  ModelBuilder whole;
  whole.input("x", {2}, pb::TensorProto::INT64);
  whole.output("y");
  whole.node("Clip", {"x"}, {"y"});
  const Array numbers = Array::of<std::int64_t>(Shape{2}, std::vector<std::int64_t>{-1, 1});
  EXPECT_EQ(evaluate(import_onnx_bytes(whole.bytes()), {numbers})[0], numbers);
}

TEST(Import, ModelsOfTheFirstOpsetsAreRead) {
  ModelBuilder model(3);
  model.input("x", {1, 2, 1, 2});
  model.output("y");
  model.floats("slope", {2}, {0.5f, 0.25f});
  model.floats("one", {2}, {1, 1});
  model.floats("zero", {2}, {0, 0});
  model.node("PRelu", {"x", "slope"}, {"p"});
  pb::NodeProto& norm = model.node("BatchNormalization", {"p", "one", "zero", "zero", "one"}, {"n"});
  ModelBuilder::integer(norm, "is_test", 1);
  ModelBuilder::real(norm, "epsilon", 0);
  ModelBuilder::integers(norm, "consumed_inputs", {0, 0, 0, 1, 1});
  ModelBuilder::integer(model.node("Dropout", {"n"}, {"d"}), "is_test", 1);
  model.node("Concat", {"d", "x"}, {"c"});
  pb::NodeProto& flat = model.node("Reshape", {"c"}, {"y"});
  ModelBuilder::integers(flat, "shape", {-1});
  EXPECT_THAT(run(model, {floats({1, 2, 1, 2}, {-4, 4, -8, 8})}), ElementsAre(-2, 4, -2, 8, -4, 4, -8, 8));
}

TEST(Import, OperatorsOnceOnTrialAreKnown) {
  const auto made = [](const std::string& op, const auto& set) {
    ModelBuilder model(7);
    model.input("x", {1, 1, 2, 2});
    model.output("y");
    set(model.node(op, {"x"}, {"y"}));
    return run(model, {floats({1, 1, 2, 2}, {0, 1, 2, 3})});
  };
  EXPECT_THAT(made("Affine",
                   [](pb::NodeProto& node) {
                     ModelBuilder::real(node, "alpha", 2);
                     ModelBuilder::real(node, "beta", 1);
                   }),
              ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(made("ImageScaler",
                   [](pb::NodeProto& node) {
                     ModelBuilder::real(node, "scale", 3);
                     ModelBuilder::attribute(node, "bias", pb::AttributeProto::FLOATS).add_floats(-1);
                   }),
              ElementsAre(-1, 2, 5, 8));
  EXPECT_THAT(made("Crop", [](pb::NodeProto& node) { ModelBuilder::integers(node, "border", {1, 0, 0, 1}); }),
              ElementsAre(1));
  EXPECT_THAT(made("ScaledTanh",
                   [](pb::NodeProto& node) {
                     ModelBuilder::real(node, "alpha", 0);
                     ModelBuilder::real(node, "beta", 1);
                   }),
              ElementsAre(0, 0, 0, 0));
}

TEST(Import, NamedExtentsAndShapesAreFilledIn) {
  ModelBuilder model;
  model.input("x", {-1, 3});
  model.output("y");
  model.node("Relu", {"x"}, {"y"});
  const auto type = [&](const ImportOptions& options) {
    const Graph graph = import_onnx_bytes(model.bytes(), {}, options);
    return graph.value(graph.outputs[0]).type.to_string();
  };
  EXPECT_EQ(type({}), "float32[?, 3]");
  EXPECT_EQ(type({.shapes = {}, .dimensions = {{"N", 4}}}), "float32[4, 3]");
  EXPECT_EQ(type({.shapes = {{"x", {5, 3}}}, .dimensions = {}}), "float32[5, 3]");
  EXPECT_THAT(refusal(model, {.shapes = {{"x", {5, 4}}}, .dimensions = {}}), HasSubstr("does not fit"));
  EXPECT_THAT(refusal(model, {.shapes = {{"z", {5}}}, .dimensions = {}}), HasSubstr("no input 'z'"));
}

TEST(Import, CapturedValuesBecomeInputsOfTheBody) {
  ModelBuilder model;
  model.input("x", {2});
  model.input("c", {}, pb::TensorProto::BOOL);
  model.output("y");
  model.floats("w", {2}, {1, 1});
  model.node("Neg", {"x"}, {"n"});
  pb::NodeProto& node = model.node("If", {"c"}, {"y"});
  pb::GraphProto& yes = ModelBuilder::subgraph(node, "then_branch");
  ModelBuilder::node(yes, "Add", {"x", "w"}, {"t"});
  ModelBuilder::describe(*yes.add_output(), "t", {2});
  pb::GraphProto& no = ModelBuilder::subgraph(node, "else_branch");
  ModelBuilder::describe(*no.add_output(), "n", {2});
  EXPECT_THAT(run(model, {floats({2}, {1, 2}), Array::scalar<bool>(true)}), ElementsAre(2, 3));
  EXPECT_THAT(run(model, {floats({2}, {1, 2}), Array::scalar<bool>(false)}), ElementsAre(-1, -2));
}

// c ? x + [1, 1] : Squeeze(x, axis 0): the second is for a leading extent of 1.
ModelBuilder guarded_squeeze(const std::vector<std::int64_t>& x) {
  ModelBuilder model;
  model.input("x", x);
  model.input("c", {}, pb::TensorProto::BOOL);
  model.output("y");
  model.floats("w", {2}, {1, 1});
  pb::TensorProto& axes = model.initializer("axes", {1}, pb::TensorProto::INT64);
  axes.add_int64_data(0);
  pb::NodeProto& node = model.node("If", {"c"}, {"y"});
  pb::GraphProto& yes = ModelBuilder::subgraph(node, "then_branch");
  ModelBuilder::node(yes, "Add", {"x", "w"}, {"t"});
  ModelBuilder::describe(*yes.add_output(), "t", {-1, 2});
  pb::GraphProto& no = ModelBuilder::subgraph(node, "else_branch");
  ModelBuilder::node(no, "Squeeze", {"x", "axes"}, {"e"});
  ModelBuilder::describe(*no.add_output(), "e", {2});
  return model;
}

TEST(Import, ABranchThatIsNotTakenNeedNotFitTheShapes) {
  const ModelBuilder misfit = guarded_squeeze({2, 2});
  EXPECT_THAT(run(misfit, {floats({2, 2}, {1, 2, 3, 4}), Array::scalar<bool>(true)}), ElementsAre(2, 3, 4, 5));
  const ImportReport report = check_onnx_bytes(misfit.bytes());
  EXPECT_THAT(report.problems, IsEmpty());
  for (const ImportReport::Operator& op : report.operators) EXPECT_EQ(op.count, 1) << op.op_type;

  const ModelBuilder fit = guarded_squeeze({1, 2});
  EXPECT_THAT(run(fit, {floats({1, 2}, {1, 2}), Array::scalar<bool>(false)}), ElementsAre(1, 2));
}

TEST(Import, ABranchThatIsTakenHasToFitTheShapes) {
  const Graph graph = import_onnx_bytes(guarded_squeeze({2, 2}).bytes());
  const std::vector<Array> inputs = {floats({2, 2}, {1, 2, 3, 4}), Array::scalar<bool>(false)};
  EXPECT_THAT([&] { evaluate(graph, inputs); },
              testing::ThrowsMessage<Error>(HasSubstr("has 2 elements, only 1 can be left out")));
}

TEST(Import, AFaultWhateverTheShapesIsAFaultOfEveryBranch) {
  ModelBuilder model = guarded_squeeze({2, 2});
  model.graph().mutable_node(0)->mutable_attribute(1)->mutable_g()->mutable_node(0)->set_input(0, "w");
  EXPECT_THAT(refusal(model), HasSubstr("dimension 0 of float32[2] has 2 elements"));
}

TEST(Import, FunctionsOfTheModelAreWrittenOut) {
  ModelBuilder model;
  model.input("x", {2});
  model.output("y");
  model.model.add_opset_import()->set_domain("mine");
  pb::FunctionProto& function = *model.model.add_functions();
  function.set_domain("mine");
  function.set_name("LeakyTwice");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("slope");
  function.add_opset_import()->set_version(17);
  for (const auto& [from, to] : {std::pair("a", "m"), std::pair("m", "b")}) {
    pb::NodeProto& node = *function.add_node();
    node.set_op_type("LeakyRelu");
    node.add_input(from);
    node.add_output(to);
    pb::AttributeProto& alpha = ModelBuilder::attribute(node, "alpha", pb::AttributeProto::FLOAT);
    alpha.set_ref_attr_name("slope");
  }
  pb::NodeProto& call = model.node("LeakyTwice", {"x"}, {"y"});
  call.set_domain("mine");
  ModelBuilder::real(call, "slope", 0.5f);
  EXPECT_THAT(run(model, {floats({2}, {-8, 8})}), ElementsAre(-2, 8));

  function.mutable_node(0)->set_op_type("LeakyTwice");  // calls itself
  function.mutable_node(0)->set_domain("mine");
  EXPECT_THAT(refusal(model), HasSubstr("nested more than 64 deep"));
}

TEST(Import, CirclesDuplicatesAndMissingOutputsAreRefused) {
  ModelBuilder circle;
  circle.input("x", {1});
  circle.output("b");
  circle.node("Add", {"x", "b"}, {"a"});
  circle.node("Relu", {"a"}, {"b"});
  EXPECT_THAT(refusal(circle), HasSubstr("circle"));

  ModelBuilder twice;
  twice.input("x", {1});
  twice.output("y");
  twice.node("Relu", {"x"}, {"y"});
  twice.node("Neg", {"x"}, {"y"});
  EXPECT_THAT(refusal(twice), HasSubstr("'y' is made more than once"));

  ModelBuilder nothing;
  nothing.input("x", {1});
  nothing.output("y");
  EXPECT_THAT(refusal(nothing), HasSubstr("made by nothing"));
}

TEST(Import, HostileExtentsAreRefused) {
  for (const std::int64_t extent : {std::int64_t{-7}, std::int64_t{1} << 62}) {
    ModelBuilder model;
    model.input("x", {extent, 4});
    model.output("y");
    model.node("Relu", {"x"}, {"y"});
    EXPECT_NE(refusal(model), "") << extent;
  }
}

TEST(Import, DeepNestingIsRefused) {
  ModelBuilder model;
  model.input("x", {1});
  model.input("c", {}, pb::TensorProto::BOOL);
  model.output("y");
  pb::NodeProto* node = &model.node("If", {"c"}, {"y"});
  for (int depth = 0; depth < 70; ++depth) {
    pb::GraphProto& no = ModelBuilder::subgraph(*node, "else_branch");
    ModelBuilder::describe(*no.add_output(), "x", {1});
    pb::GraphProto& yes = ModelBuilder::subgraph(*node, "then_branch");
    ModelBuilder::describe(*yes.add_output(), "y", {1});
    node = &ModelBuilder::node(yes, depth == 69 ? "Relu" : "If", {depth == 69 ? "x" : "c"}, {"y"});
  }
  EXPECT_NE(refusal(model), "");
}

TEST(Import, DeepBranchesThatDoNotFitAreRefusedWithoutTryingEveryCombination) {
  ModelBuilder model;
  model.input("x", {2, 2});
  model.input("c", {}, pb::TensorProto::BOOL);
  model.output("y");
  pb::TensorProto& axes = model.initializer("axes", {1}, pb::TensorProto::INT64);
  axes.add_int64_data(0);
  model.floats("w", {2}, {1, 1});
  pb::NodeProto* node = &model.node("If", {"c"}, {"y"});
  constexpr int kDepth = 40;  // two attempts at each would be 2^40
  for (int depth = 0; depth < kDepth; ++depth) {
    pb::GraphProto& no = ModelBuilder::subgraph(*node, "else_branch");
    ModelBuilder::node(no, "Squeeze", {"x", "axes"}, {"e"});
    ModelBuilder::describe(*no.add_output(), "e", {2});
    pb::GraphProto& yes = ModelBuilder::subgraph(*node, "then_branch");
    ModelBuilder::describe(*yes.add_output(), "y", {2});
    const bool last = depth + 1 == kDepth;
    node = &ModelBuilder::node(yes, last ? "Squeeze" : "If", {last ? "w" : "c"}, {"y"});
    if (last) node->add_input("axes");
  }
  EXPECT_THAT(refusal(model), HasSubstr("only 1 can be left out"));
  node->set_input(0, "x");
  EXPECT_THAT(refusal(model), HasSubstr("only 1 can be left out"));  // no branch of the innermost fits
}

TEST(Import, TruncatedModelsAreRefused) {
  ModelBuilder model;
  model.input("x", {2});
  model.output("y");
  model.floats("w", {2}, {1, 2});
  model.node("Add", {"x", "w"}, {"y"});
  const std::vector<std::byte> bytes = model.bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const ImportReport report = check_onnx_bytes(std::span(bytes).first(size));
    // Cut between two fields, what is left is a model; it then lacks its opset.
    EXPECT_FALSE(report.problems.empty()) << size;
  }
}

TEST(Import, TheFirstUpsampleTakesItsScalesFromAnAttributeAlone) {
  const auto model = [](const std::vector<std::string>& inputs) {
    ModelBuilder model(7);
    model.input("x", {1, 1, 1, 2});
    model.output("y");
    model.floats("s", {4}, {1, 1, 1, 2});
    pb::AttributeProto& scales =
        ModelBuilder::attribute(model.node("Upsample", inputs, {"y"}), "scales", pb::AttributeProto::FLOATS);
    for (const float scale : {1, 1, 2, 1}) scales.add_floats(scale);
    return model;
  };
  EXPECT_THAT(run(model({"x"}), {floats({1, 1, 1, 2}, {3, 4})}), ElementsAre(3, 4, 3, 4));
  EXPECT_FALSE(check_onnx_bytes(model({"x", "s"}).bytes()).problems.empty());
}

TEST(Import, TheHiddenSizeIsThatOfTheRecurrentWeightsWhereItIsNotSaid) {
  for (const std::int64_t said : {0, 2, 3}) {
    ModelBuilder model;
    model.input("x", {3, 1, 4});
    model.output("y");
    model.floats("w", {1, 2, 4}, std::vector<float>(8, 0.5f));
    model.floats("r", {1, 2, 2}, std::vector<float>(4, 0.5f));
    pb::NodeProto& node = model.node("RNN", {"x", "w", "r"}, {"y"});
    if (said != 0) ModelBuilder::integer(node, "hidden_size", said);
    const ImportReport report = check_onnx_bytes(model.bytes());
    EXPECT_EQ(report.problems.empty(), said != 3) << said;
  }
}

TEST(Import, ScansBackwardsAndAcross) {
  ModelBuilder model;
  model.input("x", {2, 3});
  model.output("y");
  model.initializer("zero", {2}).add_float_data(0);
  model.graph().mutable_initializer(0)->add_float_data(0);
  pb::NodeProto& scan = model.node("Scan", {"zero", "x"}, {"last", "y"});
  ModelBuilder::integer(scan, "num_scan_inputs", 1);
  ModelBuilder::integers(scan, "scan_input_axes", {-1});
  ModelBuilder::integers(scan, "scan_input_directions", {1});
  ModelBuilder::integers(scan, "scan_output_axes", {1});
  ModelBuilder::integers(scan, "scan_output_directions", {1});
  pb::GraphProto& body = ModelBuilder::subgraph(scan, "body");
  ModelBuilder::describe(*body.add_input(), "sum", {2});
  ModelBuilder::describe(*body.add_input(), "column", {2});
  ModelBuilder::node(body, "Add", {"sum", "column"}, {"more"});
  ModelBuilder::node(body, "Identity", {"more"}, {"seen"});
  ModelBuilder::describe(*body.add_output(), "more", {2});
  ModelBuilder::describe(*body.add_output(), "seen", {2});
  // Sums from the right, written from the right: 1+2+3, 2+3, 3.
  EXPECT_THAT(run(model, {floats({2, 3}, {1, 2, 3, 10, 20, 30})}), ElementsAre(6, 5, 3, 60, 50, 30));
}

TEST(Import, HugeExtentsOfWrittenOutOperatorsCostNothing) {
  ModelBuilder model(22);
  const std::int64_t huge = std::int64_t{1} << 30;
  model.input("x", {1, 1, huge, 1});
  model.input("w", {1, 1, 3, 1});
  model.input("o", {1, 6, huge - 2, 1});
  model.output("y");
  model.node("DeformConv", {"x", "w", "o"}, {"y"});
  const Graph graph = import_onnx_bytes(model.bytes());
  for (const Value& value : graph.values) EXPECT_LE(value.constant ? value.constant->bytes().size() : 0, 1024u);
}

TEST(Import, TellsWhichOpsetsAndOperatorsAModelUses) {
  ModelBuilder model(99);
  model.input("x", {1});
  model.output("y");
  model.node("Relu", {"x"}, {"a"});
  model.node("Relu", {"a"}, {"y"});
  const ImportReport report = check_onnx_bytes(model.bytes());
  EXPECT_THAT(report.problems, IsEmpty());
  ASSERT_THAT(report.operators, SizeIs(1));
  EXPECT_EQ(report.operators[0].count, 2);
  ASSERT_THAT(report.notes, SizeIs(1));
  EXPECT_THAT(report.notes[0], HasSubstr("opset 99"));
}

}  // namespace
}  // namespace tessera::onnx
