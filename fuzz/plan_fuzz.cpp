#include "fuzz.h"

#include "tessera/io/plan_document.h"
#include "tessera/targets/registry.h"

#include <memory>
#include <string>
#include <string_view>

int fuzz_one(std::span<const std::uint8_t> input) {
  const tessera::Target* target = nullptr;
  std::unique_ptr<tessera::NetworkPlan> plan;
  try {
    const tessera::PlanDocument document =
        tessera::parse_plan_document({reinterpret_cast<const char*>(input.data()), input.size()});
    target = &tessera::target_of_family(document.target);
    plan = target->read(document.body);
    // What views and commands ask of a plan they have read. A refusal is an answer, a crash is not.
    plan->steps();
    plan->moves();
    plan->memory();
    plan->totals();
    plan->accuracy();
  } catch (const tessera::Error& error) {
    return tessera::fuzz::refused(error);
  }
  const std::string body = plan->body();
  tessera::fuzz::require(target->read(body)->body() == body, "a plan written and read again is written the same");
  return 0;
}
