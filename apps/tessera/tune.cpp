// tessera tune conv2d: what configurations of a convolution take on a card, before anyone owns it.

#include "arguments.h"
#include "command.h"
#include "progress.h"
#include "trainium.h"
#include "world.h"

#include "tessera/core/file.h"
#include "tessera/core/refusal.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/units.h"
#include "tessera/scale/shared_work.h"
#include "tessera/targets/tensix/time/conv2d_trial_time.h"
#include "tessera/targets/tensix/views/conv2d_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::cli {
namespace {

using tensix::Conv2dPlan;
using tensix::Conv2dProblem;
using tensix::Conv2dTrial;
using tensix::TrialTime;

constexpr const char* kLayer = "The layer";
constexpr const char* kSwept = "What is swept";

struct TuneOptions {
  std::string device;
  std::int64_t l1_small_bytes = 16384;
  std::string table, output;
  // The layer.
  std::int64_t batch = 1, height = 0, width = 0, in_channels = 0, out_channels = 0, groups = 1;
  std::vector<std::int64_t> kernel{3}, stride{1}, padding, dilation{1};
  std::string dtype = "bfloat16", weights_dtype = "bfloat8_b", output_dtype, fidelity = "HiFi4", output_layout = "TILE";
  std::string input_layout;
  bool no_bias = false, fp32_dest_acc = false, packer_l1_acc = false, full_inner_dim = false, activation_reuse = false;
  // What is swept.
  std::vector<std::string> shardings, double_buffers;
  std::vector<int> block_heights;
};

// What a row came to, for whoever writes the table.
Payload row_bytes(bool fits, const std::vector<Cell>& cells) {
  nlohmann::json values = nlohmann::json::array({fits});
  for (const Cell& cell : cells)
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
            values.push_back(nullptr);
          else
            values.push_back(value);
        },
        cell.value());
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_msgpack(values);
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

bool add_cells(const Payload& bytes, std::vector<Cell>& cells) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const nlohmann::json values = nlohmann::json::from_msgpack(begin, begin + bytes.size());
  for (std::size_t i = 1; i < values.size(); ++i) {
    const nlohmann::json& value = values[i];
    cells.push_back(value.is_null()             ? Cell()
                    : value.is_boolean()        ? Cell(value.get<bool>())
                    : value.is_number_integer() ? Cell(value.get<std::int64_t>())
                    : value.is_number()         ? Cell(value.get<double>())
                                                : Cell(value.get<std::string>()));
  }
  return values[0].get<bool>();
}

void fill_table(const TuneOptions& options, const Context& context) {
  const Machine machine = load_machine(options.device);
  const Csv csv = with_context(fmt::format("while reading {}", options.table),
                               [&] { return parse_csv(read_text_file(options.table)); });
  const std::vector<Column> results = tensix::conv2d_result_columns();
  std::vector<Column> columns;
  std::vector<std::size_t> kept;  // configuration columns: all that are not results
  for (std::size_t i = 0; i < csv.columns.size(); ++i) {
    const bool result = std::any_of(results.begin(), results.end(),
                                    [&](const Column& column) { return column.name == csv.columns[i]; });
    if (result) continue;
    kept.push_back(i);
    columns.push_back({.name = csv.columns[i]});
  }
  columns.insert(columns.end(), results.begin(), results.end());
  Table table(columns);
  std::size_t fit = 0;
  Progress progress("convolutions", csv.rows.size(), context.quiet || launched_rank() != 0);
  const auto row = [&](std::size_t i) {
    progress.at(i, csv.rows[i].front());
    const Conv2dProblem problem = with_context(fmt::format("in row {} of {}", i + 1, options.table),
                                               [&] { return tensix::problem_of_row(csv, i); });
    const Conv2dTrial trial = tensix::try_conv2d(problem, machine, options.l1_small_bytes);
    return row_bytes(trial.fits(), tensix::conv2d_result_cells(trial));
  };
  // By all processes that were started together; the first of them writes.
  const std::unique_ptr<Communicator> alone = single_process();
  Communicator& all = in_a_world() ? world() : *alone;
  must_agree(all, "the version", TESSERA_VERSION);
  must_agree(all, "the number of rows", std::to_string(csv.rows.size()));
  const std::vector<Payload> rows = share_work(all, csv.rows.size(), row);
  if (all.rank() != 0) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<Cell> cells;
    for (const std::size_t column : kept) cells.emplace_back(csv.rows[i][column]);
    fit += add_cells(rows[i], cells);
    table.add_row(std::move(cells));
  }
  if (options.output.empty()) return context.print(table);
  write_file_atomically(options.output, render_csv(table));
  if (!context.quiet)
    context.print(
        fmt::format("{}: {} convolutions on {}, {} fit\n", options.output, csv.rows.size(), machine.title, fit));
}

// One value for both axes, or height and width.
std::pair<std::int64_t, std::int64_t> pair_of(const std::vector<std::int64_t>& values, const std::string& what) {
  check(values.size() == 1 || values.size() == 2, Code::invalid_argument, "{} takes one value or two, not {}", what,
        values.size());
  return {values.front(), values.back()};
}

Conv2dProblem problem_of(const TuneOptions& o) {
  Conv2dProblem p;
  p.batch = o.batch;
  p.height = o.height;
  p.width = o.width;
  p.in_channels = o.in_channels;
  p.out_channels = o.out_channels;
  p.groups = o.groups;
  tensix::SlidingWindow& w = p.window;
  std::tie(w.kernel_h, w.kernel_w) = pair_of(o.kernel, "--kernel");
  std::tie(w.stride_h, w.stride_w) = pair_of(o.stride, "--stride");
  std::tie(w.dilation_h, w.dilation_w) = pair_of(o.dilation, "--dilation");
  if (o.padding.size() == 4) {
    w.top = o.padding[0], w.bottom = o.padding[1], w.left = o.padding[2], w.right = o.padding[3];
  } else if (o.padding.empty()) {  // as much as keeps the image's size
    w.top = w.bottom = w.dilation_h * (w.kernel_h - 1) / 2;
    w.left = w.right = w.dilation_w * (w.kernel_w - 1) / 2;
  } else {
    std::tie(w.top, w.left) = pair_of(o.padding, "--padding");
    w.bottom = w.top, w.right = w.left;
  }
  p.has_bias = !o.no_bias;
  p.input_dtype = tensix::dtype_named(o.dtype, "--dtype");
  p.weights_dtype = tensix::dtype_named(o.weights_dtype, "--weights-dtype");
  p.output_dtype = o.output_dtype.empty() ? p.input_dtype : tensix::dtype_named(o.output_dtype, "--output-dtype");
  p.input_layout = p.input_dtype == DType::bfloat16 ? Layout::row_major : Layout::tile;
  if (!o.input_layout.empty()) p.input_layout = tensix::layout_named(o.input_layout, "--input-layout");
  p.config.weights_dtype = p.weights_dtype;
  p.config.output_layout = tensix::layout_named(o.output_layout, "--output-layout");
  p.config.full_inner_dim = o.full_inner_dim;
  p.config.enable_activation_reuse = o.activation_reuse;
  p.compute.fidelity = tensix::fidelity_named(o.fidelity, "--fidelity");
  p.compute.fp32_dest_acc_en = o.fp32_dest_acc;
  p.compute.packer_l1_acc = o.packer_l1_acc;
  return p;
}

tensix::Conv2dSweep sweep_of(const TuneOptions& options) {
  tensix::Conv2dSweep sweep;
  if (!options.shardings.empty()) {
    sweep.layouts.clear();
    for (const std::string& word : options.shardings)
      sweep.layouts.push_back(tensix::sharding_named(word, "--sharding"));
  }
  sweep.block_heights = options.block_heights;
  if (!options.double_buffers.empty()) {
    sweep.double_buffers.clear();
    for (const std::string& word : options.double_buffers)
      sweep.double_buffers.push_back(
          {.act = word == "act" || word == "both", .weights = word == "weights" || word == "both"});
  }
  return sweep;
}

Cell bytes_cell(std::int64_t value) { return Cell(value, format_count(value)); }

std::string double_buffer_text(const tensix::Conv2dConfig& config) {
  if (config.enable_act_double_buffer) return config.enable_weights_double_buffer ? "both" : "act";
  return config.enable_weights_double_buffer ? "weights" : "";
}

// Why a row does not fit, in a few words; CSV and JSON have all of them.
Cell verdict_cell(const std::optional<Refusal>& refusal) {
  if (!refusal) return "yes";
  std::string full = refusal->message + (refusal->hint.empty() ? "" : " (" + refusal->hint + ")");
  switch (refusal->shortage) {
    case Shortage::l1:
    case Shortage::l1_small: return Cell(std::move(full), "no: tensors alone do not fit");
    case Shortage::program: return Cell(std::move(full), "no: circular buffers alone do not fit");
    case Shortage::l1_clash: return Cell(std::move(full), "no: circular buffers clash with tensors");
    default: return Cell(full, "no: " + full);
  }
}

Table sweep_table(const std::vector<Conv2dTrial>& trials, const std::vector<std::optional<TrialTime>>& times,
                  std::optional<std::size_t> best, std::int64_t bank_bytes) {
  Table table({{.name = "", .key = "best"},
               {.name = "sharding"},
               {.name = "act_block_h", .key = "act_block_h_override", .align = Align::right},
               {.name = "used", .key = "act_block_h_rows", .align = Align::right},
               {.name = "double buffer", .key = "double_buffer"},
               {.name = "cores", .align = Align::right},
               {.name = "shard"},
               {.name = "blocks", .align = Align::right},
               {.name = "CBs", .key = "circular_buffer_bytes", .unit = "B", .align = Align::right},
               {.name = "halo", .key = "halo_bytes", .unit = "B", .align = Align::right},
               {.name = "output", .key = "output_bytes", .unit = "B", .align = Align::right},
               {.name = "peak", .key = "peak_bytes", .unit = "B", .align = Align::right},
               {.name = "of L1", .key = "l1_fraction", .align = Align::right},
               {.name = "time", .key = "predicted_ns", .align = Align::right},
               {.name = "basis"},
               {.name = "conv", .key = "conv_ns", .align = Align::right},
               {.name = "bound by", .key = "bound_by"},
               {.name = "of roof", .key = "roof_fraction", .align = Align::right},
               {.name = "fits", .key = "verdict"}});
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Conv2dTrial& trial = trials[i];
    const tensix::Conv2dConfig& config = trial.problem.config;
    const std::string_view layout = config.shard_layout ? name(*config.shard_layout) : "auto";
    std::vector<Cell> cells{Cell(best == i, best == i ? "*" : ""), layout,
                            config.act_block_h_override == 0 ? Cell(0, "all") : Cell(config.act_block_h_override)};
    if (!trial.plan) {
      cells.resize(13);
      cells[4] = double_buffer_text(config);
    } else {
      const Conv2dPlan& plan = *trial.plan;
      const std::int64_t peak = trial.fits() ? trial.peak.total_bytes : trial.wanted_bytes;
      const double share = static_cast<double>(peak) / static_cast<double>(bank_bytes);
      cells.insert(
          cells.end(),
          {plan.as_matmul ? Cell() : Cell(plan.act_block_h * 32), double_buffer_text(config),
           plan.output.cores.num_cores(), fmt::format("{}x{}", plan.output_shard.height, plan.output_shard.width),
           plan.as_matmul ? Cell() : Cell(plan.act_height_blocks), bytes_cell(trial.circular_buffer_bytes),
           bytes_cell(trial.halo_bytes), bytes_cell(trial.output_bytes), bytes_cell(peak),
           Cell(share, fmt::format("{:.0f}%", 100 * share))});
    }
    if (const std::optional<TrialTime>& t = times[i]) {
      cells.emplace_back(t->ns, format_time(t->ns) + (t->basis == tensix::TimeBasis::fitted ? "" : " ~"));
      cells.emplace_back(name(t->basis));
      cells.emplace_back(t->conv_ns, format_time(t->conv_ns));
      cells.emplace_back(name(t->bound_by));
      cells.emplace_back(t->roof_fraction(), fmt::format("{:.0f}%", 100 * t->roof_fraction()));
    } else {
      cells.resize(cells.size() + 5);
    }
    cells.push_back(verdict_cell(trial.refusal));
    table.add_row(std::move(cells));
  }
  return table;
}

void sweep(const TuneOptions& options, const Context& context) {
  const Machine machine = load_machine(options.device);
  const TensixSpec& card = tensix_of(machine);
  const Conv2dProblem problem = problem_of(options);
  std::vector<Conv2dTrial> trials;
  {
    std::unique_ptr<Progress> progress;
    trials = tensix::sweep_conv2d(problem, machine, options.l1_small_bytes, sweep_of(options),
                                  [&](std::size_t done, std::size_t total) {
                                    if (!progress)
                                      progress = std::make_unique<Progress>("trials", total, context.quiet);
                                    progress->at(done);
                                  });
  }
  // A layer that no configuration can run is an error, not a table.
  const auto same = [&](const Conv2dTrial& trial) {
    return !trial.plan && !trial.refusal->out_of_memory() && trial.refusal == trials.front().refusal;
  };
  if (!trials.front().fits() && std::all_of(trials.begin(), trials.end(), same)) raise(*trials.front().refusal);
  const TensixCosts costs = tensix_costs(machine);
  std::vector<std::optional<TrialTime>> times;
  for (const Conv2dTrial& trial : trials) times.push_back(tensix::time_of_trial(trial, card, costs));
  const std::optional<std::size_t> best = tensix::fastest_trial(trials, times);
  const std::int64_t bank_bytes = card.l1_bank_bytes() - options.l1_small_bytes;
  context.print(sweep_table(trials, times, best, bank_bytes));
  const bool for_people = context.format == Format::table || context.format == Format::markdown;
  if (context.quiet || !for_people) return;
  const auto fit = std::count_if(trials.begin(), trials.end(), [](const Conv2dTrial& trial) { return trial.fits(); });
  context.print(
      fmt::format("\n{}: {} of {} fit. All sizes are exact bytes of one core, which has {} for circular buffers and "
                  "tensors besides {} of L1_SMALL. In rows that do not fit, the peak is the amount needed.\n",
                  machine.title, fit, trials.size(), format_count(bank_bytes), format_count(options.l1_small_bytes)));
  if (best)
    context.print(
        "* marks the fastest row that fits. Times are predicted and include input and halo; ~ marks times that rest in "
        "part on prices not measured on this generation of cards (docs/time.md).\n");
}

}  // namespace

void add_tune(CLI::App& app, const Context& context) {
  CLI::App* tune = app.add_subcommand("tune", "Sweep configurations of one operator: memory and time on a card");
  tune->require_subcommand(1);
  CLI::App* conv2d = tune->add_subcommand(
      "conv2d",
      "Sweep shardings, block heights and double buffers of a convolution, or complete a table of convolutions");
  auto o = std::make_shared<TuneOptions>();
  conv2d->add_option("--device", o->device, "A Wormhole or Blackhole card of `tessera machines`, or a machine file")
      ->required()
      ->type_name("NAME");
  conv2d->add_option("--l1-small", o->l1_small_bytes, "Size of L1_SMALL on each core, in bytes; default: 16384")
      ->check(whole_number(0))
      ->type_name("BYTES");
  CLI::Option* table = conv2d
                           ->add_option("--table", o->table,
                                        "Read convolutions, one per line: "
                                        "N,H,W,C,K,k,s,p,groups,dil,shard,abh,act_db,w_db,in_dtype,w_dtype,out_dtype,"
                                        "bias,fidelity,l1acc,fp32acc,out_layout,split_reader")
                           ->type_name("IN.csv");
  conv2d->add_option("-o,--output", o->output, "Write the table with its results to this file")
      ->type_name("OUT.csv")
      ->needs(table);
  const auto extent = [&](const char* flag, std::int64_t& value, const char* what) {
    conv2d->add_option(flag, value, what)->type_name("N")->group(kLayer);
  };
  extent("--batch", o->batch, "Batch size; default: 1");
  extent("--height", o->height, "Image height");
  extent("--width", o->width, "Image width; default: the height");
  extent("--in-channels", o->in_channels, "Input channels");
  extent("--out-channels", o->out_channels, "Output channels");
  extent("--groups", o->groups, "Channel groups; default: 1");
  const auto list = [&](const char* flag, std::vector<std::int64_t>& values, const char* what) {
    conv2d->add_option(flag, values, what)->delimiter(',')->expected(1, 4)->type_name("H,W")->group(kLayer);
  };
  list("--kernel", o->kernel, "Kernel size; default: 3");
  list("--stride", o->stride, "Stride; default: 1");
  list("--padding", o->padding, "Padding: one value, two, or top,bottom,left,right; default: half the kernel");
  list("--dilation", o->dilation, "Dilation; default: 1");
  const auto word = [&](const char* flag, std::string& value, const char* what, const char* type) {
    conv2d->add_option(flag, value, what)->type_name(type)->group(kLayer);
  };
  word("--dtype", o->dtype, "Type of the input; default: bfloat16", "DTYPE");
  word("--weights-dtype", o->weights_dtype, "Type of the weights; default: bfloat8_b", "DTYPE");
  word("--output-dtype", o->output_dtype, "Type of the output; default: that of the input", "DTYPE");
  word("--input-layout", o->input_layout,
       "Layout of the input, TILE or ROW_MAJOR; default: ROW_MAJOR for bfloat16, else TILE", "LAYOUT");
  word("--output-layout", o->output_layout, "Layout of the output, TILE or ROW_MAJOR; default: TILE", "LAYOUT");
  word("--fidelity", o->fidelity, "Math fidelity: LoFi, HiFi2, HiFi3 or HiFi4", "NAME");
  const auto flag = [&](const char* name, bool& value, const char* what) {
    conv2d->add_flag(name, value, what)->group(kLayer);
  };
  flag("--no-bias", o->no_bias, "Leave out the bias");
  flag("--fp32-dest-acc", o->fp32_dest_acc, "Accumulate in float32 (fp32_dest_acc_en)");
  flag("--packer-l1-acc", o->packer_l1_acc, "Add partial sums in L1 (packer_l1_acc)");
  flag("--full-inner-dim", o->full_inner_dim, "Block sharding: do not split the reduction by kernel rows");
  flag("--activation-reuse", o->activation_reuse, "Height sharding: reuse the windows of the row above");
  conv2d->add_option("--sharding", o->shardings, "Try only these shardings: HEIGHT, BLOCK, WIDTH")
      ->delimiter(',')
      ->type_name("LIST")
      ->group(kSwept);
  conv2d->add_option("--act-block-h", o->block_heights, "Try only these block heights, in rows; 0: all rows of a core")
      ->delimiter(',')
      ->type_name("LIST")
      ->group(kSwept);
  conv2d->add_option("--double-buffer", o->double_buffers, "Try only these double buffers: none, act, weights, both")
      ->delimiter(',')
      ->check(CLI::IsMember({"none", "act", "weights", "both"}))
      ->type_name("LIST")
      ->group(kSwept);
  conv2d->callback([o, conv2d, &context] {
    if (!o->table.empty()) {
      for (const CLI::Option* option : conv2d->get_options())
        if ((option->get_group() == kLayer || option->get_group() == kSwept) && option->count() > 0)
          throw CLI::ExcludesError("--table", option->get_name());
      return fill_table(*o, context);
    }
    for (const auto& [name, value] :
         {std::pair{"--height", o->height}, {"--in-channels", o->in_channels}, {"--out-channels", o->out_channels}})
      if (value == 0) throw CLI::RequiredError(name);
    if (o->width == 0) o->width = o->height;
    sweep(*o, context);
  });
  add_tune_trainium(*tune, context);
}

}  // namespace tessera::cli
