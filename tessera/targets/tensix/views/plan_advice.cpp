#include "tessera/core/text.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/views/plan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace tessera::tensix {
namespace {

constexpr std::size_t kNamed = 3;               // layers that a line names
constexpr double kWorthALine = 0.01;            // of the device's time
constexpr std::size_t kMostForStandingOut = 8;  // layers that can be half of the time and still be called few

std::string percent(double fraction) {
  return fmt::format("{:.{}f} %", 100 * fraction, fraction != 0 && fraction < 0.0995 ? 1 : 0);
}

std::string_view plural(std::size_t count, std::string_view one, std::string_view many) {
  return count == 1 ? one : many;
}

// What the time model has behind each part (docs/time.md), and so what would make it shorter.
std::string_view remedy(TimePart part) {
  switch (part) {
    case TimePart::reader:
      return "windows are gathered row by row: activation reuse, double-buffered activations, or less to gather "
             "(smaller kernels, stride folded into channels)";
    case TimePart::weights:
      return "weights come out of DRAM through one core: a smaller dtype, double-buffered weights, or more images at "
             "a time for each load";
    case TimePart::multicast:
      return "blocks of activations are sent along rows of cores: height sharding, or fewer columns of cores";
    case TimePart::dram: return "operands or results lie in DRAM: L1 for them, or a smaller dtype";
    case TimePart::tilize: return "rows are made into tiles on the way in: hand the input on in tiles";
    case TimePart::math:
      return "the engines are busy: fewer phases (a lower fidelity) where they multiply, else more cores";
    case TimePart::pack: return "results leave the engine tile by tile: more cores";
    case TimePart::writer: return "results are sent on: shards that stay where they are, or more cores";
    case TimePart::fixed:
      return "starting costs more than the work: larger blocks, more images at a time, operators joined";
    case TimePart::bytes: break;  // a lower bound: nobody knows
  }
  return "";
}

// Nobody is told to do what is done.
std::string_view remedy_for(const PlanReport& report, const std::vector<std::size_t>& steps, TimePart part) {
  const bool lowest = std::ranges::all_of(steps, [&](std::size_t i) {
    return report.steps[i].fidelity.value_or(MathFidelity::lofi) == MathFidelity::lofi;
  });
  if (part == TimePart::math && lowest)
    return "the engines are busy, at the lowest fidelity already: more cores, or less to compute";
  return remedy(part);
}

// If a part took no longer than the next longest, the most that could be saved: parts overlap, so no more than that.
double at_most_without(const PlanReport::Step& step) {
  double own = 0, next = 0;
  for (const auto& [part, ns] : step.busy)
    (part == step.bound_by ? own : next) = std::max(part == step.bound_by ? own : next, ns);
  return std::clamp(own - next, 0.0, step.ns);
}

std::string names_of(const PlanReport& report, const std::vector<std::size_t>& steps) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(kNamed, steps.size()); ++i)
    texts.push_back(fmt::format("{} ({})", report.steps[steps[i]].node, percent(report.steps[steps[i]].share)));
  return fmt::format("{}{}", fmt::join(texts, ", "),
                     steps.size() > kNamed ? fmt::format(" and {} more", steps.size() - kNamed) : "");
}

void longest_first(const PlanReport& report, std::vector<std::size_t>& steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [&](std::size_t a, std::size_t b) { return report.steps[a].ns > report.steps[b].ns; });
}

PlanReport::Advice where_the_time_is(const PlanReport& report) {
  std::vector<std::size_t> order(report.steps.size());
  std::iota(order.begin(), order.end(), 0);
  longest_first(report, order);
  double sum = 0;
  std::size_t count = 0;
  while (count < order.size() && sum < 0.5 && count < kMostForStandingOut) sum += report.steps[order[count++]].share;
  order.resize(count);
  PlanReport::Advice out;
  out.steps = order;
  if (sum >= 0.5) {
    out.what = fmt::format("{} of {} layers {} {} of the kernels' time", count, report.steps.size(),
                           plural(count, "is", "are"), percent(sum));
    out.detail = names_of(report, order);
  } else {
    out.what = fmt::format("No layer stands out: the longest {} of {} are {} of the kernels' time", count,
                           report.steps.size(), percent(sum));
    out.detail = names_of(report, order) + "; what helps many layers at once helps most";
  }
  return out;
}

void add_bounds(const PlanReport& report, std::vector<PlanReport::Advice>& out) {
  std::map<TimePart, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    if (const auto part = report.steps[i].bound_by) groups[*part].push_back(i);
  for (auto& [part, steps] : groups) {
    longest_first(report, steps);
    double ns = 0, saved = 0;
    for (const std::size_t i : steps) ns += report.steps[i].ns, saved += at_most_without(report.steps[i]);
    if (saved < kWorthALine * report.device_ns) continue;
    out.push_back({fmt::format("{} {}, {} of the kernels' time, {} bound by {}", steps.size(),
                               plural(steps.size(), "layer", "layers"), percent(ns / report.kernels_ns),
                               plural(steps.size(), "is", "are"), name(part)),
                   fmt::format("{}; {}", names_of(report, steps), remedy_for(report, steps, part)), saved, steps});
  }
}

void add_moves(const PlanReport& report, std::vector<PlanReport::Advice>& out) {
  const double ns = report.moves_ns();
  if (ns < kWorthALine * report.device_ns) return;
  std::map<std::string, int> kinds;
  std::vector<std::size_t> steps;
  const PlanReport::Move* longest = nullptr;
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    for (const PlanReport::Move& move : report.steps[i].moves) {
      ++kinds[move.kind];
      if (steps.empty() || steps.back() != i) steps.push_back(i);
      if (longest == nullptr || move.ns > longest->ns) longest = &move;
    }
  std::vector<std::string> texts;
  for (const auto& [kind, count] : kinds) texts.push_back(counted(count, kind));
  out.push_back(
      {fmt::format("Moves between layouts and memories take {} of the device's time", percent(ns / report.device_ns)),
       fmt::format("{}; the longest is the {} of '{}' ({}). Neighbours that share a layout need none",
                   fmt::join(texts, ", "), longest->kind, longest->value, format_time(longest->ns)),
       ns, steps});
}

void add_gaps(const PlanReport& report, std::vector<PlanReport::Advice>& out) {
  const double gaps = report.device_ns - report.kernels_ns;
  if (gaps > kWorthALine * report.device_ns && report.programs > 0)
    out.push_back({fmt::format("{} of the device's time lies between programs", percent(gaps / report.device_ns)),
                   fmt::format("{} programs, {} each: operators that are joined save one each, a larger batch spreads "
                               "them over more images",
                               report.programs, format_time(gaps / static_cast<double>(report.programs))),
                   gaps,
                   {}});
  const double host = report.end_to_end_ns - report.device_ns;
  if (host < kWorthALine * report.end_to_end_ns) return;
  const PlanReport::Part* most = nullptr;
  for (const PlanReport::Part& part : report.parts)
    if (part.kind == PlanReport::PartKind::host && (most == nullptr || part.ns > most->ns)) most = &part;
  std::vector<std::string> ways;
  if (most != nullptr)
    ways.push_back(fmt::format("most of it is {}, {}: {}", most->name, format_time(most->ns), most->what));
  if (!report.metal_trace) ways.emplace_back("a trace instead of calls one by one");
  if (report.command_queues < 2) ways.emplace_back("a second command queue for transfers");
  if (report.metal_trace && report.command_queues > 1)
    ways.emplace_back(
        "trace and two queues are on already, so fewer programs, a smaller input or a larger batch are left");
  out.push_back({fmt::format("End to end takes {} more than on the device, {} of it all", format_time(host),
                             percent(host / report.end_to_end_ns)),
                 fmt::format("{}", fmt::join(ways, "; ")),
                 host,
                 {}});
}

void add_idle_cores(const PlanReport& report, std::vector<PlanReport::Advice>& out) {
  const auto all = static_cast<double>(report.grid_x) * report.grid_y;
  std::vector<std::size_t> steps;
  double ns = 0, idle = 0;
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const PlanReport::Step& step = report.steps[i];
    if (step.cores <= 0 || step.ns <= 0 || static_cast<double>(step.cores) > 0.75 * all) continue;
    steps.push_back(i);
    ns += step.ns;
    idle += step.ns * (1 - static_cast<double>(step.cores) / all);
  }
  if (idle < kWorthALine * report.device_ns) return;
  longest_first(report, steps);
  const PlanReport::Step& first = report.steps[steps[0]];
  out.push_back({fmt::format("{} {} with {} of the kernels' time {} a quarter of the cores or more idle", steps.size(),
                             plural(steps.size(), "layer", "layers"), percent(ns / report.kernels_ns),
                             plural(steps.size(), "leaves", "leave")),
                 fmt::format("{}; {} works on {} of {:.0f} cores. Other shards or a larger batch could use them, where "
                             "the work divides",
                             names_of(report, steps), first.node, first.cores, all),
                 idle, steps});
}

// Not gains: what a reader should know before believing the rest.
void add_caveats(const PlanReport& report, std::vector<PlanReport::Advice>& out) {
  if (report.pcc && report.min_pcc > 0 && *report.pcc >= report.min_pcc)
    out.push_back(
        {fmt::format("NodeAccuracy has room: PCC {:.6f} where {:g} was asked for", *report.pcc, report.min_pcc),
         "a lower fidelity or smaller dtypes may still be affordable where math or weights bind",
         0,
         {}});
  double guessed = 0;
  std::vector<std::size_t> steps;
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    if (report.steps[i].basis == TimeBasis::assumed && report.steps[i].ns > 0)
      guessed += report.steps[i].ns, steps.push_back(i);
  if (guessed > kWorthALine * report.device_ns) {
    longest_first(report, steps);
    out.push_back({fmt::format("{} of the kernels' time is in programs that nobody has measured",
                               percent(guessed / report.kernels_ns)),
                   names_of(report, steps) + "; their times are sums of the prices of their parts", 0, steps});
  }
  if (!report.pcc)
    out.push_back({"NodeAccuracy was not measured",
                   "--min-pcc runs the card's arithmetic on inputs and says what it costs",
                   0,
                   {}});
}

}  // namespace

std::vector<PlanReport::Advice> plan_advice(const PlanReport& report) {
  if (report.steps.empty() || report.kernels_ns <= 0) return {};
  std::vector<PlanReport::Advice> gains;
  add_bounds(report, gains);
  add_moves(report, gains);
  add_gaps(report, gains);
  add_idle_cores(report, gains);
  std::stable_sort(gains.begin(), gains.end(),
                   [](const auto& a, const auto& b) { return a.at_most_ns > b.at_most_ns; });
  std::vector<PlanReport::Advice> out{where_the_time_is(report)};
  out.insert(out.end(), gains.begin(), gains.end());
  add_caveats(report, out);
  return out;
}

}  // namespace tessera::tensix
