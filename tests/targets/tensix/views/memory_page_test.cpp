#include "tessera/targets/tensix/views/memory_page.h"

#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include "memory_fixture.h"
#include "tests/report/markup_check.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera::tensix {
namespace {

Markup read_page(const UsedDevice& used) {
  return read_markup(memory_html(memory_state(*used.device, used.circular_buffers)), true);
}

class MemoryPageOf : public testing::TestWithParam<const char*> {};

TEST_P(MemoryPageOf, IsWellFormedWithACellForEachCoreAndBank) {
  const UsedDevice used(GetParam());
  const Markup page = read_page(used);
  ASSERT_EQ(page.problem, "");
  std::int64_t cores = 0, banks = 0;
  for (const MarkupElement& element : page.elements) {
    cores += element.attributes.contains("data-core");
    banks += element.attributes.contains("data-bank");
  }
  EXPECT_EQ(cores, used.device->grid().num_cores());
  EXPECT_EQ(banks, used.device->card().dram_banks);
}

TEST_P(MemoryPageOf, TheScriptGetsColumnsThatAddUp) {
  const UsedDevice used(GetParam());
  const Markup page = read_page(used);
  nlohmann::json state;
  for (const MarkupElement& element : page.elements)
    if (element.tag == "script" && element.attributes.contains("id")) state = nlohmann::json::parse(element.text);
  ASSERT_EQ(state["cores"].size(), static_cast<std::size_t>(used.device->grid().num_cores()));
  for (const auto& [places, total] :
       {std::pair{"cores", used.device->card().l1_bytes},
        std::pair{"banks", used.device->card().dram_bank_bytes + used.device->card().dram_bank_base_bytes}})
    for (const std::size_t place : state[places]) {
      std::int64_t bytes = 0;
      for (const auto& segment : state["columns"][place]) bytes += segment[2].get<std::int64_t>();
      EXPECT_EQ(bytes, total);
    }
}

INSTANTIATE_TEST_SUITE_P(Machines, MemoryPageOf, testing::Values("wormhole_n150", "blackhole_p150"));

TEST(MemoryPage, HostileLabelsStayText) {
  const UsedDevice used("wormhole_n150");
  const std::string html = memory_html(memory_state(*used.device, used.circular_buffers));
  EXPECT_EQ(html.find("</script><b>"), std::string::npos);
  const Markup page = read_markup(html, true);
  ASSERT_EQ(page.problem, "");
  int scripts = 0;
  for (const MarkupElement& element : page.elements) {
    scripts += element.tag == "script";
    EXPECT_FALSE(element.tag == "b" && element.text.starts_with("&amp;")) << "the label became an element";
  }
  EXPECT_EQ(scripts, 2);
}

TEST(MemoryPage, NeedsNothingFromElsewhere) {
  const UsedDevice used("wormhole_n150");
  const Markup page = read_page(used);
  for (const MarkupElement& element : page.elements) {
    EXPECT_FALSE(element.attributes.contains("src"));
    EXPECT_NE(element.tag, "link");
    const auto href = element.attributes.find("href");
    EXPECT_TRUE(href == element.attributes.end() || href->second.starts_with('#')) << href->second;
  }
}

TEST(MemoryPage, MovesAreListedWithTheirKind) {
  const UsedDevice used("wormhole_n150");
  EXPECT_EQ(memory_html(memory_state(*used.device)).find("<h2>Moves</h2>"), std::string::npos);
  to_memory_config(used.tensors[0], kL1MemoryConfig);
  const std::string html = memory_html(memory_state(*used.device));
  EXPECT_NE(html.find("<td>copy</td><td>dram</td><td>l1</td><td class=\"n\">1,048,576</td>"), std::string::npos);
  EXPECT_NE(html.find("Times are not modelled"), std::string::npos);
}

}  // namespace
}  // namespace tessera::tensix
