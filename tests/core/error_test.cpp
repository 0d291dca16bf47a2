#include "tessera/core/error.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

TEST(Error, TextIsMessageThenContextThenHint) {
  try {
    with_context("while doing the outer thing", [] {
      with_context("while doing the inner thing", [] {
        check(false, Code::invalid_argument, Hint{"use 32"}, "value {} is not {}", 31, "a multiple of 32");
      });
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_EQ(
        std::string(error.what()),
        "value 31 is not a multiple of 32\n  while doing the inner thing\n  while doing the outer thing\nhint: use 32");
    EXPECT_EQ(error.context().size(), 2u);
    EXPECT_NE(std::string(error.where().file_name()).find("error_test.cpp"), std::string::npos);
  }
}

TEST(Error, LinesStayLinesWhereAFileSaysSomethingElse) {
  try {
    with_context("while reading", [] { fail(Code::parse, Hint{"do"}, "no '{}'", "a\x1b[2J"); });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "no 'a\\x1b[2J'\n  while reading\nhint: do");
  }
}

TEST(Error, CheckThatHoldsDoesNotThrow) { EXPECT_NO_THROW(check(true, Code::internal, "never {}", 1)); }

}  // namespace
}  // namespace tessera
