#include "tessera/report/roofline_picture.h"

#include "markup_check.h"

#include "tessera/core/error.h"
#include "tessera/report/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

int count(const Markup& markup, std::string_view tag) {
  return static_cast<int>(std::count_if(markup.elements.begin(), markup.elements.end(),
                                        [&](const MarkupElement& element) { return element.tag == tag; }));
}

TEST(RooflinePicture, IsWellFormedAndHasEveryPointTwice) {
  const Roofline roofline{.title = "a <layer> & more",
                          .note = "modelled",
                          .peak_flop_per_s = 2.6e12,
                          .peak_bytes_per_s = 68e9,
                          .target_flop_per_s = 2e12,
                          .points = {{"one", 10, 1e11}, {"two \"quoted\"", 100, 2e12}}};
  const Markup markup = read_markup(roofline_to_svg(roofline), false);
  EXPECT_EQ(markup.problem, "");
  EXPECT_EQ(count(markup, "circle"), 4);  // and in the legend
  EXPECT_EQ(count(markup, "path"), 1);
}

TEST(RooflinePicture, PutsPointsOnTheRoofWhereTheyReachIt) {
  const double peak = 1e12, bytes = 1e11;
  const auto circle = [&](double intensity, double rate) {
    const Markup markup = read_markup(
        roofline_to_svg(
            {.title = "t", .peak_flop_per_s = peak, .peak_bytes_per_s = bytes, .points = {{"p", intensity, rate}}}),
        false);
    const auto found = std::find_if(markup.elements.begin(), markup.elements.end(),
                                    [](const MarkupElement& e) { return e.tag == "circle"; });
    return std::pair{std::stod(found->attributes.at("cx")), std::stod(found->attributes.at("cy"))};
  };
  EXPECT_EQ(circle(20, peak).second, circle(200, peak).second);
  EXPECT_GT(circle(20, peak / 2).second, circle(20, peak).second);
  EXPECT_LT(circle(5, peak).first, circle(20, peak).first);
}

TEST(RooflinePicture, RatesStandAtTheRoofAndEndWithIt) {
  const Markup markup =
      read_markup(roofline_to_svg({.title = "t", .peak_flop_per_s = 2.6e12, .peak_bytes_per_s = 1e11}), false);
  const auto find = [&](auto&& fits) {
    const auto found = std::find_if(markup.elements.begin(), markup.elements.end(), fits);
    return found == markup.elements.end() ? MarkupElement{} : *found;
  };
  const MarkupElement path = find([](const MarkupElement& e) { return e.tag == "path"; });
  const MarkupElement rate = find([](const MarkupElement& e) {
    return e.tag == "text" && e.attributes.contains("text-anchor") && e.text.starts_with(format_flop_rate(2.6e12));
  });
  const std::string end = path.attributes.at("d").substr(path.attributes.at("d").rfind('L') + 1);
  const double roof_x = std::stod(end), roof_y = std::stod(end.substr(end.find(' ')));
  EXPECT_EQ(rate.attributes.at("text-anchor"), "end");
  EXPECT_LT(std::stod(rate.attributes.at("x")), roof_x);
  EXPECT_LT(std::stod(rate.attributes.at("y")), roof_y) << "above its line";
  EXPECT_GT(std::stod(rate.attributes.at("y")), roof_y - 20) << "and near it";
}

TEST(RooflinePicture, LeavesOutWhatCannotBeDrawn) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string svg = roofline_to_svg({.title = "t",
                                           .peak_flop_per_s = 1e12,
                                           .peak_bytes_per_s = 1e11,
                                           .points = {{"a", 0, 1}, {"b", 1, nan}, {"c", 1, -1}}});
  EXPECT_EQ(count(read_markup(svg, false), "circle"), 0);
  EXPECT_THROW(roofline_to_svg({.peak_flop_per_s = 0, .peak_bytes_per_s = 1}), Error);
}

TEST(CurvesPicture, DrawsGapsTargetsAndNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Markup markup = read_markup(
      curves_to_svg("history",
                    {{"tflops", "TFLOP/s", {1, 2, nan, 3}, 2.5}, {"empty", "s", {}, {}}, {"flat", "%", {0, 0}, {}}}),
      false);
  EXPECT_EQ(markup.problem, "");
  EXPECT_EQ(count(markup, "circle"), 5);
  EXPECT_EQ(count(markup, "path"), 2);
  EXPECT_EQ(read_markup(curves_to_svg("nothing", {}), false).problem, "");
}

}  // namespace
}  // namespace tessera
