#include "tessera/targets/tensix/views/l1_timeline_picture.h"

#include "tests/report/markup_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

using testing::AllOf;
using testing::HasSubstr;

L1Timeline timeline() {
  L1Timeline t;
  t.base_address = 105824;
  t.l1_small_address = 1482752;
  t.l1_bytes = 1499136;
  t.steps = {{"", ""}, {"conv<1>", "conv2d"}, {"x", "spill", MoveKind::spill}};
  t.programs = {
      {"halo", "a & b", 1, 500, 4096, 128}, {"conv2d", "", 1, 200000, 8192, 128}, {"move", "", 2, 0, 4096, 128}};
  t.buffers = {
      {"[1, 1, 32, 64]", "x\"", BufferType::l1, 1478656, 4096, 0, 2, 1, 2},
      {"halo", "", BufferType::l1, 1474560, 4096, 0, 2, 1, 1},
      {"list", "", BufferType::l1_small, 1499008, 128, 0, L1Timeline::kStillThere, 1, L1Timeline::kStillThere}};
  return t;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(L1TimelinePicture, EveryBufferAndEveryProgramsCircularBuffersAreDrawnToScale) {
  const std::string svg = l1_timeline_svg(timeline(), "net");
  EXPECT_EQ(read_markup(svg, false).problem, "");
  EXPECT_EQ(count(svg, "data-bytes=\"4096\""), 2u);
  EXPECT_EQ(count(svg, "data-bytes=\"128\""), 1u);
  EXPECT_EQ(count(svg, "data-bytes=\"500\"") + count(svg, "data-bytes=\"200000\""), 2u);
  EXPECT_EQ(count(svg, "data-bytes=\"0\""), 0u);
  EXPECT_THAT(svg,
              AllOf(HasSubstr("conv&lt;1&gt;"), HasSubstr("limit"), HasSubstr("4,096 B of each core at 1,478,656")));
}

TEST(L1TimelinePicture, WhatIsDrawnHasAnExtentAndTheLegendDoesNotOverlap) {
  const Markup markup = read_markup(l1_timeline_svg(timeline(), "net"), false);
  double end = 0;  // of the entry before
  int entries = 0;
  for (const MarkupElement& element : markup.elements) {
    const auto number = [&](const char* key) { return std::stod(element.attributes.at(key)); };
    if (element.tag == "rect") {
      EXPECT_GT(number("width"), 0);
      EXPECT_GT(number("height"), 0);
    }
    if (!element.attributes.contains("y") || !element.attributes.contains("x")) continue;
    if (element.tag == "rect" && element.attributes.at("y") == "42") {
      EXPECT_GE(number("x"), end);
      ++entries;
    }
    // A letter of that size is some 5 pixels wide.
    if (element.tag == "text" && element.attributes.at("y") == "52")
      end = number("x") + 5 * static_cast<double>(element.text.size());
  }
  EXPECT_EQ(entries, 4);
}

TEST(L1TimelinePicture, ThePageHasTheStepsToo) {
  Table steps({{.name = "step"}, {.name = "peak", .unit = "B", .align = Align::right}});
  steps.add_row({"a<b", 17});
  const std::string page = l1_timeline_html(timeline(), "net & card", steps);
  EXPECT_EQ(read_markup(page, true).problem, "");
  EXPECT_THAT(page, AllOf(HasSubstr("a&lt;b"), HasSubstr("peak [B]"), HasSubstr("<h1>net &amp; card</h1>")));
}

TEST(L1TimelinePicture, NothingRanIsAPictureToo) {
  L1Timeline empty;
  empty.l1_bytes = empty.l1_small_address = 1499136;
  empty.steps = {{"", ""}};
  EXPECT_EQ(read_markup(l1_timeline_svg(empty, ""), false).problem, "");
}

}  // namespace
}  // namespace tessera::tensix
