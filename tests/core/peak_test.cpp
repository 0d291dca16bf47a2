#include "tessera/core/peak.h"

#include "tessera/core/parallel_for.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Peak, CountsTheOperationsOfEveryRound) {
  const double once = run_peak_loop(active_isa(), 100);
  EXPECT_GT(once, 0);
  EXPECT_EQ(run_peak_loop(active_isa(), 300), 3 * once);
}

// No speed is asked for, only that something was done: nobody's memory gives 20 TB/s to two threads.
TEST(Peak, ReadsWhatItSaysItReads) {
  const Peak peak = measure_peak(active_isa(), 2, 0.001);
  EXPECT_GT(peak.flop_per_s, 0);
  EXPECT_LT(peak.flop_per_s, 1e13);
  EXPECT_GT(peak.read_bytes_per_s, 0);
  EXPECT_LT(peak.read_bytes_per_s, 2e13);
}

}  // namespace
}  // namespace tessera
