#include "tessera/ncp/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tessera::ncp {
namespace {

double loss_of(Loss loss, const std::vector<float>& output, const std::vector<float>& target) {
  LossSums sums;
  add_loss(loss, output, target, 1, sums, {});
  return sums.mean_loss();
}

TEST(Loss, GradientsAreDifferencesOfTheLoss) {
  for (const Loss loss : {Loss::mean_squared_error, Loss::softmax_cross_entropy, Loss::binary_cross_entropy}) {
    SCOPED_TRACE(name(loss));
    EXPECT_EQ(parse_loss(name(loss)), loss);
    const std::vector<float> output{0.5f, -1.25f, 2},
        target = loss == Loss::softmax_cross_entropy ? std::vector<float>{1} : std::vector<float>{1, 0, 0.25f};
    EXPECT_EQ(targets_per_row(loss, 3), static_cast<int>(target.size()));
    LossSums sums;
    std::vector<float> d(3);
    add_loss(loss, output, target, 0.5f, sums, d);
    EXPECT_EQ(sums.rows, 1);
    for (std::size_t i = 0; i < 3; ++i) {
      const float h = 0x1p-7f;  // exact in float; what is left of the third derivative is below h squared
      std::vector<float> up = output, down = output;
      up[i] += h;
      down[i] -= h;
      EXPECT_NEAR(d[i], 0.5 * (loss_of(loss, up, target) - loss_of(loss, down, target)) / (2 * h), h * h);
    }
  }
}

TEST(Loss, ValuesAreWhatTheFormulasSay) {
  EXPECT_DOUBLE_EQ(loss_of(Loss::mean_squared_error, {1, 3}, {0, 1}), 2.5);
  EXPECT_NEAR(loss_of(Loss::softmax_cross_entropy, {0, 0, 0, 0}, {2}), std::log(4.0), 1e-12);
  EXPECT_NEAR(loss_of(Loss::binary_cross_entropy, {0}, {1}), std::log(2.0), 1e-12);
}

TEST(Loss, HugeLogitsStayFinite) {
  EXPECT_EQ(loss_of(Loss::softmax_cross_entropy, {1e30f, -1e30f}, {0}), 0);
  EXPECT_NEAR(loss_of(Loss::softmax_cross_entropy, {1e4f, -1e4f}, {1}), 2e4, 1e-3);
  EXPECT_NEAR(loss_of(Loss::binary_cross_entropy, {1e4f}, {0}), 1e4, 1e-3);
}

TEST(Loss, CorrectRowsAreCounted) {
  LossSums sums;
  add_loss(Loss::softmax_cross_entropy, std::vector<float>{1, 2}, std::vector<float>{1}, 1, sums, {});
  add_loss(Loss::softmax_cross_entropy, std::vector<float>{1, 2}, std::vector<float>{0}, 1, sums, {});
  EXPECT_DOUBLE_EQ(sums.accuracy(), 0.5);
  LossSums binary;
  add_loss(Loss::binary_cross_entropy, std::vector<float>{1, -2}, std::vector<float>{1, 1}, 1, binary, {});
  EXPECT_DOUBLE_EQ(binary.accuracy(), 0.5);
  // A score of exactly 0, a chance of one half, says no; a target of exactly one half is none.
  const auto correct = [](float output, float target) {
    LossSums one;
    add_loss(Loss::binary_cross_entropy, std::vector{output}, std::vector{target}, 1, one, {});
    return one.accuracy();
  };
  EXPECT_EQ(correct(0, 0), 1);
  EXPECT_EQ(correct(0, 1), 0);
  EXPECT_EQ(correct(0, 0.5f), 1);
  EXPECT_EQ(correct(1e-30f, 0.5f), 0);
  EXPECT_EQ(correct(1e-30f, 1), 1);
}

}  // namespace
}  // namespace tessera::ncp
