#include "tessera/core/shape.h"

#include "tessera/core/error.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Shape, AnyRankIsSeenAsAMatrix) {
  EXPECT_EQ((Shape{2, 3, 64, 96}.as_2d()), (Extent2d{384, 96}));
  EXPECT_EQ((Shape{7}.as_2d()), (Extent2d{1, 7}));
  EXPECT_EQ(Shape{}.as_2d(), (Extent2d{1, 1}));
  EXPECT_EQ((Shape{0, 5}.as_2d()), (Extent2d{0, 5}));
}

TEST(Shape, NegativePositionsCountFromTheEnd) {
  const Shape s{2, 3, 5};
  EXPECT_EQ(s[-1], 5);
  EXPECT_EQ(s[0], 2);
  EXPECT_THROW(s[3], Error);
  EXPECT_THROW(s[-4], Error);
}

TEST(Shape, RefusesWhatCannotBeCounted) {
  EXPECT_THROW((Shape{-1}), Error);
  EXPECT_THROW((Shape{1LL << 40, 1LL << 40}), Error);
  EXPECT_THROW((Shape{0, 1LL << 40, 1LL << 40}), Error);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
}

TEST(Shape, PrintsLikeAList) { EXPECT_EQ((Shape{1, 32}.to_string()), "[1, 32]"); }

}  // namespace
}  // namespace tessera
