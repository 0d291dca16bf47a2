#include "fuzz.h"

#include "tessera/targets/tensix/plan/card_plan_file.h"

#include <optional>
#include <string>
#include <string_view>

int fuzz_one(std::span<const std::uint8_t> input) {
  std::optional<tessera::tensix::CardPlan> plan;
  try {
    plan = tessera::tensix::parse_card_plan({reinterpret_cast<const char*>(input.data()), input.size()});
  } catch (const tessera::Error& error) {
    return tessera::fuzz::refused(error);
  }
  const std::string text = tessera::tensix::encode_card_plan(*plan);
  tessera::fuzz::require(tessera::tensix::encode_card_plan(tessera::tensix::parse_card_plan(text)) == text,
                         "a plan written and read again is written the same");
  return 0;
}
