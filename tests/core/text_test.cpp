#include "tessera/core/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("grid_x", "grid_x"), 0u);
  EXPECT_EQ(edit_distance("grid_z", "grid_x"), 1u);
  EXPECT_EQ(edit_distance("shwo", "show"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Closest, FindsTheSlipAndNothingForStrangers) {
  const std::vector<std::string> names = {"machines", "plan", "run"};
  EXPECT_EQ(closest("machnes", names), "machines");
  EXPECT_EQ(closest("mach", names), "machines");
  EXPECT_EQ(closest("quantum", names), std::nullopt);
  EXPECT_EQ(closest("", names), std::nullopt);
  EXPECT_EQ(closest(std::string(100'000, 'x'), names), std::nullopt);
  EXPECT_EQ(did_you_mean("pln", names), "; did you mean 'plan'?");
  EXPECT_EQ(did_you_mean("zzz", names), "");
}

}  // namespace
}  // namespace tessera
