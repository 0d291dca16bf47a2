#include "tessera/core/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

Refusal small_memory() {
  return {.message = "program 7 wants 96 B\nand says more",
          .hint = "ask for less",
          .code = Code::out_of_memory,
          .shortage = Shortage::l1_small,
          .requested_bytes = 96,
          .free_bytes = 64,
          .largest_free_bytes = 32,
          .lasting_message = "a program wants 96 B"};
}

TEST(Refusal, SaysWhatAnErrorSays) {
  Refusal refusal = small_memory();
  refusal.context = {"while a", "while b"};
  EXPECT_EQ(refusal.reason(), "program 7 wants 96 B");
  EXPECT_EQ(refusal.lasting_reason(), "a program wants 96 B");
  try {
    raise(refusal);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_EQ(error.hint(), refusal.hint);
    EXPECT_EQ(error.what(), refusal.text());
  }
}

TEST(Refusal, AttemptKeepsShortageAndContext) {
  const Result<int> result = attempt([] { return with_context("while c", []() -> int { raise(small_memory()); }); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.refusal().shortage, Shortage::l1_small);
  EXPECT_EQ(result.refusal().requested_bytes, 96);
  EXPECT_EQ(result.refusal().free_bytes, 64);
  EXPECT_EQ(result.refusal().largest_free_bytes, 32);
  EXPECT_THAT(result.refusal().context, testing::ElementsAre("while c"));
}

TEST(Refusal, AttemptTakesPlainErrorsAndValues) {
  const Result<int> refused = attempt([]() -> int { fail(Code::unsupported, Hint{"h"}, "no {}", 1); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refusal().shortage, Shortage::none);
  EXPECT_EQ(refused.refusal().text(), "no 1\nhint: h");
  EXPECT_EQ(*attempt([] { return 5; }), 5);
  EXPECT_TRUE(attempt([] {}));
  EXPECT_EQ(Result<std::string>(std::string("x")).value(), "x");
  EXPECT_THROW(static_cast<void>(Result<std::string>(small_memory()).value()), OutOfMemory);
}

class Stopped : public Error {
 public:
  Stopped() : Error(Code::invalid_argument, "stopped") {}
};

TEST(Refusal, AttemptLetsFaultsPass) {
  EXPECT_THROW(attempt([] { fail(Code::internal, "ours"); }), Error);
  EXPECT_THROW(attempt([] { fail(Code::io, "disk"); }), Error);
  EXPECT_THROW(attempt([] { fail(Code::parse, "text"); }), Error);
  EXPECT_THROW(attempt([] { throw Stopped(); }), Stopped);
}

}  // namespace
}  // namespace tessera
