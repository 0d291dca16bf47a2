// tessera profile: where the time goes.

#include "command.h"
#include "model_argument.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/peak.h"
#include "tessera/report/trace_events.h"
#include "tessera/report/units.h"
#include "tessera/session/profile.h"
#include "tessera/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

constexpr double kLowShareOfRoof = 0.3, kNotableShareOfTime = 0.05;

struct NetworkProfileOptions {
  ModelArgument model;
  SessionArgument session;
  int runs = 20;
  bool sorted = false;
  std::string trace;
};

// A step against the roofs of this machine.
struct Held {
  double gflops = 0;
  double byte_rate = 0;
  double of_roof = 0;  // of what the nearer roof would allow
  std::string bound;
};

Held hold(const ProfiledStep& step, const Peak& peak) {
  Held held;
  if (step.seconds <= 0) return held;
  const double bytes = step.work.read_bytes + step.work.write_bytes;
  const double by_flops = step.work.flops / peak.flop_per_s, by_bytes = bytes / peak.read_bytes_per_s;
  held.gflops = step.work.flops / step.seconds * 1e-9;
  held.byte_rate = bytes / step.seconds;
  held.of_roof = std::max(by_flops, by_bytes) / step.seconds;
  // Values that stay in a cache move faster than memory does: then memory does not bound them.
  held.bound = std::max(by_flops, by_bytes) < 0.05 * step.seconds && step.seconds < 2e-5 ? "overhead"
               : by_flops >= by_bytes                                                    ? "compute"
                                                                                         : "memory";
  return held;
}

std::string advice(const ProfiledStep& step, const Held& held, double share) {
  using Kind = ProfiledStep::Kind;
  if (step.kind == Kind::definition) return "no fast kernel accepts it: see tessera explain";
  if (step.kind == Kind::unplanned) return "the shape of its result depends on values: runs outside the plan";
  if (step.in_place) return "nothing to copy: its parts are already in place";
  if (share < kNotableShareOfTime) return "";
  if (step.kind == Kind::conversion) return "a layout conversion that a neighbouring kernel needs";
  if (held.of_roof < kLowShareOfRoof && held.bound == "compute")
    return "far below the peak: too few channels or pixels?";
  if (held.of_roof < kLowShareOfRoof) return "far below memory speed: small or strided";
  return "";
}

Table steps_table(const SessionProfile& profile, const Peak& peak, bool sorted) {
  Table table({{.name = "step"},
               {.name = "op"},
               {.name = "kernel"},
               {.name = "output"},
               {.name = "time", .key = "time_us", .unit = "us", .align = Align::right},
               {.name = "share", .align = Align::right},
               {.name = "GFLOP/s", .key = "gflops", .align = Align::right},
               {.name = "moved", .key = "bytes_per_s", .align = Align::right},
               {.name = "of roof", .key = "roof_fraction", .align = Align::right},
               {.name = "bound"},
               {.name = "advice"}});
  std::vector<const ProfiledStep*> steps;
  double total = 0;
  for (const ProfiledStep& step : profile.steps) {
    if (step.kind == ProfiledStep::Kind::view) continue;
    steps.push_back(&step);
    total += step.seconds;
  }
  if (sorted)
    std::stable_sort(steps.begin(), steps.end(),
                     [](const ProfiledStep* a, const ProfiledStep* b) { return a->seconds > b->seconds; });
  for (const ProfiledStep* step : steps) {
    const Held held = hold(*step, peak);
    const double share = total > 0 ? step->seconds / total : 0;
    table.add_row(
        {step->node.empty() ? step->name : step->node, step->op, step->kernel, step->shape,
         Cell(step->seconds * 1e6, fmt::format("{:.1f}", step->seconds * 1e6)),
         Cell(share, fmt::format("{:.1f}%", share * 100)), Cell(held.gflops, fmt::format("{:.1f}", held.gflops)),
         Cell(held.byte_rate, format_byte_rate(held.byte_rate)),
         Cell(held.of_roof, fmt::format("{:.0f}%", held.of_roof * 100)), held.bound, advice(*step, held, share)});
  }
  return table;
}

void write_trace(const std::string& path, const std::string& network, const SessionProfile& profile) {
  std::vector<TraceEvent> events;
  for (const ProfiledStep& step : profile.steps)
    events.push_back({step.node.empty() ? step.name : step.node,
                      step.op,
                      "steps",
                      static_cast<double>(step.begin_ns) * 1e-3,
                      static_cast<double>(step.end_ns - step.begin_ns) * 1e-3,
                      {{"kernel", step.kernel},
                       {"output", step.shape},
                       {"gflops", fmt::format("{:.2f}", step.work.flops / std::max(step.seconds, 1e-12) * 1e-9)}}});
  write_file_atomically(path, trace_event_json(network, "measured", events));
}

void profile_network(const NetworkProfileOptions& options, const Context& context) {
  const Model model = load_model(options.model);
  const Session session(model.graph, session_options(options.session));
  const Peak peak = measure_peak(session.isa(), session.threads());
  const SessionProfile measured = session.profile(model.inputs, options.runs);
  if (!options.trace.empty()) write_trace(options.trace, model.name, measured);
  context.print(steps_table(measured, peak, options.sorted));
  if (context.quiet || context.format != Format::table) return;
  double flops = 0, in_steps = 0;
  for (const ProfiledStep& step : measured.steps) {
    flops += step.work.flops;
    in_steps += step.seconds;
  }
  context.print(
      fmt::format("\n{}: {} a run (median of {}; fastest {}), {} in its steps; {:.1f} GFLOP/s, {:.0f}% of the measured "
                  "peak ({} for {} with {}); memory reads {}. All measured.\n",
                  model.name, format_time(measured.seconds * 1e9), measured.runs,
                  format_time(measured.min_seconds * 1e9), format_time(in_steps * 1e9), flops / measured.seconds * 1e-9,
                  flops / measured.seconds / peak.flop_per_s * 100, format_flop_rate(peak.flop_per_s),
                  session.threads() == 1 ? "1 thread" : fmt::format("{} threads", session.threads()),
                  name(session.isa()), format_byte_rate(peak.read_bytes_per_s)));
  if (!options.trace.empty()) context.print(fmt::format("trace written to {}: open it in Perfetto\n", options.trace));
}

}  // namespace

void add_profile(CLI::App& app, const Context& context) {
  CLI::App* command =
      app.add_subcommand("profile", "Measure every step of a network and compare it with the peak of this machine");
  auto options = std::make_shared<NetworkProfileOptions>();
  add_model_argument(*command, options->model);
  add_session_argument(*command, options->session);
  add_loop_limit(*command);
  command->add_option("--runs", options->runs, "Number of runs; the table shows medians")
      ->check(CLI::Range(1, 100000))
      ->default_str("20")
      ->type_name("N");
  command->add_flag("--sort", options->sorted, "Sort the steps by time, slowest first");
  command->add_option("--trace", options->trace, "Write the last run as trace events, which Perfetto opens")
      ->type_name("FILE");
  command->callback([options, &context] { profile_network(*options, context); });
}

}  // namespace tessera::cli
