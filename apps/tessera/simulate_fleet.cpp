#include "simulate_fleet.h"

#include "arguments.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/tile.h"
#include "tessera/fleet/availability.h"
#include "tessera/fleet/chip_work.h"
#include "tessera/fleet/data_parallel.h"
#include "tessera/fleet/fleet_table.h"
#include "tessera/fleet/serving.h"
#include "tessera/fleet/weights.h"
#include "tessera/report/scaling_picture.h"
#include "tessera/report/table_rows.h"
#include "tessera/report/units.h"
#include "tessera/target/target.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace tessera::cli {
namespace {

using fleet::DataParallel;
using fleet::FailureRow;
using fleet::FleetFigures;
using fleet::ServingOptions;
using fleet::ServingRow;

constexpr std::int64_t kMostCards = 10'000'000;

std::vector<fleet::Topology> sizes(const FleetArguments& o, const TimeArguments& time, const Machine& machine) {
  std::vector<fleet::Topology> out;
  for (const std::int64_t cards : o.cards)
    out.push_back(fleet::topology_of_chips(machine, cards * fleet::chips_of_a_card(machine)));
  if (!out.empty()) return out;
  const int mesh = time.mesh.value_or(1);
  const bool of_file = fleet::required_fleet(machine).hosts && mesh == 1;
  return {of_file ? fleet::topology_of(machine) : fleet::topology_of_chips(machine, mesh)};
}

class FleetSimulation {
 public:
  FleetSimulation(const FleetArguments& o, const TimeArguments& time, const Machine& machine, const FleetModel& model)
      : o_(o),
        machine_(machine),
        model_(model),
        chip_(fleet::chip_work(model.work)),
        spec_(fleet::required_fleet(machine)),
        parallel_(machine,
                  {.chip = chip_.pipeline,
                   .frames = batch_of(chip_.graph),
                   .executor = fleet::chip_executor({.metal_trace = time.metal_trace.value_or(false),
                                                     .command_queues = time.command_queues.value_or(1),
                                                     .separate_transfers = time.separate_transfers.value_or(false)}),
                   .batches = time.batches}) {
    const double element_bytes =
        static_cast<double>(tile_bytes(Tile{}, chip_.weights_dtype)) / static_cast<double>(Tile{}.elements());
    const std::int64_t weights = fleet::weight_bytes(chip_.graph, element_bytes);
    const std::vector<fleet::Topology> topologies = sizes(o, time, machine);
    sizes_ = topologies.size();
    for (const fleet::Topology& topology : topologies) {
      figures_.rows.push_back({parallel_.run(topology), fleet::replicate(machine, topology, weights)});
      serve(figures_.rows.back().run);
    }
  }

  FleetFigures take() { return std::move(figures_); }

 private:
  ServingOptions options_of(const DataParallel& d, std::int64_t chips, double requests_per_s) const {
    const double interval = parallel_.served_interval_ns(d);
    const auto bytes = static_cast<double>(chip_.pipeline.input_bytes + chip_.pipeline.output_bytes);
    const double network = bytes / spec_.network_bytes_per_s * 1e9 + 2 * spec_.network_latency_ns;
    const std::int64_t batch = parallel_.workload().frames;
    return {.requests_per_s = requests_per_s,
            .requests = o_.requests > 0 ? o_.requests : fleet::enough_requests(chips, batch),
            .seed = model_.seed,
            .chips = chips,
            .max_batch = batch,
            .max_wait_ns = o_.max_wait_ms.value_or(1) * 1e6,
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
      figures_.served.push_back(
          {d.topology.cards(), rate / capacity, options, std::nullopt, options.interval_ns > d.interval_ns});
      // Of several sizes some may be too small for a rate; one that was asked for alone is an error.
      if (rate >= capacity && sizes_ > 1) continue;
      figures_.served.back().result = simulate_serving(options);
      for (const std::int64_t spare : spares) add_failures(d, figures_.served.back(), spare);
    }
    if (rates.empty())
      for (const std::int64_t spare : spares)
        figures_.failures.push_back({.share = fleet::availability(spec_, d.topology.cards(), spare)});
  }

  void add_failures(const DataParallel& d, const ServingRow& all, std::int64_t spares) {
    FailureRow row{.share = fleet::availability(spec_, d.topology.cards(), spares), .load = all.load};
    row.p999_all_ns = all.result->p999_ns;
    const std::int64_t chips = std::min(all.options.chips, row.share.cards_999 * fleet::chips_of_a_card(machine_));
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
      failing.spares = spares * fleet::chips_of_a_card(machine_);
      row.failing = simulate_serving(failing);
    }
    figures_.failures.push_back(std::move(row));
  }

  const FleetArguments& o_;
  const Machine& machine_;
  const FleetModel& model_;
  const fleet::ChipWork& chip_;
  FleetSpec spec_;
  fleet::DataParallelModel parallel_;
  std::size_t sizes_ = 0;
  FleetFigures figures_;
};

}  // namespace

void add_fleet_options(CLI::App& command, FleetArguments& o) {
  const std::string group = "Fleets";
  command.add_option("--cards", o.cards, "Fleet sizes to simulate, in cards: 1,2,4,...")
      ->delimiter(',')
      ->check(whole_number(1, kMostCards))
      ->type_name("N,...")
      ->group(group);
  command.add_option("--global-batch", o.global_batch, "Split one batch of N frames over all chips, in equal shards")
      ->check(whole_number(1))
      ->type_name("N")
      ->group(group);
  command.add_option("--load", o.loads, "Serve random requests at these fractions of the fleet's capacity: 0.5,0.8")
      ->delimiter(',')
      ->check(number_between(0.001, 0.999))
      ->type_name("SHARE,...")
      ->group(group);
  command.add_option("--arrivals", o.arrivals, "Serve random requests at these rates, in requests per second")
      ->delimiter(',')
      ->check(number_from(0.001))
      ->type_name("RATE,...")
      ->group(group);
  command.add_option("--max-wait", o.max_wait_ms, "Longest time in ms that a request waits for its batch to fill")
      ->check(number_between(0, 1e6))
      ->default_str("1")
      ->type_name("MS")
      ->group(group);
  command.add_option("--requests", o.requests, "Number of requests to simulate; default: as many as the fleet needs")
      ->check(whole_number(1, 100'000'000))
      ->type_name("N")
      ->group(group);
  command.add_option("--spares", o.spares, "Numbers of spare cards; default: that of the machine")
      ->delimiter(',')
      ->check(whole_number(0, kMostCards))
      ->type_name("N,...")
      ->group(group);
  command
      .add_option("--failures", o.failures,
                  "Let cards fail while requests are served, with failures and repairs X times faster than in reality")
      ->check(positive_number())
      ->type_name("X")
      ->group(group);
  command.add_option("--fleet-svg", o.svg, "Draw rates and times against fleet size or load")
      ->type_name("FILE")
      ->group(group);
}

bool is_fleet(const Machine& machine) {
  const std::optional<FleetSpec> spec = fleet_of(machine);
  return spec && spec->hosts;
}

bool wants_fleet(const FleetArguments& o, const TimeArguments& time, const Machine& machine) {
  if (time.mesh_is_grid || !o.cards.empty() || o.global_batch > 0 || !o.loads.empty() || !o.arrivals.empty() ||
      !o.spares.empty() || !o.svg.empty())
    return true;
  return is_fleet(machine);
}

std::int64_t chip_batch(const FleetArguments& o, const TimeArguments& time, const Machine& machine) {
  if (o.global_batch == 0) return 0;
  const std::vector<fleet::Topology> all = sizes(o, time, machine);
  check(all.size() == 1, Code::invalid_argument, Hint{"use --batch: it is per chip and the same for all sizes"},
        "--global-batch {} needs a single size, but --cards has {}", o.global_batch, all.size());
  return fleet::shard_frames(o.global_batch, all.front().chips);
}

void simulate_fleet(const FleetArguments& o, const TimeArguments& time, const Machine& machine, const FleetModel& model,
                    const Context& context) {
  check(time.trace.empty(), Code::invalid_argument, Hint{"use --mesh N to draw a few chips"},
        "--trace draws single chips, not a fleet");
  for (const auto& [option, given] : {std::pair("--failures", o.failures > 0), std::pair("--requests", o.requests > 0),
                                      std::pair("--max-wait", o.max_wait_ms.has_value())})
    check(!given || !o.loads.empty() || !o.arrivals.empty(), Code::invalid_argument,
          Hint{"set a request rate with --load or --arrivals"}, "{} needs requests", option);
  check(o.cards.empty() || time.mesh.value_or(1) == 1, Code::invalid_argument,
        Hint{"--mesh is one size, in chips; --cards are several, in cards"}, "--mesh and --cards exclude each other");
  const std::int64_t frames = batch_of(fleet::chip_work(model.work).graph), shard = chip_batch(o, time, machine);
  check(shard == 0 || shard == frames, Code::invalid_argument, Hint{"plan the network for that batch"},
        "--global-batch {} gives each chip {} frames, but the network is for {}", o.global_batch, shard, frames);
  const auto begin = std::chrono::steady_clock::now();
  const FleetFigures done = FleetSimulation(o, time, machine, model).take();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::string title = fmt::format("{} on {}", model.name, machine.title);
  if (!o.svg.empty()) write_file_atomically(o.svg, scaling_to_svg(fleet::fleet_picture(done, title)));
  const bool with_serving = !done.served.empty();
  const Table rows = fleet::fleet_table(done.rows), served = fleet::serving_table(done.served),
              failures = fleet::failure_table(done.failures, with_serving, o.failures > 0);
  if (context.format == Format::json) {
    const nlohmann::json out = {{"schema", 1},
                                {"kind", "simulated"},
                                {"model", model.name},
                                {"device", machine.name},
                                {"batch", frames},
                                {"weight_bytes", done.rows.front().weights.bytes},
                                {"fleet", table_rows(rows)},
                                {"serving", table_rows(served)},
                                {"failures", table_rows(failures)}};
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
      title, frames, format_bytes(static_cast<double>(done.rows.front().weights.bytes)), seconds));
}

}  // namespace tessera::cli
