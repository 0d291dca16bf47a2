#include "tessera/report/scaling_picture.h"

#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace tessera {
namespace {

using for_tests::error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ScalingPicture sample() {
  return {.title = "a & b",
          .note = "simulated",
          .x_title = "cards",
          .logarithmic_x = true,
          .x = {1, 100, 10'000},
          .panels = {{"rate", true, {{"<one>", {5, 500, 50'000}}, {"two", {5, 0, 40'000}}}},
                     {"share", false, {{"%", {100, 90, std::numeric_limits<double>::quiet_NaN()}}}}}};
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(ScalingPicture, DrawsEveryPointThatHasAPlace) {
  const std::string svg = scaling_to_svg(sample());
  EXPECT_EQ(count(svg, "<circle"), 3u + 2u + 2u);  // no logarithm of 0, no place for NaN
  EXPECT_EQ(count(svg, "<path"), 3u);
  EXPECT_THAT(svg, AllOf(HasSubstr("a &amp; b"), HasSubstr("&lt;one&gt;"), HasSubstr(">10 k<"), HasSubstr("cards"),
                         HasSubstr("simulated"), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
}

TEST(ScalingPicture, OneSizeIsEnough) {
  EXPECT_THAT(scaling_to_svg({.title = "t", .x = {4}, .panels = {{"p", false, {{"s", {7}}}}}}), HasSubstr("<circle"));
}

TEST(ScalingPicture, RefusesWhatDoesNotFitTogether) {
  ScalingPicture p = sample();
  p.panels[1].series[0].values.pop_back();
  EXPECT_THAT(error_of([&] { scaling_to_svg(p); }), HasSubstr("'%' has 2 values for 3 sizes"));
  p.x.clear();
  EXPECT_THAT(error_of([&] { scaling_to_svg(p); }), HasSubstr("over 0 sizes"));
}

}  // namespace
}  // namespace tessera
