#include "small_networks.h"

#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/ops/concat/concat_layer.h"
#include "tessera/targets/tensix/plan/planning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tessera::tensix {
namespace {

// Nothing is left out: every grid, every block that another does not beat, every way to have come so far.
SearchSettings everything() {
  constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  SearchSettings s;
  s.candidates = {.height_grids = all, .block_grids = all, .width_grids = all, .per_grid = all};
  s.candidates.slowest = std::numeric_limits<double>::max();
  s.candidates.fewest = 0;
  s.beam = s.same_result = all;
  return s;
}

// Up to eight layers: convolutions of several shapes, some with a shortcut around them that is added or joined.
Graph random_network(unsigned seed, std::int64_t batch, bool joins) {
  std::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<std::int64_t> of) {
    return *(of.begin() + static_cast<std::ptrdiff_t>(random() % of.size()));
  };
  SmallNetwork net(Shape{batch, pick({16, 32, 64}), 12, 16}, seed);
  ValueId y = net.x;
  int layers = 0;
  while (layers < 7) {
    const std::int64_t channels = pick({32, 64, 96});
    if (layers > 0 && layers < 6 && (random() % 2 == 0 || (joins && layers == 5))) {
      const ValueId before = y;
      const std::int64_t same = net.graph.value(y).type.shape()[1];
      const ValueId other = net.conv(y, same, pick({1, 3}));
      y = joins ? net.join(other, before) : net.add(other, before);
      layers += 2;
    } else {
      y = net.conv(y, channels, pick({1, 3}), random() % 4 == 0 ? 2 : 1);
      ++layers;
    }
  }
  return net.done(y);
}

struct Searched {
  unsigned seed;
  std::int64_t batch;
  bool joins;
};
std::vector<Searched> searched() {
  std::vector<Searched> out;
  for (unsigned seed = 1; seed < 9; ++seed) out.push_back({seed, 1, false});
  for (unsigned seed = 1; seed < 5; ++seed) out.push_back({seed, 1, true});
  for (unsigned seed = 5; seed < 7; ++seed) out.push_back({seed, 3, true});
  for (unsigned seed = 9; seed < 11; ++seed) out.push_back({seed, 8, false});
  return out;
}

class ExhaustiveSearch : public testing::TestWithParam<Searched> {};
INSTANTIATE_TEST_SUITE_P(Seeds, ExhaustiveSearch, testing::ValuesIn(searched()), [](const auto& test) {
  const Searched& s = test.param;
  return std::to_string(s.seed) + "_batch_" + std::to_string(s.batch) + (s.joins ? "_joined" : "_added");
});

TEST_P(ExhaustiveSearch, FindsNothingThatIsMuchFasterThanThePlan) {
  constexpr double kWithin = 1.02;  // what the beam and the pruning may cost
  const Machine machine = load_machine("wormhole_n150");
  const auto [seed, batch, joins] = GetParam();
  const tensix::LoweredGraph network = tensix::lower(random_network(seed, batch, joins));
  ASSERT_LE(network.nodes.size(), 8u);
  const bool has_join = std::ranges::any_of(
      network.nodes, [](const tensix::LoweredNode& node) { return node.layer.is<tensix::ConcatLayer>(); });
  ASSERT_EQ(has_join, joins);
  const std::vector<StepPrecision> precisions(network.nodes.size());
  Planning quick(network, machine, {}, {}), full(network, machine, {}, {}, everything());
  const double planned = quick.plan(precisions).value().device_ns, best = full.plan(precisions).value().device_ns;
  EXPECT_LE(planned, kWithin * best);
  EXPECT_GE(full.trials(), quick.trials());
}

}  // namespace
}  // namespace tessera::tensix
