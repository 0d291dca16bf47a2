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
  const std::vector<std::string> machines = {"blackhole_p150", "wormhole_n150", "wormhole_n300"};
  EXPECT_EQ(closest("n150", machines), "wormhole_n150");
  EXPECT_EQ(closest("p150", machines), "blackhole_p150");
}

TEST(Printable, EscapesWhatATerminalWouldObeyAndWhatIsNoUtf8) {
  EXPECT_EQ(printable("größe 層 \t x"), "größe 層 \t x");
  EXPECT_EQ(printable("a\x1b[2Jb\x7f\n"), "a\\x1b[2Jb\\x7f\\x0a");
  EXPECT_EQ(printable("a\nb", true), "a\nb");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "longer than need be";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "turns the writing around";
  // The first and the last of both kinds that do so, and their neighbours.
  for (const char* turns : {"\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"})
    EXPECT_FALSE(is_printable(turns)) << printable(turns);
  for (const char* other : {"\xe2\x80\xaf", "\xe2\x81\xa5", "\xe2\x81\xaa"})
    EXPECT_TRUE(is_printable(other)) << printable(other);
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "a control character of one byte in other sets";
  EXPECT_TRUE(is_printable(""));
  EXPECT_FALSE(is_printable("a\nb"));
}

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(0, "spill"), "0 spills");
  EXPECT_EQ(counted(1, "spill"), "1 spill");
  EXPECT_EQ(counted(2, "spill"), "2 spills");
  EXPECT_EQ(counted(1, "box"), "1 box");
  EXPECT_EQ(counted(2, "box"), "2 boxes");
  EXPECT_EQ(counted(3, "pass"), "3 passes");
  EXPECT_EQ(counted(3, "batch"), "3 batches");
}

}  // namespace
}  // namespace tessera
