#include "small_networks.h"

#include "tessera/machine/machine_file.h"
#include "tessera/planner/internal/planning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace tessera::planner {
namespace TSR_FILE {

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

// Up to eight layers: convolutions of several shapes, some with a shortcut around them.
Graph random_network(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<std::int64_t> of) {
    return *(of.begin() + static_cast<std::ptrdiff_t>(random() % of.size()));
  };
  SmallNetwork net(Shape{1, pick({16, 32, 64}), 12, 16}, seed);
  ValueId y = net.x;
  int layers = 0;
  while (layers < 7) {
    const std::int64_t channels = pick({32, 64, 96});
    if (layers > 0 && layers < 6 && random() % 2 == 0) {
      const ValueId before = y;
      const std::int64_t same = net.graph.value(y).type.shape()[1];
      y = net.add(net.conv(y, same, pick({1, 3})), before);
      layers += 2;
    } else {
      y = net.conv(y, channels, pick({1, 3}), random() % 4 == 0 ? 2 : 1);
      ++layers;
    }
  }
  return net.done(y);
}

class ExhaustiveSearch : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, ExhaustiveSearch, testing::Range(1u, 9u));

TEST_P(ExhaustiveSearch, FindsNothingThatIsMuchFasterThanThePlan) {
  constexpr double kWithin = 1.02;  // what the beam and the pruning may cost
  const Machine machine = load_machine("wormhole_n150");
  const tensix::LoweredGraph network = tensix::lower(random_network(GetParam()));
  ASSERT_LE(network.nodes.size(), 8u);
  const std::vector<Precision> precisions(network.nodes.size());
  Planning quick(network, machine, {}, {}), full(network, machine, {}, {}, everything());
  const double planned = quick.plan(precisions).device_ns, best = full.plan(precisions).device_ns;
  EXPECT_LE(planned, kWithin * best);
  EXPECT_GE(full.trials(), quick.trials());
}

}  // namespace TSR_FILE
}  // namespace tessera::planner
