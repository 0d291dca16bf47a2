#include "tessera/machine/unified_guide.h"

#include "tessera/machine/machine_file.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(UnifiedGuide, IsWhatTheFileSays) {
  const UnifiedGuide guide = unified_guide_of(load_machine("apple_m1"));
  EXPECT_EQ(guide.special_flop, 4);
  EXPECT_EQ(guide.guide_bytes_per_s, 70e9);
  EXPECT_EQ(guide.hidden_limit, 128);
  EXPECT_EQ(guide.target_utilization, 0.5);
  EXPECT_EQ(guide.learning_rate, 0.001);
  EXPECT_EQ(guide.backbone_dropout, 0.1);
  EXPECT_THAT(guide.advice, HasSubstr("use smaller batches"));
  EXPECT_EQ(guide.class_target_bytes_per_s, 50e9);
  EXPECT_EQ(guide.high_target_flop_per_s, 3e12);
  EXPECT_EQ(guide.high_target_bytes_per_s, 70e9);
  EXPECT_EQ(guide.high_memory_bytes, 6'442'450'944);
  EXPECT_EQ(guide.small_batch, 32);
  EXPECT_EQ(guide.small_backbone_units, "32, 32");
}

TEST(UnifiedGuide, IsForMachinesOfOneFamily) {
  EXPECT_THAT(for_tests::error_of([] { unified_guide_of(load_machine("cpu_avx2")); }), HasSubstr("family 'cpu'"));
}

}  // namespace
}  // namespace tessera
