#include "pass_testing.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

struct Padded {
  Graph graph;
  PassInputs random{31};
  ValueId x, padded;

  explicit Padded(const Array& pads, float value = 0, Pad::Mode mode = Pad::Mode::constant, const Array* axes = nullptr)
      : x(graph.add_input("x", TensorType(ElementType::float32, Shape{1, 3, 6, 7}))) {
    std::vector<ValueId> inputs{x, graph.add_constant("pads", pads),
                                graph.add_constant("value", Array::scalar<float>(value))};
    if (axes != nullptr) inputs.push_back(graph.add_constant("axes", *axes));
    padded = graph.add("pad", Pad{mode}, inputs);
  }
  Padded& conv(Window window = {}) {
    graph.outputs = {graph.add("y", Conv{window, 1}, {padded, graph.add_constant("w", random.floating({2, 3, 3, 3}))})};
    return *this;
  }
  Graph folded() { return after_pass(graph, fold_pads, {random.floating({1, 3, 6, 7})}); }
  void expect_as_it_was() { expect_untouched(graph, fold_pads, {random.floating({1, 3, 6, 7})}); }
};

const Array kAround = int64s({0, 0, 1, 2, 0, 0, 3, 0});

TEST(FoldPads, GivesZerosToTheConvolution) {
  const Graph after = Padded(kAround).conv().folded();
  ASSERT_EQ(node_list(after), "Conv");
  EXPECT_THAT(std::get<Conv>(after.nodes[0].op).window.pads, testing::ElementsAre(1, 2, 3, 0));
  Window padded;
  padded.pads = {1, 1, 0, 1};
  EXPECT_THAT(std::get<Conv>(Padded(kAround).conv(padded).folded().nodes[0].op).window.pads,
              testing::ElementsAre(2, 3, 3, 1));
  Window valid;
  valid.auto_pad = AutoPad::valid;
  EXPECT_EQ(node_list(Padded(kAround).conv(valid).folded()), "Conv");
  const Array axes = int64s({-1, 2});
  EXPECT_THAT(std::get<Conv>(Padded(int64s({1, 2, 3, 4}), 0, Pad::Mode::constant, &axes).conv().folded().nodes[0].op)
                  .window.pads,
              testing::ElementsAre(2, 1, 4, 3));
}

TEST(FoldPads, LeavesPaddingThatAWindowCannotSay) {
  Padded(kAround, 1).conv().expect_as_it_was();
  Padded(kAround, 0, Pad::Mode::edge).conv().expect_as_it_was();
  Padded(int64s({0, 0, -1, 0, 0, 0, 0, 0})).conv().expect_as_it_was();
  Padded(int64s({1, 0, 0, 0, 0, 0, 0, 0})).conv().expect_as_it_was();
  Window same;
  same.auto_pad = AutoPad::same_upper;
  Padded(kAround).conv(same).expect_as_it_was();
  Padded max(kAround);
  MaxPool pool;
  pool.window.kernel = {2, 2};
  max.graph.outputs = {max.graph.add("y", pool, {max.padded})};
  max.expect_as_it_was();
}

TEST(FoldPads, CountsZerosInAverages) {
  for (const bool included : {false, true})
    for (const std::int64_t own : {0, 1})
      for (const bool ceil_mode : {false, true}) {
        SCOPED_TRACE(testing::Message() << included << " " << own << " " << ceil_mode);
        Padded net(int64s({0, 0, 1, 1, 0, 0, 1, 0}));
        AveragePool pool;
        pool.window.kernel = {3, 3};
        pool.window.strides = {2, 2};
        pool.window.pads = {own, own, own, own};
        pool.count_include_pad = included;
        pool.ceil_mode = ceil_mode;
        net.graph.outputs = {net.graph.add("y", pool, {net.padded})};
        if (ceil_mode || (!included && own > 0))
          net.expect_as_it_was();
        else
          EXPECT_EQ(node_list(net.folded()), "AveragePool");
      }
}

TEST(FoldPads, KeepsAPadThatOthersRead) {
  Padded net(kAround);
  net.conv();
  net.graph.outputs.push_back(net.padded);
  EXPECT_EQ(node_list(net.folded()), "Pad Conv");
}

}  // namespace
}  // namespace tessera
