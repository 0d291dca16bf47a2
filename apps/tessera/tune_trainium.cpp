#include "trainium.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/neuron/emit/emit_nki.h"
#include "tessera/targets/neuron/plan/tune.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

constexpr std::int64_t kMaxExtent = 1 << 20;

std::vector<std::int64_t> extents(const std::string& text) {
  std::vector<std::int64_t> out;
  const char *at = text.data(), *end = text.data() + text.size();
  while (at <= end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 1 || value > kMaxExtent || (next != end && *next != 'x')) return {};
    out.push_back(value);
    if (next == end) return out;
    at = next + 1;
  }
  return {};
}

using neuron::ConvTrial;
using neuron::ConvTuning;

struct TuneTrainiumOptions {
  TrainiumArgument layer;
  std::string emit, output;
  int api = 2025;
};

Table trial_table(const ConvTuning& tuning) {
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
    const bool cut = s.window == neuron::WindowAccess::copied || s.window == neuron::WindowAccess::shared;
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
    const std::string script = neuron::nki_script(problem, tuning.winner().schedule,
                                                  o.api == 2026 ? neuron::NkiApi::nki2026 : neuron::NkiApi::nki2025);
    if (o.output.empty()) return context.print(script);
    write_file_atomically(o.output, script);
  }
  context.print(trial_table(tuning));
  if (context.quiet || (context.format != Format::table && context.format != Format::markdown)) return;
  const neuron::Profile& best = *tuning.winner().profile;
  context.print(fmt::format(
      "\n{}, {}: {}\n{:.1f} us simulated, {:.3f} x the bound of {:.1f} us ({}), MFU {:.1f}%\n{:.3f} x the floor of "
      "{:.1f} us, which adds {:.1f} us to start a kernel and one copy in and out\n",
      machine.title, problem.text(), tuning.winner().schedule.text(), best.total_us(), tuning.ratio(),
      tuning.bound.ns() / 1000, tuning.bound.tensor_ns > tuning.bound.dma_ns ? "PE array" : "DMA", 100 * best.mfu(),
      tuning.floor_ratio(), tuning.bound.floor_ns() / 1000, tuning.bound.start_ns / 1000));
}

}  // namespace

void TrainiumArgument::add_to(CLI::App& command) {
  command.add_option("--device", device, "A Trainium machine of `tessera machines`, or a machine file")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--in", in, "Shape of the image: batch, channels, height, width")
      ->type_name("NxCxHxW")
      ->capture_default_str();
  command.add_option("--out-channels", out_channels, "Output channels")->type_name("N")->capture_default_str();
  command.add_option("--kernel", kernel, "Kernel height and width")->type_name("K")->capture_default_str();
  command.add_option("--dtype", dtype, "f32, f16 or bf16")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->capture_default_str();
  command.add_option("--pool", pool, "1 or 2")->type_name("N")->capture_default_str();
}

neuron::ConvProblem TrainiumArgument::problem() const {
  const std::vector<std::int64_t> sizes = extents(in);
  check(sizes.size() == 4, Code::invalid_argument, Hint{"1x256x224x224 is one image of 256 channels"},
        "--in '{}' is not four sizes separated by x", in);
  check(out_channels >= 1 && out_channels <= kMaxExtent && kernel >= 1 && kernel <= kMaxExtent, Code::invalid_argument,
        "--out-channels {} and --kernel {} are not sizes", out_channels, kernel);
  neuron::ConvProblem p;
  p.n = sizes[0];
  p.ic = sizes[1];
  p.h = sizes[2];
  p.w = sizes[3];
  p.oc = out_channels;
  p.k = kernel;
  p.pool = pool;
  p.type = dtype == "f32" ? ElementType::float32 : dtype == "f16" ? ElementType::float16 : ElementType::bfloat16;
  return p;
}

void add_tune_trainium(CLI::App& tune_command, const Context& context) {
  CLI::App* command = tune_command.add_subcommand(
      "trainium-conv2d", "Search for a schedule of the fused conv2d + bias + maxpool on a NeuronCore");
  auto o = std::make_shared<TuneTrainiumOptions>();
  o->layer.add_to(*command);
  CLI::Option* emit = command->add_option("--emit", o->emit, "Write the best schedule as a script: nki")
                          ->check(CLI::IsMember({"nki"}))
                          ->type_name("WHAT");
  command->add_option("--api", o->api, "Of the script: 2025, for neuronxcc.nki, or 2026, for nki, with results by dst=")
      ->check(CLI::IsMember({2025, 2026}))
      ->type_name("YEAR")
      ->capture_default_str()
      ->needs(emit);
  command->add_option("-o,--output", o->output, "Write the script to this file; default: print it instead of the table")
      ->type_name("FILE.py")
      ->needs(emit);
  command->callback([o, &context] { tune(*o, context); });
}

}  // namespace tessera::cli
