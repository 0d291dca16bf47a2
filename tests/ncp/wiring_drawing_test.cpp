#include "tessera/ncp/wiring_drawing.h"
#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::ncp {
namespace {

using testing::HasSubstr;
using testing::Not;

int count(const std::string& text, std::string_view what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

Wiring small() { return build_wiring(parse_wiring_spec("AutoNCP(16,4)"), 8); }

TEST(WiringDrawing, DotHasEveryNeuronAndSynapse) {
  const std::string dot = wiring_to_dot(small());
  EXPECT_EQ(count(dot, "[neuron_type="), 24);
  EXPECT_EQ(count(dot, " -> "), 28 + 32);
  EXPECT_EQ(count(dot, "polarity=\"excitatory\""), 17 + 18);
  EXPECT_EQ(count(dot, "neuron_type=\"command\", fillcolor=\"#1f77b4\""), 4);
  EXPECT_THAT(dot, HasSubstr("neuron_0 [neuron_type=\"motor\", fillcolor=\"#ff7f0e\"]"));
  EXPECT_THAT(dot, HasSubstr("sensory_7 [neuron_type=\"sensory\", fillcolor=\"#bcbd22\"]"));
}

TEST(WiringDrawing, SvgHasEveryNeuronAndSynapseInEveryLayout) {
  for (const WiringLayout layout : {WiringLayout::layers, WiringLayout::shell, WiringLayout::circular}) {
    const std::string svg = wiring_to_svg(small(), {.layout = layout});
    EXPECT_EQ(count(svg, "<circle id="), 24);
    EXPECT_EQ(count(svg, "marker-end=\"url(#excites)\""), 17 + 18);
    EXPECT_EQ(count(svg, "marker-end=\"url(#inhibits)\""), 11 + 14);
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_EQ(count(svg, "<g"), count(svg, "</g>"));
  }
}

TEST(WiringDrawing, SensoryNeuronsAndLabelsCanBeLeftOut) {
  const std::string svg = wiring_to_svg(small(), {.sensory_neurons = false, .labels = false});
  EXPECT_EQ(count(svg, "<circle id="), 16);
  EXPECT_THAT(svg, Not(HasSubstr("sensory")));
  EXPECT_EQ(count(svg, "fill=\"#fff\""), 0);
  EXPECT_EQ(count(wiring_to_dot(small(), {.sensory_neurons = false}), " -> "), 28);
}

TEST(WiringDrawing, ColorsCanBeChosen) {
  const WiringStyle style{.colors = {{"command", "#123456"}, {"inhibitory", "#654321"}}};
  EXPECT_EQ(count(wiring_to_dot(small(), style), "#123456"), 4);
  EXPECT_EQ(count(wiring_to_dot(small(), style), "#654321"), 11 + 14);
  EXPECT_THROW(wiring_to_svg(small(), {.colors = {{"motor", "red\"/>"}}}), Error);
}

TEST(WiringDrawing, SelfLoopsAreDrawn) {
  const std::string svg = wiring_to_svg(build_wiring(parse_wiring_spec("FullyConnected(3,1)"), 1));
  EXPECT_EQ(count(svg, " itself</title>"), 3);
}

}  // namespace
}  // namespace tessera::ncp
