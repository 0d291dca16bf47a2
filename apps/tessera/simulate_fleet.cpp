#include "simulate_fleet.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/tile.h"
#include "tessera/fleet/availability.h"
#include "tessera/fleet/data_parallel.h"
#include "tessera/fleet/serving.h"
#include "tessera/fleet/weights.h"
#include "tessera/report/scaling_picture.h"
#include "tessera/report/units.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

namespace tessera::cli {
namespace {

using fleet::Availability;
using fleet::DataParallel;
using fleet::Replication;
using fleet::ServingOptions;
using fleet::ServingResult;

struct FleetRow {
  DataParallel run;
  Replication weights;
};

struct ServingRow {
  std::int64_t cards = 0;
  double load = 0;
  ServingOptions options;
  std::optional<ServingResult> result;  // none where more come than can be served
  bool network = false;                 // is what bounds the capacity
};

struct FailureRow {
  Availability share;
  double load = 0;
  std::optional<double> p999_all_ns{},
      p999_few_ns{};                       // with every card, and with as many as there are 99.9 % of the time
  std::optional<ServingResult> failing{};  // with failures on the way
};

std::vector<fleet::Topology> sizes(const FleetArguments& o, const TimeArguments& time, const Machine& machine) {
  std::vector<fleet::Topology> out;
  for (const std::int64_t cards : o.cards)
    out.push_back(fleet::topology_of_chips(machine, cards * machine.tensix->chips));
  if (!out.empty()) return out;
  const bool of_file = fleet::required_fleet(machine).hosts && time.mesh == 1;
  return {of_file ? fleet::topology_of(machine) : fleet::topology_of_chips(machine, time.mesh)};
}

Cell ms_cell(double ns) { return Cell(ns * 1e-6, fmt::format("{:.3f}", ns * 1e-6)); }
Cell share_cell(double share, int digits = 1) { return Cell(share, fmt::format("{:.{}f}%", 100 * share, digits)); }
Cell rate_cell(double rate) {
  return Cell(rate, rate < 100 ? fmt::format("{:.1f}", rate) : format_count(std::llround(rate)));
}
Cell count_cell(std::int64_t count) { return Cell(count, format_count(count)); }
Column right(std::string name, std::string key, std::string unit = "") {
  return {std::move(name), std::move(key), std::move(unit), Align::right};
}

Table fleet_table(const std::vector<FleetRow>& rows) {
  Table table({right("cards", "cards"),
               right("chips", "chips"),
               right("hosts", "hosts"),
               right("frames at a time", "frames"),
               right("frames/s", "frames_per_s"),
               right("efficiency", "efficiency"),
               right("batch every", "interval_ms", "ms"),
               right("first result", "latency_ms", "ms"),
               right("weights", "weights_ms", "ms"),
               {.name = "weights by", .key = "weights_by"},
               {.name = "bottleneck"},
               {.name = "kind"}});
  for (const FleetRow& row : rows) {
    const DataParallel& d = row.run;
    table.add_row({count_cell(d.topology.cards()), count_cell(d.topology.chips), count_cell(d.topology.hosts()),
                   count_cell(d.frames), rate_cell(d.frames_per_s), share_cell(d.efficiency), ms_cell(d.interval_ns),
                   ms_cell(d.latency_ns), ms_cell(row.weights.total_ns),
                   row.weights.over_ethernet ? "PCIe, Ethernet" : "PCIe", d.bottleneck, "simulated"});
  }
  return table;
}

Table serving_table(const std::vector<ServingRow>& rows) {
  Table table({right("cards", "cards"),
               right("load", "load"),
               right("requests/s", "requests_per_s"),
               right("p50", "p50_ms", "ms"),
               right("p95", "p95_ms", "ms"),
               right("p99", "p99_ms", "ms"),
               right("p99.9", "p999_ms", "ms"),
               right("queue", "mean_queue"),
               right("longest", "max_queue"),
               right("busy", "utilization"),
               right("in a batch", "mean_batch"),
               {.name = "capacity by", .key = "capacity_by"},
               {.name = "kind"}});
  for (const ServingRow& row : rows) {
    const ServingResult r = row.result.value_or(ServingResult{});
    const auto ms = [&](double ns) { return row.result ? ms_cell(ns) : Cell(); };
    const auto number = [&](double value) { return row.result ? Cell(value, fmt::format("{:.1f}", value)) : Cell(); };
    table.add_row({count_cell(row.cards), share_cell(row.load), rate_cell(row.options.requests_per_s), ms(r.p50_ns),
                   ms(r.p95_ns), ms(r.p99_ns), ms(r.p999_ns), number(r.mean_queue),
                   row.result ? count_cell(static_cast<std::int64_t>(r.max_queue)) : Cell(),
                   row.result ? share_cell(r.utilization) : Cell(), number(r.mean_batch),
                   row.network ? "network" : "chips", row.result ? "simulated" : "cannot keep up"});
  }
  return table;
}

Table failure_table(const std::vector<FailureRow>& rows, bool served, bool failing) {
  std::vector<Column> columns{right("cards", "cards"),
                              right("spares", "spares"),
                              right("failures/day", "failures_per_day"),
                              right("all places filled", "full_share"),
                              right("places filled", "mean_share"),
                              right("cards 99.9 % of the time", "cards_999")};
  if (served) {
    columns.push_back(right("load", "load"));
    columns.push_back(right("p99.9", "p999_ms", "ms"));
    columns.push_back(right("p99.9 with those", "p999_few_ms", "ms"));
  }
  if (failing) {
    columns.push_back(right("p99.9 failing", "p999_failing_ms", "ms"));
    columns.push_back(right("failures seen", "failures"));
    columns.push_back(right("run again", "restarted"));
  }
  columns.push_back({.name = "kind"});
  Table table(std::move(columns));
  for (const FailureRow& row : rows) {
    const Availability& a = row.share;
    std::vector<Cell> cells{count_cell(a.cards),
                            count_cell(a.spares),
                            Cell(a.failures_per_day, fmt::format("{:.3g}", a.failures_per_day)),
                            share_cell(a.full_share, 3),
                            share_cell(a.mean_share, 4),
                            count_cell(a.cards_999)};
    const auto optional_ms = [](const std::optional<double>& ns) { return ns ? ms_cell(*ns) : Cell(); };
    if (served) {
      cells.push_back(share_cell(row.load));
      cells.push_back(optional_ms(row.p999_all_ns));
      cells.push_back(row.p999_few_ns ? ms_cell(*row.p999_few_ns) : Cell("cannot keep up"));
    }
    if (failing) {
      cells.push_back(row.failing ? ms_cell(row.failing->p999_ns) : Cell());
      cells.push_back(row.failing ? count_cell(row.failing->failures) : Cell());
      cells.push_back(row.failing ? count_cell(row.failing->restarted) : Cell());
    }
    cells.emplace_back("simulated");
    table.add_row(std::move(cells));
  }
  return table;
}

class FleetSimulation {
 public:
  FleetSimulation(const FleetArguments& o, const TimeArguments& time, const Machine& machine, const FleetModel& model)
      : o_(o),
        machine_(machine),
        model_(model),
        spec_(fleet::required_fleet(machine)),
        parallel_(
            machine,
            {.chip = model.work,
             .frames = batch_of(model.graph),
             .executor = tensix::executor_of({.use_trace = time.metal_trace,
                                              .num_command_queues = time.command_queues,
                                              .all_transfers_on_separate_command_queue = time.separate_transfers}),
             .batches = time.batches}) {
    const double element_bytes =
        static_cast<double>(tile_bytes(Tile{}, model.weights_dtype)) / static_cast<double>(Tile{}.elements());
    const std::int64_t weights = fleet::weight_bytes(model.graph, element_bytes);
    const std::vector<fleet::Topology> topologies = sizes(o, time, machine);
    sizes_ = topologies.size();
    for (const fleet::Topology& topology : topologies) {
      rows.push_back({parallel_.run(topology), fleet::replicate(machine, topology, weights)});
      serve(rows.back().run);
    }
  }

  std::vector<FleetRow> rows;
  std::vector<ServingRow> served;
  std::vector<FailureRow> failures;

 private:
  ServingOptions options_of(const DataParallel& d, std::int64_t chips, double requests_per_s) const {
    const double interval = parallel_.served_interval_ns(d);
    const auto bytes = static_cast<double>(model_.work.input_bytes + model_.work.output_bytes);
    const double network = bytes / spec_.network_bytes_per_s * 1e9 + 2 * spec_.network_latency_ns;
    const std::int64_t batch = parallel_.workload().frames;
    return {.requests_per_s = requests_per_s,
            .requests = o_.requests > 0 ? o_.requests : fleet::enough_requests(chips, batch),
            .seed = model_.seed,
            .chips = chips,
            .max_batch = batch,
            .max_wait_ns = o_.max_wait_ms * 1e6,
            .interval_ns = interval,
            .latency_ns = std::max(interval, d.latency_ns) + network};
  }

  // As many for each card as the whole fleet has.
  std::int64_t spares_of(const fleet::Topology& topology) const {
    if (!spec_.hosts || spec_.spares == 0) return spec_.spares;
    const std::int64_t all = *spec_.hosts * spec_.cards_per_host - spec_.spares;
    return (spec_.spares * topology.cards() + all - 1) / all;
  }

  void serve(const DataParallel& d) {
    const std::int64_t chips = d.topology.chips;
    const double capacity = fleet::capacity_per_s(options_of(d, chips, 0));
    std::vector<double> rates = o_.arrivals;
    for (const double load : o_.loads) rates.push_back(load * capacity);
    const std::vector<std::int64_t> spares = o_.spares.empty() ? std::vector{spares_of(d.topology)} : o_.spares;
    for (const double rate : rates) {
      const ServingOptions options = options_of(d, chips, rate);
      served.push_back(
          {d.topology.cards(), rate / capacity, options, std::nullopt, options.interval_ns > d.interval_ns});
      // Of several sizes some may be too small for a rate; one that was asked for alone is an error.
      if (rate >= capacity && sizes_ > 1) continue;
      served.back().result = simulate_serving(options);
      for (const std::int64_t spare : spares) add_failures(d, served.back(), spare);
    }
    if (rates.empty())
      for (const std::int64_t spare : spares)
        failures.push_back({.share = fleet::availability(spec_, d.topology.cards(), spare)});
  }

  void add_failures(const DataParallel& d, const ServingRow& all, std::int64_t spares) {
    FailureRow row{.share = fleet::availability(spec_, d.topology.cards(), spares), .load = all.load};
    row.p999_all_ns = all.result->p999_ns;
    const std::int64_t chips = std::min(all.options.chips, row.share.cards_999 * machine_.tensix->chips);
    if (chips == all.options.chips) {
      row.p999_few_ns = row.p999_all_ns;
    } else if (chips > 0) {
      // Those that are left have more of their host.
      const DataParallel left = parallel_.run(fleet::topology_of_chips(machine_, chips));
      const ServingOptions few = options_of(left, chips, all.options.requests_per_s);
      if (few.requests_per_s < fleet::capacity_per_s(few)) row.p999_few_ns = simulate_serving(few).p999_ns;
    }
    if (o_.failures > 0) {
      // Chips of a card fail together; one at a time, as often in all, is what is simulated.
      ServingOptions failing = all.options;
      failing.failures_per_s = o_.failures / (spec_.mtbf_hours * 3600);
      failing.repair_s = spec_.repair_hours * 3600 / o_.failures;
      failing.takeover_s = spec_.takeover_s / o_.failures;
      failing.spares = spares * machine_.tensix->chips;
      row.failing = simulate_serving(failing);
    }
    failures.push_back(std::move(row));
  }

  const FleetArguments& o_;
  const Machine& machine_;
  const FleetModel& model_;
  FleetSpec spec_;
  fleet::DataParallelModel parallel_;
  std::size_t sizes_ = 0;
};

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();  // leaves a gap in a picture
constexpr ServingResult kNotServed{.mean_ns = kNoNumber,
                                   .p50_ns = kNoNumber,
                                   .p95_ns = kNoNumber,
                                   .p99_ns = kNoNumber,
                                   .p999_ns = kNoNumber,
                                   .mean_batch = kNoNumber};

// Over the number of cards where there are several, otherwise over the load.
ScalingPicture picture(const FleetSimulation& done, const std::string& title) {
  ScalingPicture p{.title = title, .note = "simulated by tessera simulate; docs/fleet.md says how"};
  const std::size_t loads = done.served.size() / done.rows.size();
  if (done.rows.size() > 1 || loads <= 1) {
    p.x_title = "cards";
    p.logarithmic_x = true;
    ScalingPicture::Series rate{"frames/s"}, ideal{"as each alone"}, efficiency{"%"};
    for (const FleetRow& row : done.rows) {
      p.x.push_back(static_cast<double>(row.run.topology.cards()));
      rate.values.push_back(row.run.frames_per_s);
      ideal.values.push_back(row.run.frames_per_s / row.run.efficiency);
      efficiency.values.push_back(100 * row.run.efficiency);
    }
    p.panels.push_back({"frames a second", true, {rate, ideal}});
    p.panels.push_back({"efficiency against a chip alone (%)", false, {efficiency}});
    for (std::size_t l = 0; l < loads; ++l) {
      ScalingPicture::Panel panel{
          fmt::format("time of a request at a load of {:.0f} % (ms)", 100 * done.served[l].load)};
      panel.series = {{"p50"}, {"p99"}, {"p99.9"}};
      for (std::size_t i = l; i < done.served.size(); i += loads) {
        const ServingResult r = done.served[i].result.value_or(kNotServed);
        panel.series[0].values.push_back(r.p50_ns * 1e-6);
        panel.series[1].values.push_back(r.p99_ns * 1e-6);
        panel.series[2].values.push_back(r.p999_ns * 1e-6);
      }
      p.panels.push_back(std::move(panel));
    }
    return p;
  }
  p.x_title = "load, share of what the fleet can serve";
  ScalingPicture::Panel times{"time of a request (ms)", false, {{"p50"}, {"p95"}, {"p99"}, {"p99.9"}}};
  ScalingPicture::Panel batches{"requests in a batch", false, {{"mean"}}};
  for (const ServingRow& row : done.served) {
    p.x.push_back(row.load);
    const ServingResult r = row.result.value_or(kNotServed);
    const double values[] = {r.p50_ns, r.p95_ns, r.p99_ns, r.p999_ns};
    for (std::size_t s = 0; s < 4; ++s) times.series[s].values.push_back(values[s] * 1e-6);
    batches.series[0].values.push_back(r.mean_batch);
  }
  p.panels = {std::move(times), std::move(batches)};
  return p;
}

}  // namespace

void add_fleet_options(CLI::App& command, FleetArguments& o) {
  const std::string group = "Fleets";
  command.add_option("--cards", o.cards, "Sizes to simulate, in cards of the device: 1,2,4,...")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}))
      ->type_name("N,...")
      ->group(group);
  command.add_option("--global-batch", o.global_batch, "Frames of all chips together, in equal shards")
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->group(group);
  command.add_option("--load", o.loads, "Serve random arrivals: shares of what the fleet can serve, e.g. 0.5,0.8")
      ->delimiter(',')
      ->check(CLI::Range(0.001, 0.999))
      ->type_name("SHARE,...")
      ->group(group);
  command.add_option("--arrivals", o.arrivals, "The same in requests a second")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("RATE,...")
      ->group(group);
  command.add_option("--max-wait", o.max_wait_ms, "How long a request waits for others to fill a batch, in ms")
      ->check(CLI::NonNegativeNumber)
      ->default_str("1")
      ->type_name("MS")
      ->group(group);
  command.add_option("--requests", o.requests, "Requests to simulate; by default as many as the fleet needs")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->type_name("N")
      ->group(group);
  command
      .add_option("--spares", o.spares, "Cards that stand by, besides those at work; by default as the machine says")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->type_name("N,...")
      ->group(group);
  command
      .add_option("--failures", o.failures,
                  "Let cards fail while requests are served, with failures and repairs so many times as fast as real")
      ->check(CLI::PositiveNumber)
      ->type_name("X")
      ->group(group);
  command.add_option("--fleet-svg", o.svg, "Draw rates and times over sizes, or over loads")
      ->type_name("FILE")
      ->group(group);
}

bool is_fleet(const Machine& machine) {
  const std::optional<FleetSpec> spec = machine.tensix ? fleet_of(machine) : std::nullopt;
  return spec && spec->hosts;
}

bool wants_fleet(const FleetArguments& o, const TimeArguments& time, const Machine& machine) {
  if (time.mesh_is_grid || !o.cards.empty() || o.global_batch > 0 || !o.loads.empty() || !o.arrivals.empty() ||
      !o.spares.empty() || !o.svg.empty())
    return true;
  return is_fleet(machine);
}

void check_shards(const FleetArguments& o, const TimeArguments& time, const Machine& machine, const Graph& graph) {
  const std::int64_t batch = chip_batch(o, time, machine);
  check(batch == 0 || batch == batch_of(graph), Code::invalid_argument, Hint{"plan it for that batch"},
        "--global-batch {} gives each chip {} frames, but the network is for {}", o.global_batch, batch,
        batch_of(graph));
}

std::int64_t chip_batch(const FleetArguments& o, const TimeArguments& time, const Machine& machine) {
  if (o.global_batch == 0) return 0;
  const std::vector<fleet::Topology> all = sizes(o, time, machine);
  check(all.size() == 1, Code::invalid_argument, Hint{"--batch is that of a chip, and the same for all sizes"},
        "--global-batch {} is for one size, and --cards has {}", o.global_batch, all.size());
  return fleet::shard_frames(o.global_batch, all.front().chips);
}

void simulate_fleet(const FleetArguments& o, const TimeArguments& time, const Machine& machine, const FleetModel& model,
                    const Context& context) {
  check(time.trace.empty(), Code::invalid_argument, Hint{"--mesh N draws a few chips"},
        "--trace draws single chips, not a fleet");
  check(o.failures == 0 || !o.loads.empty() || !o.arrivals.empty(), Code::invalid_argument,
        Hint{"say how many with --load or --arrivals"}, "--failures needs requests to be served");
  const auto begin = std::chrono::steady_clock::now();
  const FleetSimulation done(o, time, machine, model);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::string title = fmt::format("{} on {}", model.name, machine.title);
  if (!o.svg.empty()) write_file_atomically(o.svg, scaling_to_svg(picture(done, title)));
  const bool with_serving = !done.served.empty();
  const Table rows = fleet_table(done.rows), served = serving_table(done.served),
              failures = failure_table(done.failures, with_serving, o.failures > 0);
  if (context.format == Format::json) {
    const auto parsed = [](const Table& t) { return nlohmann::json::parse(render_json(t))["rows"]; };
    const nlohmann::json out = {{"schema", 1},
                                {"kind", "simulated"},
                                {"model", model.name},
                                {"device", machine.name},
                                {"batch", batch_of(model.graph)},
                                {"weight_bytes", done.rows.front().weights.bytes},
                                {"fleet", parsed(rows)},
                                {"serving", parsed(served)},
                                {"failures", parsed(failures)}};
    return context.print(out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  if (context.format == Format::csv) return context.print(with_serving ? served : rows);
  context.print(rows);
  if (with_serving) {
    context.print("\n");
    context.print(served);
  }
  context.print("\n");
  context.print(failures);
  if (context.quiet) return;
  context.print(fmt::format(
      "\n{}: simulated; {} frames on each chip at a time, {} of weights on each; {:.1f} s for the fleet on this "
      "machine\n",
      title, batch_of(model.graph), format_bytes(static_cast<double>(done.rows.front().weights.bytes)), seconds));
}

}  // namespace tessera::cli
