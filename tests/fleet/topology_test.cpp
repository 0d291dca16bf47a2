#include "tessera/fleet/topology.h"

#include "tessera/machine/machine_file.h"
#include "tests/error_of.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::fleet {
namespace {

using for_tests::error_of;

TEST(Topology, FillsCardsAndHostsOneAfterTheOther) {
  const Topology t{.chips = 21, .chips_per_card = 2, .cards_per_host = 4};
  EXPECT_EQ(t.cards(), 11);
  EXPECT_EQ(t.hosts(), 3);
  const std::vector<HostGroup> groups = host_groups(t);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].hosts, 2);
  EXPECT_EQ(groups[0].chips, 8);
  EXPECT_EQ(groups[1].hosts, 1);
  EXPECT_EQ(groups[1].chips, 5);
}

TEST(Topology, ShippedFleetsHaveAsManyChipsAsTheirNamesSay) {
  EXPECT_EQ(topology_of(load_machine("fleet_n300")).chips, 2);
  EXPECT_EQ(topology_of(load_machine("fleet_t3000")).chips, 8);
  EXPECT_EQ(topology_of(load_machine("fleet_galaxy")).chips, 32);
  const Topology large = topology_of(load_machine("fleet_10000"));
  EXPECT_EQ(large.chips, 10'000 - 40);  // spares do not work
  EXPECT_EQ(large.hosts(), 1245);
}

TEST(Topology, ACardIsNoFleet) {
  EXPECT_NE(error_of([] { topology_of(load_machine("wormhole_n150")); }).find("has no 'hosts'"), std::string::npos);
  EXPECT_EQ(topology_of_chips(load_machine("wormhole_n150"), 32).hosts(), 4);
  EXPECT_NE(error_of([] { topology_of_chips(load_machine("wormhole_n150"), 0); }).find("0 chips"), std::string::npos);
  EXPECT_NE(error_of([] { required_fleet(load_machine("cpu_avx2")); }).find("family cpu"), std::string::npos);
}

TEST(Topology, SaysWhatToWriteWhereAMachineHasNoFleet) {
  Machine machine = load_machine("wormhole_n150");
  std::erase_if(machine.figures, [](const Figure& figure) { return figure.group == "fleet"; });
  EXPECT_NE(error_of([&] { required_fleet(machine); }).find("no group [fleet]"), std::string::npos);
}

TEST(Topology, ShardsMustBeEqual) {
  EXPECT_EQ(shard_frames(512, 32), 16);
  const std::string message = error_of([] { shard_frames(100, 32); });
  EXPECT_NE(message.find("100 frames do not split over 32 chips: shards must be equal, and 4 would be left over"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace tessera::fleet
