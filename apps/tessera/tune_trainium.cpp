#include "tune_trainium.h"

#include "trainium_argument.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/neuron/emit/emit_nki.h"
#include "tessera/targets/neuron/plan/tune.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

using neuron::ConvTrial;
using neuron::ConvTuning;

struct TuneTrainiumOptions {
  TrainiumArgument layer;
  std::string emit, output;
};

Table trial_table(const ConvTuning& tuning) {
  const auto number = [](std::string name, std::string key, std::string unit = "") {
    return Column{std::move(name), std::move(key), std::move(unit), Align::right};
  };
  Table table({{.name = "best"},
               {.name = "windows", .key = "window"},
               number("rows", "rows"),
               number("joined", "joined"),
               number("blocks", "blocks"),
               {.name = "cut by", .key = "cutting"},
               {.name = "image shared", .key = "share_image"},
               {.name = "weights by", .key = "slicing"},
               {.name = "out by", .key = "eviction"},
               {.name = "pool by", .key = "pooling"},
               number("simulated", "simulated_us", "us"),
               number("x bound", "bound_ratio"),
               number("x floor", "floor_ratio"),
               number("MFU", "mfu"),
               number("DMAs", "dma_transfer_count"),
               number("SBUF", "sbuf_partition_bytes", "B"),
               {.name = "refused"}});
  for (std::size_t i = 0; i < tuning.trials.size(); ++i) {
    const ConvTrial& trial = tuning.trials[i];
    const neuron::ConvSchedule& s = trial.schedule;
    const bool cut = s.window == neuron::Window::copied || s.window == neuron::Window::shared;
    std::vector<Cell> cells{Cell(i == tuning.best, i == tuning.best ? "*" : ""),
                            name(s.window),
                            s.rows,
                            s.joined,
                            s.blocks,
                            cut ? Cell(name(s.cutting)) : Cell(),
                            Cell(s.share_image, s.share_image ? "yes" : "no"),
                            name(s.slicing),
                            name(s.eviction),
                            tuning.problem.pool > 1 ? Cell(name(s.pooling)) : Cell()};
    if (trial.profile) {
      const neuron::Profile& p = *trial.profile;
      const double ratio = p.total_ns / tuning.bound.ns(), to_floor = p.total_ns / tuning.bound.floor_ns();
      cells.insert(
          cells.end(),
          {Cell(p.total_us(), fmt::format("{:.1f}", p.total_us())), Cell(ratio, fmt::format("{:.3f}", ratio)),
           Cell(to_floor, fmt::format("{:.3f}", to_floor)), Cell(p.mfu(), fmt::format("{:.1f}%", 100 * p.mfu())),
           p.dma_transfer_count, p.sbuf_peak_bytes, Cell()});
    } else {
      cells.insert(cells.end(), {Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), trial.refused->message});
    }
    table.add_row(std::move(cells));
  }
  return table;
}

void tune(const TuneTrainiumOptions& o, const Context& context) {
  const Machine machine = load_machine(o.layer.device);
  const NeuronSpec& spec = neuron_of(machine);
  const neuron::ConvProblem problem = o.layer.problem();
  const ConvTuning tuning = tune_conv(spec, problem);
  if (!o.emit.empty()) {
    const std::string script = neuron::nki_script(problem, tuning.winner().schedule);
    if (o.output.empty()) return context.print(script);
    write_file_atomically(o.output, script);
  }
  context.print(trial_table(tuning));
  if (context.quiet || (context.format != Format::table && context.format != Format::markdown)) return;
  const neuron::Profile& best = *tuning.winner().profile;
  context.print(fmt::format(
      "\n{}, {}: {}\n{:.1f} us simulated, {:.3f} x the bound of {:.1f} us ({}), MFU {:.1f}%\n"
      "{:.3f} x the floor of {:.1f} us: that bound, {:.1f} us to start a kernel, and a copy in and one out\n",
      machine.title, problem.text(), tuning.winner().schedule.text(), best.total_us(), tuning.ratio(),
      tuning.bound.ns() / 1000, tuning.bound.tensor_ns > tuning.bound.dma_ns ? "PE array" : "DMA", 100 * best.mfu(),
      tuning.floor_ratio(), tuning.bound.floor_ns() / 1000, tuning.bound.start_ns / 1000));
}

}  // namespace

void add_tune_trainium(CLI::App& tune_command, const Context& context) {
  CLI::App* command = tune_command.add_subcommand(
      "trainium-conv2d", "Search a schedule of the fused conv2d + bias + maxpool for a NeuronCore");
  auto o = std::make_shared<TuneTrainiumOptions>();
  o->layer.add_to(*command);
  CLI::Option* emit = command->add_option("--emit", o->emit, "Write the winning schedule as a script: nki")
                          ->check(CLI::IsMember({"nki"}))
                          ->type_name("WHAT");
  command->add_option("-o,--output", o->output, "Where the script goes; otherwise it is printed instead of the table")
      ->type_name("FILE.py")
      ->needs(emit);
  command->callback([o, &context] { tune(*o, context); });
}

}  // namespace tessera::cli
