#include "tessera/graph/ops/control_flow.h"

#include "tessera/core/error.h"
#include "tessera/graph/graph.h"
#include "tests/graph/flow_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kU = TensorType::kUnknown;
constexpr Binary kAdd{Binary::Kind::add};
constexpr Unary kNeg{Unary::Kind::neg};

TensorType f32(std::vector<std::int64_t> dims) { return {ElementType::float32, std::move(dims)}; }
const TensorType kAnyF32(ElementType::float32, std::nullopt);
Array boolean(bool value) { return array_of<bool>({}, {value}); }
Array count(std::int64_t value) { return int64_array({}, {value}); }

using Body = std::shared_ptr<const Graph>;

// A graph of one input that gives `op` of it.
template <class Op>
Body apply(Op op, TensorType type = kAnyF32) {
  auto g = std::make_shared<Graph>();
  g->outputs = {g->add("out", op, {g->add_input("in", std::move(type))})};
  return g;
}

Body constant(Array array) {
  auto g = std::make_shared<Graph>();
  g->outputs = {g->add_constant("value", std::move(array))};
  return g;
}

template <class Op>
void expect_refused(const Op& op, const Operands& operands, const std::string& part) {
  try {
    infer_types_of(op, operands);
    FAIL() << "accepted; wanted a refusal with: " << part;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(If, TakesTheBranchThatTheConditionSays) {
  const If op{apply(kNeg), apply(Unary{Unary::Kind::abs}), 1};
  const Array x = floats({2}, {1, -2});
  EXPECT_EQ(run(op, {boolean(true), x})[0], floats({2}, {-1, 2}));
  EXPECT_EQ(run(op, {boolean(false), x})[0], floats({2}, {1, 2}));
  EXPECT_EQ(run(op, {array_of<bool>({1}, {true}), x})[0], floats({2}, {-1, 2})) << "one element counts as a scalar";
}

TEST(If, PromisesOnlyWhatHoldsOfBothBranches) {
  const auto promised = [](Array a, Array b) {
    return infer_types_of(If{constant(std::move(a)), constant(std::move(b)), 0}, {boolean(true)}, false)[0].to_string();
  };
  const Array x(ElementType::float32, Shape{2, 3});
  EXPECT_EQ(promised(x, Array(ElementType::float32, Shape{2, 3})), "float32[2, 3]");
  EXPECT_EQ(promised(x, Array(ElementType::float32, Shape{2, 4})), "float32[2, ?]");
  EXPECT_EQ(promised(x, Array(ElementType::float32, Shape{6})), "float32[...]");
}

TEST(If, AKnownConditionTellsTheTypeOfItsBranchAlone) {
  const If op{constant(floats({1}, {1})), constant(int64_array({2}, {1, 2})), 0};
  EXPECT_EQ(infer_types_of(op, {boolean(true)})[0].to_string(), "float32[1]");
  EXPECT_EQ(infer_types_of(op, {boolean(false)})[0].to_string(), "int64[2]");
  expect_refused(If{op.then_branch, op.else_branch, 1}, {boolean(true), count(0)}, "0 inputs, 1 values are captured");
}

TEST(If, ABranchThatCannotTakeTheseOperandsLeavesTheWordToTheOther) {
  auto adds_three = std::make_shared<Graph>();
  const ValueId in = adds_three->add_input("in", kAnyF32);
  adds_three->outputs = {adds_three->add("sum", kAdd, {in, adds_three->add_constant("three", floats({3}, {1, 2, 3}))})};
  const If op{adds_three, apply(kNeg), 1};
  EXPECT_EQ(infer_types_of(op, {boolean(false), floats({2}, {1, 2})}, false)[0].to_string(), "float32[2]");
  EXPECT_EQ(run(op, {boolean(false), floats({2}, {1, 2})})[0], floats({2}, {-1, -2}));
  try {
    infer_types_of(If{adds_three, adds_three, 1}, {boolean(false), floats({2}, {1, 2})}, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'sum'"), HasSubstr("2 against 3")));
  }
}

TEST(If, RefusesWhatDoesNotFit) {
  const If op{apply(kNeg), apply(kNeg), 1};
  const Array x = floats({1}, {1});
  expect_refused(op, {count(1), x}, "the condition must be one bool, not int64[]");
  expect_refused(op, {array_of<bool>({2}, {true, true}), x}, "the condition must be one bool, not bool[2]");
  expect_refused(op, {boolean(true)}, "input 1 is missing");
  expect_refused(op, {boolean(true), x, x}, "at most 2");
  expect_refused(op, {boolean(true), count(1)}, "input 'in' of the body is float32[...], but is given int64[]");
  expect_refused(If{nullptr, apply(kNeg), 1}, {boolean(true), x}, "a branch is missing");
  expect_refused(If{apply(kNeg), apply(kNeg), -1}, {boolean(true)}, "-1 captures");
  auto two = std::make_shared<Graph>(*apply(kNeg));
  two->outputs.push_back(two->outputs[0]);
  expect_refused(If{two, apply(kNeg), 1}, {boolean(true), x}, "one branch gives 2 outputs, the other 1");
  const If mixed{constant(floats({1}, {1})), constant(count(1)), 0};
  EXPECT_THROW(infer_types_of(mixed, {boolean(true)}, false), Error) << "outputs of two element types";
}

TEST(If, RefusesABrokenBranch) {
  auto broken = std::make_shared<Graph>(*apply(kNeg));
  broken->nodes[0].inputs[0] = 77;
  expect_refused(If{broken, broken, 1}, {boolean(true), floats({1}, {1})}, "reads value 77");
}

// Body inputs: iteration, condition, total, step (captured). total += step; the slice is the new total.
Body accumulate(TensorType total_type = kAnyF32) {
  auto g = std::make_shared<Graph>();
  g->add_input("i", TensorType(ElementType::int64, Shape{}));
  const ValueId condition = g->add_input("condition", TensorType(ElementType::boolean, Shape{}));
  const ValueId total = g->add_input("total", std::move(total_type)), step = g->add_input("step", kAnyF32);
  const ValueId sum = g->add("sum", kAdd, {total, step});
  g->outputs = {g->add("again", Unary{Unary::Kind::identity}, {condition}), sum, sum};
  return g;
}

TEST(Loop, CarriesValuesAndStacksSlices) {
  const Loop op{accumulate(), 1, 1};
  const std::vector<Array> out = run(op, {count(3), boolean(true), floats({2}, {0, 10}), floats({2}, {1, 2})});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0], floats({2}, {3, 16}));
  EXPECT_EQ(out[1], floats({3, 2}, {1, 12, 2, 14, 3, 16}));
}

TEST(Loop, TellsTheNumberOfSlicesIfOnlyTheTripCountDecides) {
  const Loop op{accumulate(), 1, 1};
  const Operands operands{count(3), boolean(true), floats({2}, {0, 10}), floats({2}, {1, 2})};
  EXPECT_EQ(infer_types_of(op, operands)[1].to_string(), "float32[3, 2]");
  EXPECT_EQ(infer_types_of(op, operands, false)[1].to_string(), "float32[?, 2]");
  EXPECT_EQ(infer_types_of(op, {count(3), std::nullopt, operands[2], operands[3]})[1].to_string(), "float32[3, 2]");
  EXPECT_EQ(infer_types_of(op, {count(3), boolean(false), operands[2], operands[3]})[1].to_string(), "float32[0, 2]");
}

TEST(Loop, WithoutAnIterationGivesItsInputsAndEmptyStacks) {
  const Loop op{accumulate(), 1, 1};
  const Array start = floats({2}, {5, 6}), step = floats({2}, {1, 1});
  for (const Operands& operands :
       {Operands{count(0), std::nullopt, start, step}, Operands{count(-4), boolean(true), start, step},
        Operands{std::nullopt, boolean(false), start, step}, Operands{count(9), boolean(false), start, step}}) {
    const std::vector<Array> out = run(op, operands);
    EXPECT_EQ(out[0], start);
    EXPECT_EQ(out[1].to_string(), "[0, 2] float32");
  }
}

// Counts up to a limit: the body's inputs are iteration, condition, n; it gives n + 1 < limit, n + 1, iteration.
Body count_below(float limit) {
  auto g = std::make_shared<Graph>();
  const ValueId i = g->add_input("i", TensorType(ElementType::int64, Shape{}));
  g->add_input("condition", TensorType(ElementType::boolean, Shape{}));
  const ValueId n = g->add_input("n", f32({}));
  const ValueId next = g->add("next", kAdd, {n, g->add_constant("one", floats({}, {1}))});
  g->outputs = {g->add("less", Binary{Binary::Kind::less}, {next, g->add_constant("limit", floats({}, {limit}))}), next,
                i};
  return g;
}

TEST(Loop, StopsWhenTheBodySaysSo) {
  const Loop op{count_below(4), 1, 0};
  const std::vector<Array> out = run(op, {std::nullopt, std::nullopt, floats({}, {0})});
  EXPECT_EQ(out[0], floats({}, {4}));
  EXPECT_EQ(out[1], int64_array({4}, {0, 1, 2, 3}));
  EXPECT_EQ(run(op, {count(2), boolean(true), floats({}, {0})})[0], floats({}, {2})) << "or when the trips are over";
}

TEST(Loop, ACarriedShapeMayChangeBetweenIterations) {
  auto g = std::make_shared<Graph>();
  g->add_input("i", TensorType(ElementType::int64, Shape{}));
  const ValueId condition = g->add_input("condition", TensorType(ElementType::boolean, Shape{}));
  // The model says one row; that holds for the first iteration only.
  const ValueId rows = g->add_input("rows", f32({1, 2}));
  const ValueId more = g->add("more", Concat{0}, {rows, g->add_constant("row", floats({1, 2}, {8, 9}))});
  g->outputs = {condition, more};
  const Loop op{g, 1, 0};
  const Operands operands{count(2), boolean(true), floats({1, 2}, {1, 2})};
  EXPECT_EQ(infer_types_of(op, operands)[0].to_string(), "float32[?, 2]");
  EXPECT_EQ(run(op, operands)[0], floats({3, 2}, {1, 2, 8, 9, 8, 9}));
}

TEST(Loop, ACarriedRankMayChangeToo) {
  const Loop op{accumulate(), 1, 1};
  const Operands operands{count(2), boolean(true), floats({}, {1}), floats({2}, {1, 2})};
  EXPECT_EQ(infer_types_of(op, operands)[0].to_string(), "float32[...]");
  EXPECT_EQ(run(op, operands)[0], floats({2}, {3, 5}));
}

TEST(Loop, BodiesMayLoopThemselvesOverWhatTheyCapture) {
  // Three times: total += step, twice.
  auto outer = std::make_shared<Graph>();
  outer->add_input("i", TensorType(ElementType::int64, Shape{}));
  const ValueId condition = outer->add_input("condition", TensorType(ElementType::boolean, Shape{}));
  const ValueId total = outer->add_input("total", kAnyF32), step = outer->add_input("step", kAnyF32);
  const ValueId twice = outer->add_constant("twice", count(2));
  const std::vector<ValueId> inner =
      outer->add_node("inner", Loop{accumulate(), 1, 1}, {twice, kNoValue, total, step}, 2);
  outer->outputs = {condition, inner[0], inner[1]};
  const std::vector<Array> out = run(Loop{outer, 1, 1}, {count(3), boolean(true), floats({1}, {0}), floats({1}, {1})});
  EXPECT_EQ(out[0], floats({1}, {6}));
  EXPECT_EQ(out[1], floats({3, 2, 1}, {1, 2, 3, 4, 5, 6}));
}

TEST(Loop, IterationAndConditionAreListsOfOneWhereTheBodySaysSo) {
  auto g = std::make_shared<Graph>();
  const ValueId i = g->add_input("i", TensorType(ElementType::int64, Shape{1}));
  const ValueId condition = g->add_input("condition", TensorType(ElementType::boolean, Shape{1}));
  g->outputs = {condition, i};
  EXPECT_EQ(run(Loop{g, 0, 0}, {int64_array({1}, {3}), array_of<bool>({1}, {true})})[0],
            int64_array({3, 1}, {0, 1, 2}));
}

class LoopLimit : public testing::Test {
 protected:
  void TearDown() override { loop_limits() = {}; }
  static std::string refusal(const Loop& op, const Operands& operands) {
    try {
      run(op, operands);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(LoopLimit, EndsALoopThatNeverStops) {
  loop_limits().iterations = 1000;
  EXPECT_THAT(refusal(Loop{accumulate(), 1, 1}, {std::nullopt, std::nullopt, floats({1}, {0}), floats({1}, {1})}),
              HasSubstr("Loop: more than 1000 iterations"));
  EXPECT_EQ(refusal(Loop{accumulate(), 1, 1}, {count(1000), std::nullopt, floats({1}, {0}), floats({1}, {1})}),
            "accepted");
}

TEST_F(LoopLimit, EndsALoopThatCollectsTooMuch) {
  loop_limits().bytes = 4096;
  const Array row(ElementType::float32, Shape{100});
  EXPECT_THAT(refusal(Loop{accumulate(), 1, 1}, {count(1000), std::nullopt, row, row}),
              HasSubstr("Loop: more than 4096 B"));
}

TEST(Loop, RefusesSlicesThatDiffer) {
  const Operands operands{count(2), boolean(true), floats({}, {1}), floats({2}, {1, 2})};
  // The slice is the value before the step: a scalar first, then a list.
  auto g = std::make_shared<Graph>(*accumulate());
  g->outputs[2] = g->inputs[2];
  const Loop op{g, 1, 1};
  try {
    run(op, operands);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("scan output 0 was float32[] and is float32[2] in iteration 1"));
  }
}

TEST(Loop, RefusesWhatDoesNotFit) {
  const Loop op{accumulate(), 1, 1};
  const Array x = floats({1}, {1});
  expect_refused(op, {floats({}, {3}), boolean(true), x, x}, "the trip count must be one int64, not float32[]");
  expect_refused(op, {int64_array({2}, {1, 2}), boolean(true), x, x}, "the trip count must be one int64, not int64[2]");
  expect_refused(op, {count(1), count(1), x, x}, "the condition must be one bool, not int64[]");
  expect_refused(op, {count(1), boolean(true), x}, "3 inputs are given");
  expect_refused(op, {count(1), boolean(true), std::nullopt, x}, "input 2 is missing");
  expect_refused(op, {count(1), boolean(true), count(1), x},
                 "input 'total' of the body is float32[...], but is given int64[]");
  expect_refused(Loop{nullptr, 0, 0}, {count(1), boolean(true)}, "the body is missing");
  expect_refused(Loop{accumulate(), 2, 1}, {count(1), boolean(true), x, x, x}, "the body takes 4 inputs");
  expect_refused(Loop{accumulate(), -1, 3}, {count(1), boolean(true)}, "-1 carried");
  auto g = std::make_shared<Graph>(*accumulate());
  g->outputs = {g->outputs[0]};
  expect_refused(Loop{g, 1, 1}, {count(1), boolean(true), x, x}, "the body gives 1 outputs");
  g->outputs = {g->inputs[2], g->inputs[2]};
  expect_refused(Loop{g, 1, 1}, {count(1), boolean(true), x, x}, "the condition that the body gives must be one bool");
}

TEST(Loop, ManyNestedLoopsAreInferredInReasonableTimeOrRefused) {
  const auto nest = [](int depth) {
    Body body = accumulate();
    for (int d = 0; d < depth; ++d) {
      auto outer = std::make_shared<Graph>();
      outer->add_input("i", TensorType(ElementType::int64, Shape{}));
      const ValueId condition = outer->add_input("condition", TensorType(ElementType::boolean, Shape{}));
      const ValueId total = outer->add_input("total", kAnyF32), step = outer->add_input("step", kAnyF32);
      const std::vector<ValueId> inner =
          outer->add_node("inner", Loop{body, 1, 1}, {kNoValue, condition, total, step}, 1);
      outer->outputs = {condition, inner[0]};
      body = outer;
    }
    return infer_types_of(Loop{body, 1, 1}, {count(1), boolean(true), floats({}, {1}), floats({2}, {1, 2})})[0]
        .to_string();
  };
  EXPECT_EQ(nest(20), "float32[...]");
  EXPECT_THROW(nest(70), Error);
}

TEST(Loop, WorkIsThatOfItsBodyTimesTheIterationsThatItsStacksTell) {
  const Loop op{accumulate(), 1, 1};
  const std::vector<TensorType> in{{ElementType::int64, Shape{}}, {ElementType::boolean, Shape{}}, f32({8}), f32({8})};
  const double once = work(op, in, std::vector<TensorType>{f32({8}), f32({kU, 8})}).flops;
  EXPECT_EQ(work(op, in, std::vector<TensorType>{f32({8}), f32({5, 8})}).flops, 5 * once);
  EXPECT_GE(once, 8);
}

}  // namespace
}  // namespace tessera
