#include "tessera/graph/ops/recurrent.h"

#include "tests/graph/flow_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <limits>

namespace tessera {
namespace {

using Kind = Recurrent::Kind;
using Direction = Recurrent::Direction;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

Array from_json(const nlohmann::json& j, bool integers) {
  const Shape shape(j.at("shape").get<std::vector<std::int64_t>>());
  if (integers) return Array::of<std::int32_t>(shape, j.at("values").get<std::vector<std::int32_t>>());
  return Array::of<float>(shape, j.at("values").get<std::vector<float>>());
}

Recurrent op_from_json(const nlohmann::json& c) {
  const nlohmann::json& a = c.at("attributes");
  const std::string kind = c.at("kind"), direction = a.value("direction", "forward");
  Recurrent op;
  op.kind = kind == "RNN" ? Kind::rnn : kind == "GRU" ? Kind::gru : Kind::lstm;
  op.direction = direction == "forward"   ? Direction::forward
                 : direction == "reverse" ? Direction::reverse
                                          : Direction::bidirectional;
  op.activations = a.value("activations", std::vector<std::string>{});
  op.activation_alpha = a.value("activation_alpha", std::vector<float>{});
  op.activation_beta = a.value("activation_beta", std::vector<float>{});
  if (a.contains("clip")) op.clip = a.at("clip").get<float>();
  op.linear_before_reset = a.value("linear_before_reset", 0) != 0;
  op.input_forget = a.value("input_forget", 0) != 0;
  return op;
}

Array transposed(const Array& a, const std::vector<int>& perm) {
  std::vector<std::int64_t> dims;
  for (int p : perm) dims.push_back(a.shape()[p]);
  Array out(a.type(), Shape(dims));
  for (std::int64_t i = 0; i < out.count(); ++i) {
    std::vector<std::int64_t> at(perm.size());
    std::int64_t rest = i, from = 0;
    for (std::size_t d = perm.size(); d-- > 0; rest /= dims[d]) at[static_cast<std::size_t>(perm[d])] = rest % dims[d];
    for (std::size_t d = 0; d < at.size(); ++d) from = from * a.shape().dims()[d] + at[d];
    out.as<float>()[static_cast<std::size_t>(i)] = a.as<float>()[static_cast<std::size_t>(from)];
  }
  return out;
}

class RecurrentCases : public testing::Test {
 protected:
  static nlohmann::json cases() {
    std::ifstream file(std::string(TESSERA_TEST_DATA) + "/recurrent/cases.json");
    return nlohmann::json::parse(file);
  }
  static Operands operands_of(const nlohmann::json& c) {
    Operands operands;
    for (const nlohmann::json& input : c.at("inputs"))
      operands.push_back(input.is_null() ? std::nullopt : std::optional(from_json(input, operands.size() == 4)));
    return operands;
  }
  static void expect_outputs(const nlohmann::json& wanted, const std::vector<Array>& outputs) {
    ASSERT_EQ(outputs.size(), wanted.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Array expected = from_json(wanted[i], false);
      EXPECT_EQ(outputs[i].shape(), expected.shape());
      EXPECT_THAT(values_of<float>(outputs[i]), Pointwise(FloatNear(2e-6f), values_of<float>(expected)))
          << "output " << i;
    }
  }
};

TEST_F(RecurrentCases, AgreeWithOnnxRuntime) {
  const nlohmann::json all = cases();
  ASSERT_GE(all.size(), 40u);
  for (const nlohmann::json& c : all) {
    SCOPED_TRACE(c.at("name").get<std::string>());
    expect_outputs(c.at("outputs"), run(op_from_json(c), operands_of(c)));
  }
}

TEST_F(RecurrentCases, BatchFirstIsTheSameWithTheBatchInFront) {
  for (const nlohmann::json& c : cases()) {
    SCOPED_TRACE(c.at("name").get<std::string>());
    Recurrent op = op_from_json(c);
    op.batch_first = true;
    Operands operands = operands_of(c);
    for (std::size_t i : {0, 5, 6})
      if (i < operands.size() && operands[i]) operands[i] = transposed(*operands[i], {1, 0, 2});
    std::vector<Array> outputs = run(op, operands);
    EXPECT_EQ(outputs[0].shape()[0], 2) << "the batch";
    outputs[0] = transposed(outputs[0], {1, 2, 0, 3});
    for (std::size_t i = 1; i < outputs.size(); ++i) outputs[i] = transposed(outputs[i], {1, 0, 2});
    expect_outputs(c.at("outputs"), outputs);
  }
}

Operands small_rnn() {
  return {floats({2, 1, 1}, {1, 2}), floats({1, 1, 1}, {0.5f}), floats({1, 1, 1}, {2}), floats({1, 2}, {0.25f, 0.75f})};
}

TEST(Recurrent, AnAffineRnnIsALinearRecurrence) {
  // h = 0.5 x + 2 h + 1
  const std::vector<Array> y = run(Recurrent{.kind = Kind::rnn, .activations = {"affine"}}, small_rnn());
  EXPECT_THAT(values_of<float>(y[0]), ElementsAre(1.5f, 5.f));
  EXPECT_THAT(values_of<float>(y[1]), ElementsAre(5.f));
}

TEST(Recurrent, ActivationsWithoutAlphaOrBetaTakeTheDefaultsOfTheirOperators) {
  const auto first = [](const char* activation) {
    return run(Recurrent{.kind = Kind::rnn, .activations = {activation}},
               {floats({1, 2, 1}, {0.75f, 1.5f}), floats({1, 1, 1}, {1}), floats({1, 1, 1}, {0})})[0];
  };
  EXPECT_THAT(values_of<float>(first("Affine")), ElementsAre(0.75f, 1.5f));
  EXPECT_THAT(values_of<float>(first("ThresholdedRelu")), ElementsAre(0.f, 1.5f));
  EXPECT_THAT(values_of<float>(first("ScaledTanh")), ElementsAre(std::tanh(0.75f), std::tanh(1.5f)));
}

TEST(Recurrent, KeepsTheElementTypeOfItsInputs) {
  const Array x = Array::of<double>(Shape{1, 1, 1}, std::vector<double>{1e-3});
  const Array one = Array::of<double>(Shape{1, 1, 1}, std::vector<double>{1});
  const std::vector<Array> y = run(Recurrent{.kind = Kind::rnn}, {x, one, one});
  EXPECT_DOUBLE_EQ(y[0].as<double>()[0], std::tanh(1e-3));
  const Array half = Array::of<Float16>(Shape{1, 1, 1}, std::vector<Float16>{Float16(0.5f)});
  EXPECT_FLOAT_EQ(run(Recurrent{.kind = Kind::rnn, .activations = {"Relu"}}, {half, half, half})[0].as<Float16>()[0],
                  0.25f);
}

TEST(Recurrent, PassesNanOnUnlessItIsBelowAThreshold) {
  Operands operands = small_rnn();
  operands[0]->as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  for (const char* activation : {"Relu", "Tanh", "HardSigmoid", "Elu", "Softplus"})
    EXPECT_TRUE(std::isnan(
        run(Recurrent{.kind = Kind::rnn, .activations = {activation}, .clip = 1.f}, operands)[1].as<float>()[0]))
        << activation;
  const Recurrent threshold{.kind = Kind::rnn, .activations = {"ThresholdedRelu"}};
  EXPECT_EQ(run(threshold, operands)[0].as<float>()[0], 0);
}

TEST(Recurrent, EmptyBatchesAndSequencesGiveEmptyOutputs) {
  Operands operands = small_rnn();
  operands[0] = Array(ElementType::float32, Shape{0, 1, 1});
  EXPECT_EQ(run(Recurrent{.kind = Kind::rnn}, operands)[0].shape(), (Shape{0, 1, 1, 1}));
  operands[0] = Array(ElementType::float32, Shape{2, 0, 1});
  EXPECT_EQ(run(Recurrent{.kind = Kind::rnn}, operands)[1].shape(), (Shape{1, 0, 1}));
}

TEST(Recurrent, UnknownExtentsStayUnknownAndTheOthersAreTold) {
  const std::vector<Known> knowns{
      {TensorType(ElementType::float32, std::vector<std::int64_t>{-1, -1, 3}), nullptr, true},
      {TensorType(ElementType::float32, std::nullopt), nullptr, true},
      {TensorType(ElementType::float32, std::vector<std::int64_t>{2, 20, -1}), nullptr, true}};
  const Recurrent op{.kind = Kind::lstm, .direction = Direction::bidirectional};
  const std::vector<TensorType> types = infer(op, Knowns("Recurrent", knowns));
  ASSERT_EQ(types.size(), 3u);
  EXPECT_EQ(types[0].to_string(), "float32[?, 2, ?, 5]");
  EXPECT_EQ(types[2].to_string(), "float32[2, ?, 5]");
}

TEST(Recurrent, CountsItsMultiplyAdds) {
  const std::vector<TensorType> in{{ElementType::float32, Shape{10, 4, 32}},
                                   {ElementType::float32, Shape{1, 256, 32}},
                                   {ElementType::float32, Shape{1, 256, 64}}};
  const std::vector<TensorType> out{{ElementType::float32, Shape{10, 1, 4, 64}}};
  const double flops = work(Recurrent{.kind = Kind::lstm}, in, out).flops;
  const double macs = 10 * 4 * 256.0 * (32 + 64);
  EXPECT_GE(flops, 2 * macs);
  EXPECT_LT(flops, 2.05 * macs + 13 * 10 * 4 * 64);
}

void expect_refused(const Recurrent& op, const Operands& operands, const std::string& part) {
  try {
    infer_types_of(op, operands);
    FAIL() << "accepted; wanted a refusal with: " << part;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(Recurrent, RefusesOperandsThatDoNotFit) {
  const Recurrent rnn{.kind = Kind::rnn};
  const auto with = [](std::size_t i, Array a) {
    Operands operands = small_rnn();
    operands.resize(std::max(operands.size(), i + 1));
    operands[i] = std::move(a);
    return operands;
  };
  expect_refused(rnn, {small_rnn()[0], small_rnn()[1]}, "input 2 is missing");
  expect_refused(rnn, with(1, floats({1, 1, 2}, {1, 2})), "input 1 is float32[1, 1, 2]: dimension 2");
  expect_refused(rnn, with(2, floats({1, 2, 1}, {1, 2})), "input 2 is float32[1, 2, 1]: dimension 1");
  expect_refused(rnn, with(3, floats({1, 3}, {1, 2, 3})), "input 3 is float32[1, 3]");
  expect_refused(rnn, with(0, floats({2, 1}, {1, 2})), "rank");
  expect_refused(rnn, with(0, int64_array({2, 1, 1}, {1, 2})), "one element type");
  expect_refused(rnn, with(4, floats({1}, {1})), "sequence lengths are int32");
  expect_refused(rnn, with(4, array_of<std::int32_t>({2}, {1, 1})), "dimension 0 must be 1 x the batch of 1");
  expect_refused(rnn, with(6, floats({1, 1, 1}, {1})), "at most 6");
  expect_refused(Recurrent{.kind = Kind::rnn, .direction = Direction::bidirectional}, small_rnn(), "directions of 2");
  expect_refused(Recurrent{.kind = Kind::gru}, small_rnn(), "must be 3 x the hidden size of 1");
  expect_refused(Recurrent{.kind = Kind::rnn, .hidden = 7}, small_rnn(), "the hidden size of 7");
}

TEST(Recurrent, RefusesAttributesThatMakeNoSense) {
  expect_refused(Recurrent{.kind = Kind::rnn, .activations = {"Cosine"}}, small_rnn(), "no activation 'Cosine'");
  expect_refused(Recurrent{.kind = Kind::rnn, .activations = {"Tanh", "Tanh"}}, small_rnn(),
                 "2 activations are given, 1 are needed");
  expect_refused(Recurrent{.kind = Kind::rnn, .hidden = -3}, small_rnn(), "hidden_size is -3");
  expect_refused(Recurrent{.kind = Kind::rnn, .clip = -1.f}, small_rnn(), "clip is -1");
}

TEST(Recurrent, RefusesSequencesLongerThanTheInput) {
  Operands operands = small_rnn();
  operands.push_back(array_of<std::int32_t>({1}, {3}));
  EXPECT_THROW(run(Recurrent{.kind = Kind::rnn}, operands), Error);
  operands[4] = array_of<std::int32_t>({1}, {-1});
  EXPECT_THROW(run(Recurrent{.kind = Kind::rnn}, operands), Error);
}

}  // namespace
}  // namespace tessera
