#include "tessera/targets/tensix/card/default_machine.h"

#include "tessera/core/error.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera::tensix {
namespace {

class DefaultMachine : public testing::Test {
 protected:
  DefaultMachine() {
    setenv("TESSERA_MACHINES", TESSERA_MACHINES_DIR, 1);
    unsetenv("TESSERA_DEVICE");
  }
};

TEST_F(DefaultMachine, IsTheOneChosenLast) {
  EXPECT_EQ(default_machine(), "wormhole_n150");
  setenv("TESSERA_DEVICE", "blackhole_p100", 1);
  EXPECT_EQ(default_machine(), "blackhole_p100");
  EXPECT_EQ(open_default_device(0, {})->card().dram_banks, 7);
  set_default_machine("wormhole_n300");
  EXPECT_EQ(default_machine(), "wormhole_n300");
  EXPECT_EQ(open_default_device(1, {})->id(), 1);
  EXPECT_THROW(open_default_device(2, {}), Error);
  EXPECT_THROW(open_default_device(-1, {}), Error);
  EXPECT_THROW(set_default_machine("nvidia_h200"), Error);
  EXPECT_THROW(set_default_machine("nothing"), Error);
  EXPECT_EQ(default_machine(), "wormhole_n300");
}

}  // namespace
}  // namespace tessera::tensix
