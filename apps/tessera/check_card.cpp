// tessera plan --check: what the guides ask of a configuration, answered from a plan.

#include "card_plan_argument.h"
#include "card_plan_commands.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/plan/card_plan_file.h"
#include "tessera/targets/tensix/plan/checklist.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tessera::cli {
namespace {

using tensix::CheckItem;
using tensix::Verdict;

constexpr std::size_t kFindingsShown = 8;

Table check_table(const std::vector<CheckItem>& items) {
  Table table({{.name = "check"}, {.name = "verdict"}, {.name = "evidence"}});
  for (const CheckItem& item : items) table.add_row({item.name, name(item.verdict), item.evidence});
  return table;
}

}  // namespace

void check_planned(const std::string& file, const Context& context) {
  const tensix::CardPlan plan = tensix::load_card_plan(file);
  const std::vector<CheckItem> items = tensix::check_plan(plan, l1_banks_of(plan));
  const auto count = [&](Verdict verdict) {
    return std::count_if(items.begin(), items.end(), [&](const CheckItem& item) { return item.verdict == verdict; });
  };
  const auto failed = count(Verdict::fail);
  if (context.format == Format::json) {
    nlohmann::json out = {{"schema", 1}, {"plan", file}, {"failed", failed}, {"warned", count(Verdict::warn)}};
    for (const CheckItem& item : items)
      out["checks"].push_back({{"name", item.name},
                               {"verdict", name(item.verdict)},
                               {"evidence", item.evidence},
                               {"findings", item.findings}});
    context.print(out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else {
    context.print(check_table(items));
    if (context.format != Format::csv && !context.quiet) {
      std::string text;
      for (const CheckItem& item : items) {
        if (item.findings.empty()) continue;
        text += fmt::format("\n{} ({})\n", item.name, name(item.verdict));
        for (std::size_t i = 0; i < std::min(item.findings.size(), kFindingsShown); ++i)
          text += fmt::format("  {}\n", item.findings[i]);
        if (item.findings.size() > kFindingsShown)
          text += fmt::format("  and {} more (--format json has all)\n", item.findings.size() - kFindingsShown);
      }
      context.print(text + fmt::format("\n{} of {} pass, {} warn, {} fail\n", count(Verdict::pass), items.size(),
                                       count(Verdict::warn), failed));
    }
  }
  check(failed == 0, Code::invalid_argument, "{} of {} checks fail for {}", failed, items.size(), file);
}

}  // namespace tessera::cli
