#include "tessera/quantize/value_range.h"

#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<float> normal_numbers(std::size_t count, bool positive = false) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> out(count);
  for (float& value : out) value = positive ? std::max(0.0F, normal(random)) : normal(random);
  return out;
}

Histogram histogram_of(const std::vector<float>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  Histogram histogram({std::min<double>(low, 0), std::max<double>(high, 0)});
  histogram.add(values);
  return histogram;
}

// Of the values themselves, not of a histogram.
double mean_squared_error(const std::vector<float>& values, const ValueRange& range) {
  const ByteForm form = byte_form(range);
  double sum = 0;
  for (const float value : values) {
    const double byte = std::clamp(std::nearbyint(double{value} / form.scale) + form.zero, 0.0, 255.0);
    sum += std::pow((byte - form.zero) * form.scale - value, 2);
  }
  return sum / static_cast<double>(values.size());
}

TEST(ByteForm, HoldsZeroExactlyAndBothEndsWithinHalfAStep) {
  for (const ValueRange range : {ValueRange{-1, 1}, {-0.3, 7.5}, {0, 6}, {-4, 0}, {2, 3}, {-9, -8}}) {
    const ByteForm form = byte_form(range);
    const double low = -double{form.scale} * form.zero, high = double{form.scale} * (255 - form.zero);
    EXPECT_NEAR(low, std::min(range.low, 0.0), form.scale / 2 * 1.001);
    EXPECT_NEAR(high, std::max(range.high, 0.0), form.scale / 2 * 1.001);
  }
  EXPECT_EQ(byte_form({0, 0}), (ByteForm{1, 0}));
  EXPECT_EQ(byte_form({0, 255}), (ByteForm{1, 0}));
  EXPECT_EQ(byte_form({-255, 0}), (ByteForm{1, 255}));
  EXPECT_TRUE(std::isnormal(byte_form({0, 1e-38}).scale));
}

TEST(Histogram, CountsEveryValueOnce) {
  Histogram histogram({-1, 1});
  histogram.add(std::vector<float>{-5, -1, 0, 0.9995F, 1, 7});
  EXPECT_EQ(histogram.total(), 6U);
  EXPECT_EQ(histogram.counts().front(), 2U);
  EXPECT_EQ(histogram.counts().back(), 3U);
  EXPECT_EQ(histogram.counts()[Histogram::kBins / 2], 1U);
}

TEST(ChooseRange, MinMaxTakesAll) {
  const Histogram histogram = histogram_of(normal_numbers(10000));
  EXPECT_EQ(choose_range(histogram, RangeMethod::min_max, 100), histogram.range());
}

TEST(ChooseRange, APercentileCutsBothTails) {
  const std::vector<float> values = normal_numbers(200000);
  const ValueRange range = choose_range(histogram_of(values), RangeMethod::percentile, 99);
  const auto outside = [&](auto is) { return static_cast<double>(std::ranges::count_if(values, is)) / 200000; };
  EXPECT_NEAR(outside([&](float v) { return v < range.low; }), 0.01, 0.002);
  EXPECT_NEAR(outside([&](float v) { return v > range.high; }), 0.01, 0.002);
}

TEST(ChooseRange, APercentileOfPositiveNumbersStartsAtZero) {
  const ValueRange range = choose_range(histogram_of(normal_numbers(100000, true)), RangeMethod::percentile, 99.9);
  EXPECT_EQ(range.low, 0);
  EXPECT_NEAR(range.high, 3.09, 0.15);  // of a normal distribution, one in a thousand is larger
}

TEST(ChooseRange, OneFarValueCostsMinMaxItsStepsAndMseLittle) {
  std::vector<float> values = normal_numbers(100000);
  values[7] = 60;
  const Histogram histogram = histogram_of(values);
  const double all = mean_squared_error(values, choose_range(histogram, RangeMethod::min_max, 100));
  const ValueRange best = choose_range(histogram, RangeMethod::mse, 100);
  EXPECT_LT(best.high, 60);
  EXPECT_LE(mean_squared_error(values, best), all);
  const ValueRange kept = choose_range(histogram, RangeMethod::entropy, 100);
  EXPECT_LT(kept.high, 30);
  EXPECT_GT(kept.high, 2);
}

TEST(ChooseRange, MseIsNeverWorseThanMinMax) {
  std::mt19937 random(5);
  for (int i = 0; i < 20; ++i) {
    std::vector<float> values = normal_numbers(5000, i % 2 == 0);
    for (float& value : values) value *= std::exp(std::normal_distribution<float>(0, 1)(random));
    const Histogram histogram = histogram_of(values);
    const double all = mean_squared_error(values, histogram.range());
    // A histogram's bins are 8 times as fine as bytes: what it says is right to a few per cent.
    EXPECT_LE(mean_squared_error(values, choose_range(histogram, RangeMethod::mse, 100)), all * 1.05);
  }
}

TEST(ChooseRange, ConstantsKeepTheirRange) {
  for (const RangeMethod method :
       {RangeMethod::min_max, RangeMethod::percentile, RangeMethod::entropy, RangeMethod::mse}) {
    EXPECT_EQ(choose_range(histogram_of(std::vector<float>(100, 0.0F)), method, 99), (ValueRange{0, 0}));
    const ValueRange range = choose_range(histogram_of(std::vector<float>(100, 2.5F)), method, 99);
    EXPECT_EQ(range.low, 0);
    EXPECT_NEAR(range.high, 2.5, 0.01) << name(method);
  }
}

TEST(ChooseRange, RefusesPercentilesThatAreNone) {
  const Histogram histogram({0, 1});
  EXPECT_THAT([&] { choose_range(histogram, RangeMethod::percentile, 101); },
              ThrowsMessage<Error>(HasSubstr("a percentile of 101; it is from 50 to 100")));
}

TEST(RangeMethods, HaveNames) {
  for (const RangeMethod method :
       {RangeMethod::min_max, RangeMethod::percentile, RangeMethod::entropy, RangeMethod::mse})
    EXPECT_EQ(parse_range_method(name(method)), method);
  EXPECT_EQ(parse_range_method("minmax"), std::nullopt);
}

}  // namespace
}  // namespace tessera
