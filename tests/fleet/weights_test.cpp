#include "tessera/fleet/weights.h"

#include "tessera/machine/machine_file.h"

#include <gtest/gtest.h>

namespace tessera::fleet {
namespace {

constexpr std::int64_t kBytes = 25'600'000;

TEST(Weights, AChipAloneGetsThemAtTheRateOfItsLink) {
  const Machine n150 = load_machine("wormhole_n150");
  const Replication r = replicate(n150, topology_of_chips(n150, 1), kBytes);
  EXPECT_DOUBLE_EQ(r.total_ns, static_cast<double>(kBytes) / 14.0e9 * 1e9);
  EXPECT_EQ(r.network_ns, 0);
  EXPECT_FALSE(r.over_ethernet);
}

TEST(Weights, ChipsBehindOneLinkAreFasterToReachThroughEachOther) {
  const Machine galaxy = load_machine("fleet_galaxy");
  const Replication r = replicate(galaxy, topology_of(galaxy), kBytes);
  EXPECT_TRUE(r.over_ethernet);
  EXPECT_LT(r.broadcast_ns, r.pcie_ns / 3);
  EXPECT_EQ(r.total_ns, r.broadcast_ns);
}

TEST(Weights, ManyHostsTakeLogarithmicallyLonger) {
  const Machine n150 = load_machine("wormhole_n150");
  const auto at = [&](std::int64_t chips) {
    return replicate(n150, topology_of_chips(n150, chips), kBytes).network_ns;
  };
  EXPECT_EQ(at(8), 0);
  // One host passes them on to another, or to two.
  const FleetSpec spec = required_fleet(n150);
  const double once_ns = static_cast<double>(kBytes) / spec.network_bytes_per_s * 1e9;
  EXPECT_DOUBLE_EQ(at(16), once_ns + spec.network_latency_ns);
  EXPECT_DOUBLE_EQ(at(24), 2 * once_ns + spec.network_latency_ns);
  EXPECT_GT(at(16), 0);
  EXPECT_GT(at(10'000), at(1'000));
  EXPECT_LT(at(10'000), 2 * at(100));
}

TEST(Weights, CountEveryConstant) {
  Graph graph;
  graph.add_constant("w", Array(ElementType::float32, Shape{10, 3}));
  graph.add_input("x", TensorType(ElementType::float32, Shape{100}));
  EXPECT_EQ(weight_bytes(graph, 2), 60);
}

}  // namespace
}  // namespace tessera::fleet
