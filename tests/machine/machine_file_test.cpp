#include "tessera/machine/machine_file.h"

#include "tessera/core/error.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(MachineFile, WormholeN150HasTheNumbersThatTtnnPrints) {
  const Machine machine = load_machine_file(TESSERA_MACHINES_DIR "/wormhole_n150.toml");
  const TensixSpec& spec = tensix_of(machine);
  EXPECT_EQ(machine.name, "wormhole_n150");
  EXPECT_EQ(spec.arch, "WORMHOLE_B0");
  EXPECT_EQ(spec.cores(), 64);
  EXPECT_EQ(spec.l1_bank_bytes(), 1393312);
  EXPECT_EQ(spec.dram_bank_bytes + spec.dram_bank_base_bytes, 1 << 30);
}

}  // namespace
}  // namespace tessera
