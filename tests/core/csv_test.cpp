#include "tessera/core/csv.h"

#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

using for_tests::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Csv, FieldsMayBeQuotedAndLinesEndEitherWay) {
  const Csv csv = parse_csv("a,b\r\n1,\"two, or\n\"\"three\"\"\"\n\n,4\n");
  EXPECT_THAT(csv.columns, ElementsAre("a", "b"));
  ASSERT_EQ(csv.rows.size(), 2u);
  EXPECT_THAT(csv.rows[0], ElementsAre("1", "two, or\n\"three\""));
  EXPECT_THAT(csv.rows[1], ElementsAre("", "4"));
  EXPECT_THAT(csv.lines, ElementsAre(2, 5));
  EXPECT_EQ(csv.find("b"), 1);
  EXPECT_EQ(csv.find("c"), -1);
}

TEST(Csv, ErrorsNameTheLine) {
  EXPECT_THAT(error_of([] { parse_csv(""); }), HasSubstr("not even a heading"));
  EXPECT_THAT(error_of([] { parse_csv("a,b\n1,2\n3\n"); }), HasSubstr("line 3 has 1 fields, the first line names 2"));
  EXPECT_THAT(error_of([] { parse_csv("a\n\"1\n"); }), HasSubstr("line 2: a quoted field does not end"));
}

}  // namespace
}  // namespace tessera
