#include "tessera/report/timeline_picture.h"

#include "markup_check.h"

#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::Not;

sim::Timeline three_engines() {
  sim::Timeline t;
  const auto math = t.add_resource("math"), idle = t.add_resource("idle");
  (void)idle;
  const auto first = t.add_resource("dma 0"), second = t.add_resource("dma 1");
  const auto a = t.add_task(first, 1000, "load"), b = t.add_task(second, 1000, "load");
  const auto c = t.add_task(math, 2000, "a < b & \"c\"");
  t.after(c, a);
  t.after(c, b);
  t.after(t.add_task(math, 50000, "later"), c);
  return t;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(TimelinePicture, HasARowForEveryEngineThatDidSomething) {
  const sim::Timeline t = three_engines();
  const std::string svg = timeline_svg(t, simulate(t), 4, "first <microseconds>");
  EXPECT_EQ(read_markup(svg, false).problem, "");
  EXPECT_EQ(count_of(svg, "class=\"lane\""), 2U);
  EXPECT_THAT(svg, HasSubstr(">math<"));
  EXPECT_THAT(svg, HasSubstr(">dma 0..1<"));
  EXPECT_THAT(svg, Not(HasSubstr("idle")));
  EXPECT_THAT(svg, HasSubstr("first &lt;microseconds&gt;"));
}

TEST(TimelinePicture, DrawsTasksWhereTheyRan) {
  const sim::Timeline t = three_engines();
  const std::string svg = timeline_svg(t, simulate(t), 4, "t");
  EXPECT_THAT(svg, HasSubstr("<rect x=\"92.00\" y=\"107\" width=\"229.60\""));  // 0 to 1 us of 4, over 920
  EXPECT_THAT(svg, HasSubstr("<rect x=\"322.00\" y=\"78\" width=\"459.60\""));  // 1 to 3 us
  EXPECT_THAT(svg, HasSubstr("<rect x=\"782.00\" y=\"78\" width=\"229.60\""));  // from 3 us on, cut at the end
  EXPECT_THAT(timeline_svg(t, simulate(t), 2, "t"), Not(HasSubstr("later")));
}

TEST(TimelinePicture, OfAWholeRunShowsHowBusyEveryEngineWas) {
  const sim::Timeline t = three_engines();  // 53 us: the DMA engines are busy for the first of them
  const std::string svg = timeline_overview_svg(t, simulate(t), "all of <it>");
  EXPECT_EQ(read_markup(svg, false).problem, "");
  EXPECT_EQ(count_of(svg, "class=\"lane\""), 2U);
  EXPECT_THAT(svg, HasSubstr(">dma 0..1<"));
  EXPECT_THAT(svg, HasSubstr(">98 %<"));  // 52 of 53 us
  EXPECT_THAT(svg, HasSubstr(">2 %<"));   // 1 of 53 us
  EXPECT_THAT(svg, HasSubstr("M92 129h2v-22h-2z"));
  EXPECT_THAT(svg, HasSubstr("all of &lt;it&gt;"));
}

TEST(TimelinePicture, NothingToDrawIsAnError) {
  const sim::Timeline t = three_engines();
  EXPECT_THROW(timeline_overview_svg(sim::Timeline(), simulate(sim::Timeline()), "t"), Error);
  EXPECT_THROW(timeline_svg(t, simulate(t), 0, "t"), Error);
}

}  // namespace
}  // namespace tessera
