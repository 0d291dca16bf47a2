#include "tessera/core/memory_budget.h"

#include "tessera/core/array.h"
#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using testing::HasSubstr;

std::string refusal_of(std::int64_t bytes) {
  try {
    const BudgetShare share(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    return error.message();
  }
  return "";
}

TEST(MemoryBudget, IsSharedUntilItIsSpent) {
  const BudgetScope scope(100);
  {
    const BudgetShare first(60);
    EXPECT_EQ(refusal_of(40), "");
    EXPECT_EQ(refusal_of(41), "41 B more are needed for values, 60 B are taken already, and the limit is 100 B");
    BudgetShare second(40), moved(std::move(second));
    EXPECT_THAT(refusal_of(1), HasSubstr("100 B are taken"));
    moved.leave();
    EXPECT_EQ(refusal_of(40), "");
  }
  EXPECT_EQ(refusal_of(100), "");
}

TEST(MemoryBudget, RefusesArraysBeforeTheyAreMade) {
  const BudgetScope scope(1000);
  EXPECT_EQ(Array(ElementType::float32, Shape{250}).count(), 250);
  EXPECT_THROW(Array(ElementType::float32, Shape{251}), Error);
  const BudgetShare half(500);
  EXPECT_THROW(Array(ElementType::float32, Shape{126}), Error);
  {
    const BudgetScope none(nullptr);
    EXPECT_FALSE(BudgetScope::active());
    EXPECT_EQ(Array(ElementType::float32, Shape{251}).count(), 251);
  }
  EXPECT_TRUE(BudgetScope::active());
}

TEST(MemoryBudget, HoldsForItsThreadAlone) {
  EXPECT_FALSE(BudgetScope::active());
  EXPECT_EQ(refusal_of(std::int64_t{1} << 60), "");
}

}  // namespace
}  // namespace tessera
