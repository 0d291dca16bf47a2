// tessera trainium conv2d: the fused convolution of the case study on a simulated NeuronCore, one version or all.

#include "trainium.h"
#include "arguments.h"
#include "command.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/timeline_picture.h"
#include "tessera/targets/neuron/kernels/ladder.h"
#include "tessera/targets/neuron/kernels/vector_add.h"
#include "tessera/targets/neuron/views/kernel_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

Column number(std::string name, std::string key, std::string unit) {
  return {std::move(name), std::move(key), std::move(unit), Align::right};
}

Cell micros(double us) { return Cell(us, us < 1000 ? fmt::format("{:.1f}", us) : fmt::format("{:.0f}", us)); }

namespace {

using neuron::ConvProblem;
using neuron::LadderRow;
using neuron::Profile;

struct TrainiumOptions {
  TrainiumArgument layer;
  bool ladder = false, microbenchmarks = false, check = false, explain = false;
  std::string step = "native", trace, svg, html;
  double draw_us = 0;
  std::int64_t every = 37;
};

Cell percent(double share) { return Cell(share, fmt::format("{:.0f}%", 100 * share)); }

Table ladder_table(const std::vector<LadderRow>& rows) {
  Table table({{.name = "step"},
               {.name = "name"},
               {.name = "dtype"},
               {.name = "image"},
               number("pool", "pool"),
               number("simulated", "simulated_us", "us"),
               number("published", "published_us", "us"),
               number("ratio", "ratio"),
               number("bound", "lower_bound_us", "us"),
               number("floor", "floor_us", "us"),
               number("DMAs", "dma_transfer_count"),
               number("moved", "dma_transfer_total_bytes", "MB"),
               number("DMA", "dma_active_share"),
               number("PE", "tensor_active_share"),
               number("Vector", "vector_active_share"),
               number("Scalar", "scalar_active_share"),
               number("GpSimd", "gpsimd_active_share"),
               number("MFU", "mfu")});
  for (const LadderRow& row : rows) {
    const Profile& p = row.profile;
    const auto ratio = row.ratio();
    table.add_row(
        {row.number, row.step, name(row.problem.type), fmt::format("{}x{}", row.problem.h, row.problem.w),
         row.problem.pool, micros(row.simulated_us()), row.published_us ? micros(*row.published_us) : Cell(),
         ratio ? Cell(*ratio, fmt::format("{:.2f}", *ratio)) : Cell(), micros(row.bound.ns() / 1000),
         micros(row.bound.floor_ns() / 1000), p.dma_transfer_count,
         Cell(p.dma_transfer_total_bytes, fmt::format("{:.1f}", static_cast<double>(p.dma_transfer_total_bytes) / 1e6)),
         percent(p.share(p.dma_active_ns)), percent(p.share(p.tensor.active_ns)), percent(p.share(p.vector.active_ns)),
         percent(p.share(p.scalar.active_ns)), percent(p.share(p.gpsimd.active_ns)), percent(p.mfu())});
  }
  return table;
}

// A bar for every step, as long as the logarithm of its time; '|' is what was published.
std::string drawing(const std::vector<LadderRow>& rows) {
  std::string out;
  std::string heading;
  for (const LadderRow& row : rows) {
    const std::string title =
        fmt::format("{}x{} {} pool {}", row.problem.h, row.problem.w, name(row.problem.type), row.problem.pool);
    if (title != heading) out += fmt::format("\n{} (logarithmic; | published)\n", heading = title);
    const auto column = [](double us) { return static_cast<std::size_t>(std::max(0.0, 16 * std::log10(us / 10))); };
    std::string bar(column(row.simulated_us()), '#');
    if (row.published_us) {
      bar.resize(std::max(bar.size(), column(*row.published_us) + 1), ' ');
      bar[column(*row.published_us)] = '|';
    }
    out += fmt::format("  {} {:<12} {:>8.0f} us {}\n", row.number, row.step, row.simulated_us(), bar);
  }
  return out;
}

void print_ladder(const NeuronSpec& spec, const Machine& machine, const Context& context) {
  const std::vector<LadderRow> rows = neuron::conv_ladder(spec);
  context.print(ladder_table(rows));
  if (context.quiet || (context.format != Format::table && context.format != Format::markdown)) return;
  context.print(drawing(rows));
  context.print(fmt::format("\nsimulated: {}, one set of constants. published: {}.\n", machine.title,
                            neuron::has_published_times(spec)
                                ? "measured on a trn2.3xlarge"
                                : "nothing for this machine; what there is was measured on Trainium 2"));
  for (const neuron::ConvStep& step : neuron::conv_steps())
    context.print(fmt::format("  {}: {}\n", step.name, step.change));
}

void print_microbenchmarks(const NeuronSpec& spec, const Context& context) {
  Table table({number("n", "n"), number("rows", "rows"), number("columns", "columns"),
               number("simulated", "simulated_us", "us"), number("published", "published_us", "us"),
               number("ratio", "ratio"), number("DMAs", "dma_transfer_count")});
  for (const neuron::VectorAddCase& each : neuron::vector_add_cases()) {
    const Profile p = neuron::run_vector_add(spec, each);
    const double ratio = p.total_us() / each.published_us;
    const bool published = neuron::has_published_times(spec);
    table.add_row({each.n, each.rows, each.columns, micros(p.total_us()),
                   published ? micros(each.published_us) : Cell(),
                   published ? Cell(ratio, fmt::format("{:.2f}", ratio)) : Cell(), p.dma_transfer_count});
  }
  context.print(table);
}

// The first microseconds, a row for each engine that did anything: the first letter of what took most of each column.
std::string first_microseconds(const sim::Timeline& timeline, const sim::Schedule& schedule, double us) {
  constexpr std::size_t kColumns = 100;
  const double column_ps = us * 1e6 / kColumns;
  std::vector<std::pair<std::string, std::string>> drawn;  // names and letters; engines that did the same share a row
  for (std::size_t r = 0; r < timeline.resources().size(); ++r) {
    std::vector<std::map<char, double>> taken(kColumns);
    for (std::size_t i = 0; i < timeline.tasks().size(); ++i) {
      const sim::Span& span = schedule.tasks[i];
      if (sim::index(timeline.tasks()[i].resource) != r || static_cast<double>(span.start_ps) >= us * 1e6) continue;
      const char letter = timeline.label(static_cast<sim::TaskId>(i)).front();
      const double begin = static_cast<double>(span.start_ps), end = static_cast<double>(span.end_ps);
      for (auto c = static_cast<std::size_t>(begin / column_ps); c < kColumns; ++c) {
        const double left = static_cast<double>(c) * column_ps;
        if (left >= end) break;
        taken[c][letter] += std::min(end, left + column_ps) - std::max(begin, left);
      }
    }
    std::string row;
    for (const std::map<char, double>& cell : taken) {
      char letter = '.';
      double most = column_ps / 8;  // less is not worth a letter
      for (const auto& [each, time] : cell)
        if (time > most) letter = each, most = time;
      row += letter;
    }
    if (row.find_first_not_of('.') == std::string::npos) continue;
    const std::string& engine = timeline.resources()[r].name;
    if (!drawn.empty() && drawn.back().second == row) {
      std::string& first = drawn.back().first;
      first = fmt::format("{}..{}", first.substr(0, first.find("..")), engine.substr(engine.rfind(' ') + 1));
    } else {
      drawn.emplace_back(engine, row);
    }
  }
  std::string out;
  for (const auto& [engine, row] : drawn) out += fmt::format("{:<10} {}\n", engine, row);
  return out + fmt::format("{:<11}0{:>{}.1f} us\n", "", us, kColumns - 4);
}

void print_step(const NeuronSpec& spec, const TrainiumOptions& o, const Context& context) {
  const ConvProblem p = o.layer.problem();
  check_problem(spec, p);
  neuron::Kernel kernel(spec, {.values = false});
  const neuron::ConvTensors tensors{kernel.input("x", p.type, p.x_shape()), kernel.input("w", p.type, p.w_shape()),
                                    kernel.input("bias", p.type, {p.oc}), kernel.output("y", p.type, p.y_shape())};
  neuron::conv_step(o.step).run(kernel, p, tensors);
  const std::string title = fmt::format("{}: {}", o.step, p.text());
  if (!o.trace.empty()) write_kernel_trace(kernel, title, o.trace);
  if (!o.svg.empty()) {
    const double us = o.draw_us > 0 ? o.draw_us : 25;
    const std::string heading = fmt::format("{}, the first {:.6g} us of {} (simulated)", o.step, us, p.text());
    write_file_atomically(o.svg, timeline_svg(kernel.timeline(), kernel.schedule(), us, heading));
    if (!context.quiet) context.print(fmt::format("{} written\n", o.svg));
  }
  neuron::KernelReport report = kernel_report(kernel, title);
  report.profile.model_flops = p.flops();
  const neuron::ConvBound bound = neuron::conv_bound(spec, p);
  report.more = {{"lower_bound_time", bound.ns() * 1e-9}, {"floor_time", bound.floor_ns() * 1e-9}};
  if (!o.html.empty()) write_kernel_page(kernel, report, o.html);
  if (!o.svg.empty()) return;
  if (o.draw_us > 0) return context.print(first_microseconds(kernel.timeline(), kernel.schedule(), o.draw_us));
  if (o.explain) return context.print(explanation(report));
  context.print(profile_table(report));
}

}  // namespace

void add_trainium(CLI::App& app, const Context& context) {
  CLI::App* trainium = app.add_subcommand("trainium", "Run kernels on a simulated NeuronCore");
  trainium->require_subcommand(1);
  CLI::App* conv2d = trainium->add_subcommand(
      "conv2d", "Profile the fused conv2d + bias + maxpool of the case study: one version, or all of them");
  auto o = std::make_shared<TrainiumOptions>();
  o->layer.add_to(*conv2d);
  CLI::Option* ladder =
      conv2d->add_flag("--ladder", o->ladder, "Run every version on the harness's cases, beside the published times");
  CLI::Option* micro = conv2d
                           ->add_flag("--microbenchmarks", o->microbenchmarks,
                                      "Run the vector additions from which the price of single copies follows")
                           ->excludes(ladder);
  CLI::Option* checks = conv2d
                            ->add_flag("--check", o->check,
                                       "Run the harness of the assignment: check the values of a version on batches of "
                                       "four, float32 and float16, with its times and points")
                            ->excludes(ladder)
                            ->excludes(micro);
  conv2d->add_option("--every", o->every, "With --check: compare every N-th row of the output; 1: all rows")
      ->check(whole_number(1))
      ->type_name("N")
      ->capture_default_str()
      ->needs(checks);
  conv2d->add_option("--step", o->step, "The version of the kernel")
      ->type_name("NAME")
      ->capture_default_str()
      ->excludes(ladder)
      ->excludes(micro);
  conv2d->add_option("--trace", o->trace, "Write a trace, which Perfetto opens: one row per engine and queue")
      ->type_name("FILE.json")
      ->excludes(ladder)
      ->excludes(micro);
  conv2d->add_option("--draw", o->draw_us, "Draw the first US microseconds, one row per engine")
      ->check(positive_number())
      ->type_name("US")
      ->excludes(ladder)
      ->excludes(micro);
  conv2d->add_option("--svg", o->svg, "Write that drawing as a picture; default: the first 25 us")
      ->type_name("FILE.svg")
      ->excludes(ladder)
      ->excludes(micro)
      ->excludes(checks);
  conv2d->add_option("--html", o->html, "Write a page: engines and DMA over time, the longest chain, what would help")
      ->type_name("FILE.html")
      ->excludes(ladder)
      ->excludes(micro)
      ->excludes(checks);
  conv2d->add_flag("--explain", o->explain, "Print the longest chain of instructions, and what would help")
      ->excludes(ladder)
      ->excludes(micro)
      ->excludes(checks);
  conv2d->callback([o, &context] {
    const Machine machine = load_machine(o->layer.device);
    const NeuronSpec& spec = neuron_of(machine);
    if (o->ladder) return print_ladder(spec, machine, context);
    if (o->microbenchmarks) return print_microbenchmarks(spec, context);
    if (o->check) return print_trainium_check(spec, {o->step, o->every}, context);
    print_step(spec, *o, context);
  });
  add_trainium_scripts(*trainium, context);
}

}  // namespace tessera::cli
