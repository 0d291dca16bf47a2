#include "tessera/targets/tensix/views/memory_picture.h"

#include "memory_fixture.h"
#include "tests/report/markup_check.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera::tensix {
namespace {

// The bytes that the column <g id="cN"> of a drawing stands for.
std::map<std::string, std::int64_t> bytes_by_column(const Markup& drawing) {
  std::map<std::string, std::int64_t> bytes;
  for (const MarkupElement& element : drawing.elements) {
    const auto drawn = element.attributes.find("data-bytes");
    if (drawn == element.attributes.end()) continue;
    bytes[drawing.elements[static_cast<std::size_t>(element.parent)].attributes.at("id")] += std::stoll(drawn->second);
  }
  return bytes;
}

class MemoryPictureOf : public testing::TestWithParam<const char*> {};

TEST_P(MemoryPictureOf, IsWellFormedWithACellForEachCoreAndBank) {
  const UsedDevice used(GetParam());
  const MemoryState state = memory_state(*used.device, used.circular_buffers);
  const Markup drawing = read_markup(memory_svg(state), false);
  ASSERT_EQ(drawing.problem, "");
  EXPECT_EQ(drawing.elements.front().tag, "svg");
  const auto columns = bytes_by_column(drawing);
  int cores = 0, banks = 0;
  for (const MarkupElement& element : drawing.elements) {
    if (element.tag != "use") continue;
    const std::int64_t bytes = columns.at(element.attributes.at("href").substr(1));
    cores += bytes == state.l1_bytes;
    banks += bytes == state.dram_bank_bytes;
  }
  EXPECT_EQ(cores, state.cores.count());
  EXPECT_EQ(banks, state.dram_banks);
}

INSTANTIATE_TEST_SUITE_P(Machines, MemoryPictureOf, testing::Values("wormhole_n150", "blackhole_p150"));

TEST(MemoryPicture, SegmentsStayInTheirColumn) {
  const UsedDevice used("wormhole_n150");
  const Markup drawing = read_markup(memory_svg(memory_state(*used.device, used.circular_buffers)), false);
  std::map<int, double> heights;
  for (const MarkupElement& element : drawing.elements)
    if (element.attributes.contains("data-bytes")) {
      EXPECT_GE(std::stod(element.attributes.at("y")), 0);
      heights[element.parent] += std::stod(element.attributes.at("height"));
    }
  for (const auto& [column, height] : heights) EXPECT_LT(height, 74.1);
}

TEST(MemoryPicture, LabelsAreText) {
  const UsedDevice used("wormhole_n150");
  const std::string svg = memory_svg(memory_state(*used.device, used.circular_buffers));
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;/script&gt;&lt;b&gt;&amp;&quot;&#39;\xEF\xBF\xBD\xEF\xBF\xBD"), std::string::npos);
}

TEST(MemoryPicture, NeedsNothingFromElsewhere) {
  const UsedDevice used("wormhole_n150");
  std::string svg = memory_svg(memory_state(*used.device));
  const std::string name_space = "http://www.w3.org/2000/svg";
  ASSERT_NE(svg.find(name_space), std::string::npos);
  svg.erase(svg.find(name_space), name_space.size());
  EXPECT_EQ(svg.find("http"), std::string::npos);
}

TEST(MemoryPicture, ManyBuffersKeepTheirLooksApartAndTheLegendInside) {
  const UsedDevice used("wormhole_n150");
  std::vector<std::shared_ptr<Buffer>> many;
  for (int i = 0; i < 30; ++i) many.push_back(used.device->allocate(BufferType::l1, {4096, 4096, 1}, {"buffer", {}}));
  const Markup drawing = read_markup(memory_svg(memory_state(*used.device)), false);
  ASSERT_EQ(drawing.problem, "");
  std::set<std::string> looks;
  double lowest = 0;
  for (const MarkupElement& element : drawing.elements) {
    const bool column =
        element.parent >= 0 && drawing.elements[static_cast<std::size_t>(element.parent)].attributes.contains("id");
    if (column && element.attributes.contains("data-bytes") && element.attributes.at("class").starts_with('b')) {
      const auto fill = element.attributes.find("fill");
      const std::string look = element.attributes.at("class") + (fill == element.attributes.end() ? "" : fill->second);
      if (look.find("none") == std::string::npos) looks.insert(look);
    }
    if (element.tag == "text") lowest = std::max(lowest, std::stod(element.attributes.at("y")));
  }
  EXPECT_EQ(looks.size(), 35u);
  EXPECT_LT(lowest, std::stod(drawing.elements.front().attributes.at("height")));
}

}  // namespace
}  // namespace tessera::tensix
