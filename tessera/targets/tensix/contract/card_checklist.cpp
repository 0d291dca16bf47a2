// What the guides ask of a configuration, answered from a plan.

#include "tessera/targets/tensix/contract/card_views.h"

#include "tessera/targets/tensix/plan/checklist.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tessera::tensix {
namespace {

constexpr std::size_t kFindingsShown = 8;

Table check_table(const std::vector<CheckItem>& items) {
  Table table({{.name = "check"}, {.name = "verdict"}, {.name = "evidence"}});
  for (const CheckItem& item : items) table.add_row({item.name, name(item.verdict), item.evidence});
  return table;
}

}  // namespace

Target::Checked check_card_plan(const CardPlan& plan, const std::string& file) {
  const std::vector<CheckItem> items = check_plan(plan, l1_banks_of(plan));
  const auto count = [&](CheckVerdict verdict) {
    return std::count_if(items.begin(), items.end(), [&](const CheckItem& item) { return item.verdict == verdict; });
  };
  nlohmann::json out = {
      {"schema", 1}, {"plan", file}, {"failed", count(CheckVerdict::fail)}, {"warned", count(CheckVerdict::warn)}};
  std::string text;
  for (const CheckItem& item : items) {
    out["checks"].push_back({{"name", item.name},
                             {"verdict", name(item.verdict)},
                             {"evidence", item.evidence},
                             {"findings", item.findings}});
    if (item.findings.empty()) continue;
    text += fmt::format("\n{} ({})\n", item.name, name(item.verdict));
    for (std::size_t i = 0; i < std::min(item.findings.size(), kFindingsShown); ++i)
      text += fmt::format("  {}\n", item.findings[i]);
    if (item.findings.size() > kFindingsShown)
      text += fmt::format("  and {} more (--format json has all)\n", item.findings.size() - kFindingsShown);
  }
  text += fmt::format("\n{} of {} pass, {} warn, {} fail\n", count(CheckVerdict::pass), items.size(),
                      count(CheckVerdict::warn), count(CheckVerdict::fail));
  Target::Checked checked{.failed = static_cast<std::size_t>(count(CheckVerdict::fail)), .all = items.size()};
  checked.view.parts.push_back({.table = check_table(items), .after = std::move(text)});
  checked.view.json = out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return checked;
}

}  // namespace tessera::tensix
