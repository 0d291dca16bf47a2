// tessera ncp devices|profile|validate|lint: liquid layers held against device profiles.

#include "ncp.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/report/roofline_picture.h"
#include "tessera/report/units.h"
#include "tessera/targets/apple/verdicts/guide.h"
#include "tessera/targets/apple/verdicts/profiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <memory>
#include <optional>

namespace tessera::cli {
namespace {

struct ProfileOptions {
  NcpModelArgument model;
  int runs = 100;
  std::string fusion = std::string(ncp::name(apple::kFrameworkFusion));
  bool kernels = false;
  bool fused = false;
  bool all = false;
  bool json = false;
  std::string roofline;
  bool guide = false;
  bool ways = false;
  bool strict = false;
  std::string name;
};

// Options that change nothing on this device are a misunderstanding.
void check_run_options(const CLI::App& command, const ProfileOptions& o, const apple::DeviceProfile& device) {
  const auto refuse = [&](const char* flag, bool used, const std::string& why) {
    check(command.count(flag) == 0 || used, Code::invalid_argument, Hint{"leave it out"}, "{} has no effect: {}", flag,
          why);
  };
  refuse("--fusion", !device.measured, fmt::format("figures of {} are measured", device.name));
  refuse("--runs", device.measured, fmt::format("figures of {} are modelled", device.name));
  if (!o.ways) return;
  refuse("--fusion", false, "--ways compares them");
  refuse("--strict", false, "--ways checks nothing");
}

apple::ProfileSettings settings_of(const ProfileOptions& o, const apple::DeviceProfile& device) {
  return {.batch_size = ncp_batch(o.model, device),
          .seq_length = o.model.length,
          .num_runs = o.runs,
          .fusion = ncp::parse_fusion(o.fusion).value()};
}

Cell number(double value) { return {value, fmt::format("{:.4g}", value)}; }

std::string range(const std::vector<int>& sizes) { return fmt::format("{}-{}", sizes.front(), sizes.back()); }

void show_devices(const ProfileOptions& o, const Context& context) {
  if (!o.name.empty() && o.json) return context.print(apple::device_profile_to_json(apple::device_profile(o.name)));
  check(!o.json, Code::invalid_argument, "--json writes one profile: name the device");
  Table table({{.name = "device"},
               {.name = "title"},
               {.name = "figures", .key = "kind"},
               {.name = "peak", .key = "peak_flop_per_s", .align = Align::right},
               {.name = "bandwidth", .key = "peak_bytes_per_s", .align = Align::right},
               {.name = "budget", .key = "memory_budget_bytes", .align = Align::right},
               {.name = "batch"},
               {.name = "hidden"},
               {.name = "backbone"},
               {.name = "target", .key = "min_tflops", .unit = "TFLOP/s", .align = Align::right},
               {.name = "target", .key = "min_bandwidth", .unit = "GB/s", .align = Align::right}});
  const std::vector<std::string> names =
      o.name.empty() ? apple::device_profile_names() : std::vector<std::string>{o.name};
  for (const std::string& name : names) {
    const apple::DeviceProfile d = apple::device_profile(name);
    table.add_row({d.name, d.title, d.kind(), Cell(d.peak_flop_per_s, format_flop_rate(d.peak_flop_per_s)),
                   Cell(d.peak_bytes_per_s, format_byte_rate(d.peak_bytes_per_s)),
                   Cell(d.memory_budget_bytes, format_bytes(static_cast<double>(d.memory_budget_bytes))),
                   range(d.batch_sizes), range(d.hidden_sizes), fmt::format("[{}]", fmt::join(d.backbone_units, ", ")),
                   number(d.min_tflops()), number(d.min_bandwidth())});
  }
  context.print(table);
}

void write_roofline(const std::string& path, const apple::Profiler& profiler, const apple::ProfileSettings& settings,
                    double flop_per_s) {
  const apple::DeviceProfile& device = profiler.device();
  Roofline picture{.title = fmt::format("{} on {}", ncp_layer_text(profiler.layer()), device.title),
                   .note = fmt::format("{}; batch {}, {} steps; bytes are logical", device.kind(), settings.batch_size,
                                       settings.seq_length),
                   .peak_flop_per_s = device.peak_flop_per_s,
                   .peak_bytes_per_s = device.peak_bytes_per_s,
                   .target_flop_per_s = device.tiers.front().flop_per_s};
  for (const ncp::Fusion fusion : {ncp::Fusion::full, ncp::Fusion::elementwise, ncp::Fusion::none}) {
    if (device.measured && fusion != ncp::Fusion::full) break;
    const apple::ModelledRun run =
        apple::model_run(ncp::forward_work(profiler.layer(), settings.batch_size, settings.seq_length,
                                           {.fusion = fusion, .skips_absent_synapses = device.measured}),
                         device);
    const bool own = device.measured || fusion == settings.fusion;
    picture.points.push_back(
        {fmt::format("the layer{}", device.measured ? "" : fmt::format(", fusion {}", name(fusion))), run.intensity(),
         own ? flop_per_s : run.flop_per_s()});
    if (device.measured || fusion != ncp::Fusion::full) continue;
    for (std::size_t i = 0; i < run.kernels.size(); ++i)
      picture.points.push_back({run.work.kernels[i].name, run.work.kernels[i].flops / run.work.kernels[i].bytes,
                                run.work.kernels[i].flops / run.kernels[i].time_ns * 1e9});
  }
  write_file_atomically(path, roofline_to_svg(picture));
}

void print_kernels(const apple::Profiler& profiler, const apple::ProfileSettings& settings, const Context& context) {
  const apple::DeviceProfile& device = profiler.device();
  const apple::ModelledRun run = apple::model_run(
      ncp::forward_work(
          profiler.layer(), settings.batch_size, settings.seq_length,
          {.fusion = device.measured ? ncp::Fusion::full : settings.fusion, .skips_absent_synapses = device.measured}),
      device);
  Table table({{.name = "kernel"},
               {.name = "launches", .align = Align::right},
               {.name = "MFLOP", .key = "flops", .align = Align::right},
               {.name = "executed", .key = "executed_flops", .align = Align::right},
               {.name = "MB", .key = "bytes", .align = Align::right},
               {.name = "FLOP/B", .key = "intensity", .align = Align::right},
               {.name = "compute", .key = "compute_us", .unit = "us", .align = Align::right},
               {.name = "memory", .key = "memory_us", .unit = "us", .align = Align::right},
               {.name = "launch", .key = "launch_us", .unit = "us", .align = Align::right},
               {.name = "bound"},
               {.name = "times", .key = "kind"}});
  const auto row = [&](const ncp::KernelWork& k, const apple::ModelledTime& t) {
    const auto us = [](double ns) { return Cell(ns * 1e-3, fmt::format("{:.4g}", ns * 1e-3)); };
    table.add_row({k.name, k.launches, Cell(k.flops, fmt::format("{:.4g}", k.flops * 1e-6)),
                   Cell(k.executed_flops, fmt::format("{:.4g}", k.executed_flops * 1e-6)),
                   Cell(k.bytes, fmt::format("{:.4g}", k.bytes * 1e-6)), number(k.flops / k.bytes), us(t.compute_ns),
                   us(t.memory_ns), us(t.launch_ns), name(t.bound()), "modelled"});
  };
  for (std::size_t i = 0; i < run.kernels.size(); ++i) row(run.work.kernels[i], run.kernels[i]);
  row(run.work.total(), run.total);
  context.print(table);
}

void print_fusion(const apple::Profiler& profiler, const apple::ProfileSettings& settings, const Context& context) {
  Table table({{.name = "fusion"},
               {.name = "kernels a step", .key = "kernels_per_step", .align = Align::right},
               {.name = "MB a step", .key = "bytes_per_step", .align = Align::right},
               {.name = "time a step", .key = "time_us", .unit = "us", .align = Align::right},
               {.name = "TFLOP/s", .key = "tflops", .align = Align::right},
               {.name = "figures", .key = "kind"}});
  const apple::FusionReport report = apple::fusion_report(profiler.layer(), settings.batch_size, settings.seq_length);
  const auto steps = static_cast<double>(settings.seq_length);
  for (const auto& [fusion, work] :
       {std::pair{ncp::Fusion::none, report.none}, std::pair{ncp::Fusion::elementwise, report.elementwise},
        std::pair{ncp::Fusion::full, report.full}}) {
    const apple::ModelledRun run = apple::model_run(work, profiler.device());
    const ncp::KernelWork total = work.total();
    table.add_row({name(fusion), number(static_cast<double>(total.launches) / steps),
                   Cell(total.bytes / steps, fmt::format("{:.4g}", total.bytes / steps * 1e-6)),
                   number(run.total.time_ns / steps * 1e-3), number(run.flop_per_s() * 1e-12), "modelled"});
  }
  context.print(table);
}

void profile(const CLI::App& command, const ProfileOptions& o, const Context& context) {
  const apple::DeviceProfile device = apple::device_profile(o.model.device);
  check_run_options(command, o, device);
  apple::Profiler profiler(ncp_layer(o.model, device), device);
  const apple::ProfileSettings settings = settings_of(o, device);
  check(!o.kernels || !o.fused, Code::invalid_argument, "--kernels and --fusion-report exclude each other");
  if (o.kernels || o.fused) {
    check(o.roofline.empty(), Code::invalid_argument,
          "--roofline cannot be combined with --kernels or --fusion-report");
    return o.kernels ? print_kernels(profiler, settings, context) : print_fusion(profiler, settings, context);
  }
  profiler.profile_compute(settings);
  profiler.profile_memory(settings);
  profiler.profile_hardware(settings);
  if (o.all) profiler.profile_stream(settings);
  if (!o.roofline.empty()) write_roofline(o.roofline, profiler, settings, profiler.history()[0].at("flops_mean"));
  if (context.format == Format::json) return context.print(apple::stats_to_json(profiler.history()));
  Table table({{.name = "profile"},
               {.name = "key"},
               {.name = "value", .align = Align::right},
               {.name = "unit"},
               {.name = "kind"}});
  for (const apple::Stats& stats : profiler.history())
    for (const apple::Stat& stat : stats.items)
      table.add_row({stats.what, stat.key, stat.value ? Cell(*stat.value, fmt::format("{:.5g}", *stat.value)) : Cell(),
                     stat.unit, stat.kind});
  context.print(table);
  if (context.quiet || context.format != Format::table) return;
  for (const apple::Stats& stats : profiler.history())
    for (const apple::Stat& stat : stats.items)
      if (!stat.why.empty()) context.print(fmt::format("\n{}: {}\n", stat.key, stat.why));
  context.print(fmt::format("\n{} on {}: {}\n", ncp_layer_text(profiler.layer()), device.title,
                            device.measured ? "measured on this machine" : profiler.history().back().note));
}

std::vector<Column> verdict_columns(bool with_device) {
  std::vector<Column> columns = {
      {.name = "check"}, {.name = "target", .align = Align::right}, {.name = "value", .align = Align::right},
      {.name = "unit"},  {.name = "verdict", .key = "ok"},          {.name = "kind"},
      {.name = "why"}};
  if (with_device) columns.insert(columns.begin(), {{.name = "device"}, {.name = "model"}});
  return columns;
}

std::vector<Cell> verdict_cells(const apple::Verdict& v) {
  return {v.check,
          Cell(v.target, fmt::format("{} {:.5g}", v.at_most ? "<=" : ">=", v.target)),
          number(v.value),
          v.unit,
          Cell(v.ok, v.ok ? "met" : "missed"),
          v.kind,
          v.why};
}

std::vector<apple::Verdict> verdicts_of(apple::Profiler& profiler, const apple::ProfileSettings& settings) {
  std::vector<apple::Verdict> out = apple::validate_performance(profiler, settings);
  for (apple::Verdict& v : apple::verify_hardware_usage(profiler, settings)) out.push_back(std::move(v));
  return out;
}

std::vector<std::string> guide_devices() { return {"apple_m1", "apple_m1_pro", "apple_m1_max", "apple_m1_ultra"}; }

void print_ways(const CLI::App& command, const ProfileOptions& o, const Context& context) {
  std::vector<Column> columns = {{.name = "device"},
                                 {.name = "change"},
                                 {.name = "TFLOP/s", .key = "tflops", .align = Align::right},
                                 {.name = "target", .key = "min_tflops", .align = Align::right},
                                 {.name = "GB/s", .key = "bandwidth", .align = Align::right},
                                 {.name = "target", .key = "min_bandwidth", .align = Align::right},
                                 {.name = "figures", .key = "kind"},
                                 {.name = "why"}};
  Table table(std::move(columns));
  const std::vector<std::string> devices = o.guide ? guide_devices() : std::vector<std::string>{o.model.device};
  for (const std::string& name : devices) {
    const apple::DeviceProfile device = apple::device_profile(name);
    check_run_options(command, o, device);
    check(!device.measured, Code::invalid_argument, "--ways needs a modelled device, but '{}' is measured",
          device.name);
    const ncp::Layer layer = ncp_layer(o.model, device);
    const auto* cfc = std::get_if<ncp::CfcLayer>(&layer);
    check(cfc != nullptr, Code::unsupported, "--ways works only for CfC layers");
    const std::int64_t batch = ncp_batch(o.model, device);
    const auto row = [&](const std::string& change, const apple::ModelledRun& run, const std::string& why) {
      table.add_row({device.name, change, number(run.flop_per_s() * 1e-12), number(device.min_tflops()),
                     number(run.bytes_per_s() * 1e-9), number(device.min_bandwidth()), "modelled", why});
    };
    const apple::ModelledRun now =
        apple::model_run(ncp::forward_work(layer, batch, o.model.length, {.fusion = apple::kFrameworkFusion}), device);
    row("as it is", now, fmt::format("{}-bound", apple::name(now.total.bound())));
    for (const apple::LayerChange& way : apple::ways_to_targets(*cfc, batch, o.model.length, device))
      row(way.change, way.run, way.why);
    const auto launches = [&](apple::Bytes bytes, const char* besides) {
      apple::DeviceProfile other = device;
      const std::optional<double> launch = apple::launch_ns_to_reach(now, device.min_tflops() * 1e12, bytes);
      if (!launch || *launch >= device.launch_ns) return false;
      other.launch_ns = *launch;
      if (bytes == apple::Bytes::from_caches) other.peak_bytes_per_s = std::numeric_limits<double>::infinity();
      row(fmt::format("launches of {:.0f} ns{}", *launch, besides), apple::model_run(now.work, other),
          fmt::format("instead of the assumed {:.0f} ns", device.launch_ns));
      return true;
    };
    if (!launches(apple::Bytes::from_memory, "")) launches(apple::Bytes::from_caches, ", every byte from caches");
  }
  context.print(table);
}

void validate(const CLI::App& command, const ProfileOptions& o, const Context& context) {
  check(!o.guide || (o.model.wiring.empty() && o.model.units == 0 && o.model.layer_file.empty()),
        Code::invalid_argument, "--guide already sets the sizes that the guide recommends for each device");
  if (o.ways) return print_ways(command, o, context);
  Table table(verdict_columns(o.guide));
  std::vector<apple::Verdict> all;
  for (const std::string& name : o.guide ? guide_devices() : std::vector<std::string>{o.model.device}) {
    const apple::DeviceProfile device = apple::device_profile(name);
    check_run_options(command, o, device);
    apple::Profiler profiler(ncp_layer(o.model, device), device);
    for (apple::Verdict& v : verdicts_of(profiler, settings_of(o, device))) {
      std::vector<Cell> cells = verdict_cells(v);
      if (o.guide)
        cells.insert(cells.begin(),
                     {Cell(device.name),
                      Cell(fmt::format("{}, batch {}", ncp_layer_text(profiler.layer()), ncp_batch(o.model, device)))});
      table.add_row(std::move(cells));
      all.push_back(std::move(v));
    }
  }
  context.print(table);
  if (o.strict) apple::require(all);
}

void show_lint(const ProfileOptions& o, const Context& context) {
  const apple::DeviceProfile device = apple::device_profile(o.model.device);
  Table table({{.name = "severity"}, {.name = "rule"}, {.name = "subject"}, {.name = "message"}});
  for (const apple::Finding& f :
       apple::lint(ncp_layer(o.model, device), device, ncp_batch(o.model, device), o.model.length))
    table.add_row({name(f.severity), f.rule, f.subject, f.message});
  context.print(table);
}

std::shared_ptr<ProfileOptions> model_options(CLI::App& command) {
  auto options = std::make_shared<ProfileOptions>();
  add_ncp_model_argument(command, options->model);
  return options;
}

void add_run_options(CLI::App& command, ProfileOptions& o) {
  command.add_option("--runs", o.runs, "Number of runs on the host")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      .add_option(
          "--fusion", o.fusion,
          "Kernels modelled on other devices: none (MLX as a layer is written), elementwise (MLX under mx.compile) "
          "or full (one for each product and what follows it)")
      ->check(CLI::IsMember({"none", "elementwise", "full"}))
      ->capture_default_str();
}

}  // namespace

void add_ncp_profile(CLI::App& ncp, const Context& context) {
  CLI::App* devices =
      ncp.add_subcommand("devices", "Show device profiles: the sizes and targets of the hardware guide");
  auto one = std::make_shared<ProfileOptions>();
  devices->add_option("NAME", one->name, "Show only this device");
  devices->add_flag("--json", one->json, "Print the whole profile as JSON");
  devices->callback([one, &context] { show_devices(*one, context); });

  CLI::App* profile_command =
      ncp.add_subcommand("profile", "Profile a layer: measured on the host, modelled for other devices");
  auto p = model_options(*profile_command);
  add_run_options(*profile_command, *p);
  profile_command->add_flag("--all", p->all, "Profile the backward pass too");
  profile_command->add_flag("--kernels", p->kernels, "Print one row per kernel");
  profile_command->add_flag("--fusion-report", p->fused, "Print the kernels before and after fusion");
  profile_command->add_option("--roofline", p->roofline, "Write a roofline plot")->type_name("FILE.svg");
  profile_command->callback([p, profile_command, &context] { profile(*profile_command, *p, context); });

  CLI::App* validate_command = ncp.add_subcommand("validate", "Check a layer against the targets of its device");
  auto v = model_options(*validate_command);
  add_run_options(*validate_command, *v);
  validate_command->add_flag("--guide", v->guide, "Check the guide's own settings on its four devices");
  validate_command->add_flag("--ways", v->ways, "Show what would meet the targets");
  validate_command->add_flag("--strict", v->strict, "Exit with 1 if a target is missed");
  validate_command->callback([v, validate_command, &context] { validate(*validate_command, *v, context); });

  CLI::App* lint_command = ncp.add_subcommand("lint", "Suggest changes to a layer for a device");
  auto l = model_options(*lint_command);
  lint_command->callback([l, &context] { show_lint(*l, context); });
}

}  // namespace tessera::cli
