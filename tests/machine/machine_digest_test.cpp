#include "tessera/machine/machine_digest.h"

#include "tessera/machine/machine_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tessera {
namespace {

TEST(MachineDigest, IsOfEveryFigureButThoseAroundCards) {
  const Machine machine = load_machine("wormhole_n150");
  const std::string digest = machine_digest(machine);
  bool has_fleet = false;
  for (std::size_t i = 0; i < machine.figures.size(); ++i) {
    Machine changed = machine;
    changed.figures[i].value = std::string("changed");
    const bool fleet = machine.figures[i].group == "fleet";
    EXPECT_EQ(machine_digest(changed) == digest, fleet) << machine.figures[i].group << "." << machine.figures[i].key;
    has_fleet = has_fleet || fleet;
  }
  EXPECT_TRUE(has_fleet);
  Machine renamed = machine;
  renamed.name = "other";
  EXPECT_NE(machine_digest(renamed), digest);
}

TEST(MachineDigest, DoesNotDependOnWhereTheFleetStands) {
  Machine machine = load_machine("wormhole_n150");
  const std::string digest = machine_digest(machine);
  std::stable_partition(machine.figures.begin(), machine.figures.end(),
                        [](const Figure& figure) { return figure.group == "fleet"; });
  EXPECT_EQ(machine_digest(machine), digest);
}

}  // namespace
}  // namespace tessera
