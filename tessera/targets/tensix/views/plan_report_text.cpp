#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/views/plan_page.h"
#include "tessera/targets/tensix/views/plan_report.h"
#include "tessera/targets/tensix/views/plan_tables.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tessera::tensix {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kAlternativesInText = 4;  // of a step; JSON and the page have more

std::string advice_line(const PlanReport& r, const PlanReport::Advice& advice) {
  std::string text = advice.what;
  if (advice.at_most_ns > 0)
    text += fmt::format(" (at most {}, {:.1f} %, could be saved)", format_time(advice.at_most_ns),
                        100 * advice.at_most_ns / std::max(r.end_to_end_ns, r.device_ns));
  return text + ": " + advice.detail;
}

struct Words {
  std::string (*table)(const Table&);
  std::string_view heading, item;
};

std::string written(const PlanReport& r, const Words& w) {
  std::string out = fmt::format("{}{} on {}\n\n", w.heading.substr(1), r.model, r.machine_title);
  Table facts({{.name = "plan"}, {.name = "value"}, {.name = "what"}});
  for (const PlanFact& fact : plan_facts(r)) facts.add_row({fact.name, fact.value, fact.note});
  out += w.table(facts) + fmt::format("\n{}What would help next\n\n", w.heading);
  for (const PlanReport::Advice& advice : r.advice) out += fmt::format("{}{}\n", w.item, advice_line(r, advice));
  out += fmt::format("\n{}Where a batch's time goes\n\n{}", w.heading, w.table(plan_part_table(r)));
  out += fmt::format("\n{}Steps\n\n{}", w.heading, w.table(plan_step_table(r, true)));
  const Table others = plan_alternative_table(r, kAlternativesInText);
  if (!others.rows().empty())
    out += fmt::format("\n{}What else was weighed, at most {} for each step\n\n{}", w.heading, kAlternativesInText,
                       w.table(others));
  return out;
}

OrderedJson json_of(const PlanReport::Step& s, bool alternatives) {
  OrderedJson out = {{"node", s.node},
                     {"op", s.op},
                     {"config", s.config},
                     {"result", s.result},
                     {"value", s.value},
                     {"reads", s.reads},
                     {"frees", s.frees},
                     {"place", name(s.place)},
                     {"dtype", s.dtype},
                     {"weights_dtype", s.weights_dtype},
                     {"fidelity", name_or_none(s.fidelity)},
                     {"cores", s.cores},
                     {"programs", s.programs},
                     {"kernel_ns", s.ns},
                     {"share", s.share},
                     {"bound_by", name_or_none(s.bound_by)},
                     {"basis", name(s.basis)},
                     {"roof_fraction", s.roof_fraction},
                     {"flop", s.flop},
                     {"dram_bytes", s.dram_bytes},
                     {"circular_buffer_bytes", s.circular_buffer_bytes},
                     {"halo_bytes", s.halo_bytes},
                     {"output_bytes", s.output_bytes},
                     {"l1_peak_bytes", s.l1_peak_bytes},
                     {"why", s.why},
                     {"note", s.note}};
  out["pcc"] = s.pcc ? OrderedJson(*s.pcc) : OrderedJson();
  out["busy_ns"] = OrderedJson::object();
  for (const auto& [part, ns] : s.busy) out["busy_ns"][std::string(name(part))] = ns;
  out["moves"] = OrderedJson::array();
  for (const PlanReport::Move& m : s.moves)
    out["moves"].push_back({{"kind", m.kind},
                            {"value", m.value},
                            {"to", m.to},
                            {"from_place", name(m.from_place)},
                            {"to_place", name(m.to_place)},
                            {"ns", m.ns},
                            {"why", m.why}});
  out["working"] = s.working == PlanReport::kNone ? OrderedJson() : OrderedJson(s.working);
  out["working_known"] = s.working_known;
  out["fullest"] = s.fullest == PlanReport::kNone ? OrderedJson() : OrderedJson(s.fullest);
  if (!alternatives) return out;
  out["alternatives"] = OrderedJson::array();
  for (const WeighedConfig& a : s.alternatives)
    out["alternatives"].push_back(
        {{"config", a.config}, {"refusal", a.refusal}, {"ns", a.ns}, {"l1_bytes", a.l1_bytes}, {"chosen", a.chosen}});
  return out;
}

OrderedJson json_of(const PlanReport::L1& l1) {
  OrderedJson out = {{"base_address", l1.base_address},
                     {"limit_address", l1.limit_address},
                     {"end_address", l1.end_address},
                     {"peak", l1.peak == PlanReport::kNone ? OrderedJson() : OrderedJson(l1.peak)}};
  out["programs"] = OrderedJson::array();
  for (const PlanReport::L1Program& p : l1.programs)
    out["programs"].push_back({{"step", p.step},
                               {"op", p.op},
                               {"circular_buffer_bytes", p.circular_buffer_bytes},
                               {"tensor_bytes", p.tensor_bytes},
                               {"l1_small_bytes", p.small_bytes},
                               {"free_bytes", p.free_bytes},
                               {"largest_free_bytes", p.largest_free_bytes}});
  out["buffers"] = OrderedJson::array();
  constexpr std::string_view kKinds[] = {"tensor", "working", "small"};
  for (const PlanReport::L1Buffer& b : l1.buffers)
    out["buffers"].push_back({{"kind", kKinds[static_cast<std::size_t>(b.kind)]},
                              {"value", b.value},
                              {"label", b.label},
                              {"address", b.address},
                              {"bytes", b.bytes},
                              {"first", b.first},
                              {"end", b.end},
                              {"step", b.step},
                              {"place", name(b.place)},
                              {"shares", b.shares == PlanReport::kNone ? OrderedJson() : OrderedJson(b.shares)}});
  return out;
}

OrderedJson json_of(const PlanReport& r, bool alternatives) {
  OrderedJson out = {{"schema", PlanReport::kSchema},
                     {"kind", "predicted"},
                     {"model", r.model},
                     {"inputs", r.inputs},
                     {"network_digest", r.network_digest},
                     {"machine", r.machine},
                     {"machine_title", r.machine_title},
                     {"machine_digest", r.machine_digest},
                     {"objective", name(r.objective)},
                     {"pins", r.pins},
                     {"folded_inputs", r.folded_inputs},
                     {"batch", r.batch},
                     {"passes", r.passes},
                     {"pass_images", r.pass_images},
                     {"grouped_images", r.grouped_images},
                     {"cards", r.cards},
                     {"metal_trace", r.metal_trace},
                     {"command_queues", r.command_queues},
                     {"min_pcc", r.min_pcc},
                     {"pcc", r.pcc ? OrderedJson(*r.pcc) : OrderedJson()},
                     {"kernels_ns", r.kernels_ns},
                     {"device_ns", r.device_ns},
                     {"end_to_end_ns", r.end_to_end_ns},
                     {"device_frames_per_s", r.frames_per_s(r.device_ns)},
                     {"end_to_end_frames_per_s", r.frames_per_s(r.end_to_end_ns)},
                     {"programs", r.programs},
                     {"l1_peak_bytes", r.l1_peak_bytes},
                     {"l1_limit_bytes", r.l1_limit_bytes},
                     {"grid", {r.grid_x, r.grid_y}},
                     {"flop_per_s", r.flop_per_s},
                     {"dram_bytes_per_s", r.dram_bytes_per_s}};
  out["parts"] = OrderedJson::array();
  for (const PlanReport::Part& p : r.parts) out["parts"].push_back({{"name", p.name}, {"ns", p.ns}, {"what", p.what}});
  out["advice"] = OrderedJson::array();
  for (const PlanReport::Advice& a : r.advice)
    out["advice"].push_back({{"what", a.what}, {"detail", a.detail}, {"at_most_ns", a.at_most_ns}, {"steps", a.steps}});
  out["shares"] = r.shares;
  out["steps"] = OrderedJson::array();
  for (const PlanReport::Step& s : r.steps) out["steps"].push_back(json_of(s, alternatives));
  out["l1"] = json_of(r.l1);
  return out;
}

using Renderer = std::string (*)(const PlanReport&);

Renderer renderer_of(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".html" || extension == ".htm") return &plan_page;
  if (extension == ".md") return &plan_report_markdown;
  if (extension == ".csv") return &plan_report_csv;
  if (extension == ".json") return &plan_report_json;
  if (extension == ".txt") return &plan_report_text;
  fail(Code::invalid_argument, Hint{"give it a name that ends so"},
       "'{}' says no format: a report is written as .html, .md, .csv, .json or .txt", path.string());
}

}  // namespace

std::string plan_report_text(const PlanReport& report) { return written(report, {&render_text, "\n", "- "}); }

std::string plan_report_markdown(const PlanReport& report) { return written(report, {&render_markdown, "## ", "- "}); }

std::string plan_report_csv(const PlanReport& report) { return render_csv(plan_step_table(report, true)); }

std::string plan_report_json(const PlanReport& report) {
  return json_of(report, true).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string plan_report_data(const PlanReport& report, bool alternatives) {
  std::string text;
  for (const char c : json_of(report, alternatives).dump(-1, ' ', false, OrderedJson::error_handler_t::replace)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

void check_plan_report_name(const std::filesystem::path& path) { renderer_of(path); }

void write_plan_report(const std::filesystem::path& path, const PlanReport& report) {
  write_file_atomically(path, renderer_of(path)(report), Directories::create);
}

}  // namespace tessera::tensix
