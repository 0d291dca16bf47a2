// Random graphs of everything that passes look for, in combinations that nobody thought of.

#include "pass_testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace tessera {
namespace {

// Values are [batch, 4, 4, 4], so that every operator fits every value, transposed or not.
class RandomGraph {
 public:
  RandomGraph(unsigned seed, std::int64_t batch) : random_(seed), inputs_(seed) {
    for (const char* name : {"x", "z"})
      values_.push_back(
          graph_.add_input(name, TensorType(ElementType::float32, std::vector<std::int64_t>{batch, 4, 4, 4})));
  }

  Graph make(int nodes) {
    for (int i = 0; i < nodes; ++i) values_.push_back(one_more(fmt::format("n{}", i)));
    // The last, and some that others read as well.
    graph_.outputs = {values_.back()};
    for (std::size_t i = 2; i + 1 < values_.size(); ++i)
      if (below(12) == 0 && std::ranges::find(graph_.outputs, values_[i]) == graph_.outputs.end())
        graph_.outputs.push_back(values_[i]);
    return std::move(graph_);
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  // Mostly what was made last: chains are what passes look at.
  ValueId any() {
    const int back = below(3) > 0 ? 0 : below(static_cast<int>(values_.size()));
    return values_[values_.size() - 1 - static_cast<std::size_t>(back)];
  }
  ValueId number(float value) { return graph_.add_constant("number", Array::scalar(value)); }
  ValueId ints(std::initializer_list<std::int64_t> list) { return graph_.add_constant("ints", int64s(list)); }
  ValueId constant() {
    switch (below(5)) {
      case 0: return graph_.add_constant("c", inputs_.floating({4, 1, 1}));
      case 1: return graph_.add_constant("c", inputs_.floating({1, 4, 1, 1}));
      case 2: return graph_.add_constant("c", inputs_.floating({4}));
      case 3: return graph_.add_constant("c", inputs_.floating({4, 4, 4}));
      default: return number(0.5f);
    }
  }
  ValueId unary(const std::string& name, Unary::Kind kind, ValueId x, float alpha = 0, float beta = 0) {
    return graph_.add(name, Unary{kind, alpha, beta}, {x});
  }
  ValueId binary(const std::string& name, Binary::Kind kind, ValueId a, ValueId b) {
    return graph_.add(name, Binary{kind}, below(2) == 0 ? std::vector{a, b} : std::vector{b, a});
  }
  Window same_size() {
    Window window;
    window.kernel = {3, 3};
    window.pads = {1, 1, 1, 1};
    return window;
  }

  ValueId one_more(const std::string& name) {
    using Kind = Unary::Kind;
    const ValueId x = any();
    switch (below(18)) {
      case 0:
      case 1:
      case 2: {
        std::vector<ValueId> operands{x, graph_.add_constant("w", inputs_.floating({4, 4, 3, 3}, 0.3))};
        if (below(2) == 0) operands.push_back(graph_.add_constant("b", inputs_.floating({4})));
        return graph_.add(name, Conv{same_size(), 1}, operands);
      }
      case 3:
        return graph_.add(
            name, BatchNorm{},
            {x, graph_.add_constant("s", inputs_.floating({4})), graph_.add_constant("b", inputs_.floating({4})),
             graph_.add_constant("m", inputs_.floating({4})), graph_.add_constant("v", inputs_.positive({4}))});
      case 4: {
        constexpr Kind kKinds[] = {Kind::relu, Kind::tanh, Kind::sigmoid, Kind::identity, Kind::hard_swish, Kind::neg};
        return unary(name, kKinds[below(6)], x);
      }
      case 5: return binary(name, Binary::Kind::mul, x, unary(name + "s", Kind::sigmoid, x));
      case 6: return binary(name, Binary::Kind::add, x, any());
      case 7: return binary(name, below(2) == 0 ? Binary::Kind::add : Binary::Kind::mul, x, constant());
      case 8: return graph_.add(name, Binary{Binary::Kind::sub}, {constant(), x});
      case 9: return graph_.add(name, Binary{Binary::Kind::div}, {x, number(below(2) == 0 ? 4.0f : 3.0f)});
      case 10: return graph_.add(name, Clip{}, {x, number(-0.5f), number(1)});
      case 11: return binary(name, below(2) == 0 ? Binary::Kind::min : Binary::Kind::max, x, number(0.25f));
      case 12:
      case 13: {
        constexpr std::int64_t kPerms[][4] = {{0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 3, 2}, {0, 1, 2, 3}};
        const auto& perm = kPerms[below(4)];
        return graph_.add(name, Transpose{{perm[0], perm[1], perm[2], perm[3]}}, {x});
      }
      case 14: {
        const ValueId flat = graph_.add(name + "f", Flatten{}, {x});
        const ValueId first = graph_.add(name + "g", Gather{0}, {graph_.add(name + "h", ShapeOf{}, {x}), ints({0})});
        const ValueId shape = graph_.add(name + "c", Concat{0}, {first, ints({4, 4, -1})});
        return graph_.add(name, Reshape{}, {flat, shape});
      }
      case 15: {
        const ValueId padded = graph_.add(name + "p", Pad{}, {x, ints({0, 0, 1, 1, 0, 0, 1, 1})});
        return graph_.add(name, Conv{}, {padded, graph_.add_constant("w", inputs_.floating({4, 4, 3, 3}, 0.3))});
      }
      case 16: {
        const ValueId both = graph_.add(name + "c", Concat{1}, {x, any()});
        return graph_.add(name, Slice{}, {both, ints({2}), ints({6}), ints({1})});
      }
      default: {
        MaxPool pool;
        pool.window = same_size();
        return graph_.add(name, pool, {x});
      }
    }
  }

  Graph graph_;
  std::mt19937 random_;
  PassInputs inputs_;
  std::vector<ValueId> values_;
};

TEST(Passes, KeepWhatRandomGraphsCompute) {
  constexpr unsigned kGraphs = 150;
  for (unsigned seed = 0; seed < kGraphs && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph before =
        RandomGraph(seed, seed % 2 == 0 ? 2 : TensorType::kUnknown).make(5 + static_cast<int>(seed % 25));
    PassInputs inputs(seed + 1000);
    const std::vector<Array> given{inputs.floating({2, 4, 4, 4}), inputs.floating({2, 4, 4, 4})};
    for (const Pass& pass : all_passes()) {
      SCOPED_TRACE(std::string(pass.name));
      Graph alone = before;
      pass.run(alone);
      infer_types(alone);
      expect_same_results(before, alone, given);
      EXPECT_FALSE(pass.run(alone)) << "a second run changed something";
    }
    Graph all = before;
    run_passes(all);
    expect_same_results(before, all, given);
    const std::string once = node_list(all);
    run_passes(all);
    EXPECT_EQ(node_list(all), once);
  }
}

}  // namespace
}  // namespace tessera
