#include "tessera/targets/tensix/ops/card_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tessera::tensix {
namespace {

TEST(Repeated, PutsWeightsOneAfterTheOther) {
  const Constant two = std::make_shared<Array>(Array::of<float>(Shape{2, 1}, std::vector<float>{1, 2}));
  const Constant six = repeated(two, 3);
  EXPECT_EQ(six->shape(), (Shape{6, 1}));
  EXPECT_THAT(six->as<float>(), testing::ElementsAre(1, 2, 1, 2, 1, 2));
  EXPECT_EQ(repeated(nullptr, 3), nullptr);
}

TEST(Repeated, MakesAListOfOneNumber) {
  const Constant three = repeated(std::make_shared<Array>(Array::scalar(5.0f)), 3);
  EXPECT_EQ(three->shape(), Shape{3});
  EXPECT_THAT(three->as<float>(), testing::ElementsAre(5, 5, 5));
}

}  // namespace
}  // namespace tessera::tensix
