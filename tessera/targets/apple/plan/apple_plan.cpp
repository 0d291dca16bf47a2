#include "tessera/targets/apple/plan/apple_plan.h"

#include "tessera/core/error.h"
#include "tessera/graph/digest.h"
#include "tessera/machine/machine_digest.h"
#include "tessera/machine/unified_guide.h"
#include "tessera/report/units.h"
#include "tessera/targets/apple/plan/kernels.h"
#include "tessera/targets/apple/plan/primitives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tessera::apple {
namespace {

constexpr std::size_t kNamesShown = 6;

// "add, relu, add"; long chains are cut.
std::string listed(const std::vector<std::string>& names, const char* between) {
  const std::size_t shown = std::min(names.size(), kNamesShown);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), between));
  if (names.size() > shown) text += fmt::format("{}and {} more", between, names.size() - shown);
  return text;
}

PlannedKernel planned(const MlxProgram& program, const MlxKernel& kernel, const UnifiedSpec& chip,
                      double special_flop) {
  PlannedKernel out;
  const auto primitive = [&](int p) -> const Primitive& { return program.primitives[static_cast<std::size_t>(p)]; };
  const int node = primitive(kernel.primitives.back()).node;
  out.node = program.nodes[static_cast<std::size_t>(node)];
  std::vector<std::string> names, ops;
  for (const int p : kernel.primitives) {
    names.push_back(primitive(p).name);
    const std::string& op = program.ops[static_cast<std::size_t>(primitive(p).node)];
    if (ops.empty() || ops.back() != op) ops.push_back(op);
  }
  out.op = listed(ops, "+");
  out.what = kernel.compiled() ? "compiled: " + listed(names, ", ") : names.front();
  out.result = program.arrays[static_cast<std::size_t>(kernel.output)].name;
  const double times = kernel.repeats;
  out.flops = kernel.flops * times;
  out.specials = kernel.specials * times;
  out.read_bytes = kernel.read_bytes * times;
  out.written_bytes = kernel.written_bytes * times;
  out.launches = std::int64_t{kernel.launches} * kernel.repeats;
  out.compute_s = (out.flops + out.specials * (special_flop - 1)) / chip.gpu_flop_per_s;
  out.memory_s = (out.read_bytes + out.written_bytes) / chip.memory_bytes_per_s;
  out.launch_s = static_cast<double>(out.launches) * chip.launch_ns * 1e-9;
  return out;
}

std::string_view bound_of(const PlannedKernel& kernel) {
  if (kernel.launch_s > std::max(kernel.compute_s, kernel.memory_s)) return "launch";
  return kernel.compute_s >= kernel.memory_s ? "math" : "memory";
}

Cell us(double seconds) { return Cell(seconds * 1e6, fmt::format("{:.2f}", seconds * 1e6)); }

bool belongs(const PlannedKernel& kernel, const std::string& node) {
  return kernel.node == node || kernel.result == node;
}

}  // namespace

ApplePlan plan_for_mlx(const LoadedNetwork& network, const Machine& machine) {
  check(machine.unified.has_value(), Code::invalid_argument, "'{}' is a machine of the family {}, not unified",
        machine.name, machine.family);
  const UnifiedSpec& chip = *machine.unified;
  ApplePlan plan;
  plan.model = network.model;
  plan.machine = machine.name;
  plan.machine_digest = tessera::machine_digest(machine);
  plan.network_digest = tessera::network_digest(network.graph);
  for (const ValueId id : network.graph.inputs)
    plan.model_inputs.push_back(
        fmt::format("{} {}", network.graph.value(id).name, network.graph.value(id).type.to_string()));
  plan.batch = batch_of(network.graph);
  plan.budget_bytes = chip.memory_budget_bytes;
  plan.memory_bytes = chip.memory_bytes;

  const MlxProgram program = mlx_program(lowered_for_mlx(network.graph));
  const std::vector<MlxKernel> kernels = compiled_kernels(program);
  const double special_flop = unified_guide_of(machine).special_flop;
  for (const Primitive& primitive : program.primitives) plan.primitives += primitive.kind != Primitive::Kind::view;
  for (const MlxKernel& kernel : kernels) plan.kernels.push_back(planned(program, kernel, chip, special_flop));
  for (const MlxArray& array : program.arrays) {
    if (array.place == MlxArray::Place::weight) plan.weight_bytes += array.bytes;
    if (array.place == MlxArray::Place::input) plan.input_bytes += array.bytes;
  }
  plan.value_bytes = peak_bytes(program, kernels);
  const std::int64_t needed = plan.weight_bytes + plan.value_bytes + plan.input_bytes;
  if (needed > plan.memory_bytes)
    raise({.message = fmt::format("'{}' needs {} B at once ({} B of weights, {} B of values), and {} has {} B at most",
                                  network.name, needed, plan.weight_bytes, plan.value_bytes + plan.input_bytes,
                                  machine.name, plan.memory_bytes),
           .hint = "a smaller batch",
           .code = Code::out_of_memory,
           .shortage = Shortage::host,
           .requested_bytes = needed,
           .free_bytes = plan.memory_bytes});
  return plan;
}

std::vector<StepView> AppleNetworkPlan::steps() const {
  std::vector<StepView> out;
  for (const PlannedKernel& kernel : plan_.kernels) {
    const std::string_view bound = bound_of(kernel);
    out.push_back({.node = kernel.node,
                   .op = kernel.op,
                   .config = kernel.what,
                   .result = kernel.result,
                   .why = kernel.launches == 1 ? "" : fmt::format("{} launches", kernel.launches),
                   .time_s = kernel.time_s(),
                   .basis = bound == "launch" ? Basis::assumed : Basis::bound,
                   .bound = {std::string(bound), kernel.compute_s / kernel.time_s()},
                   .read_bytes = kernel.read_bytes,
                   .written_bytes = kernel.written_bytes,
                   .memory_peak_bytes = static_cast<std::int64_t>(kernel.written_bytes)});
  }
  return out;
}

PlanMemory AppleNetworkPlan::memory() const {
  return {{.memory = "values and weights",
           .peak_bytes = plan_.weight_bytes + plan_.value_bytes + plan_.input_bytes,
           .limit_bytes = plan_.budget_bytes}};
}

PlanTotals AppleNetworkPlan::totals() const {
  PlanTotals totals{.frames = plan_.batch};
  for (const PlannedKernel& kernel : plan_.kernels) {
    totals.kernels_s += std::max(kernel.compute_s, kernel.memory_s);
    totals.device_s += kernel.time_s();
  }
  return totals;
}

View AppleNetworkPlan::shown() const {
  Table table({{.name = "step", .align = Align::right},
               {.name = "node"},
               {.name = "op", .detail = 1},
               {.name = "kernel"},
               {.name = "launches", .align = Align::right, .detail = 2},
               {.name = "flop", .key = "flops", .align = Align::right, .detail = 2},
               {.name = "bytes", .align = Align::right, .detail = 2},
               {.name = "time", .key = "time_us", .unit = "us", .align = Align::right},
               {.name = "bound"}});
  std::size_t number = 0;
  std::int64_t launches = 0;
  for (const PlannedKernel& kernel : plan_.kernels) {
    launches += kernel.launches;
    table.add_row({Cell(static_cast<std::int64_t>(number++)), kernel.node, kernel.op, kernel.what, kernel.launches,
                   Cell(kernel.flops, fmt::format("{:.3g}", kernel.flops)),
                   Cell(static_cast<std::int64_t>(kernel.read_bytes + kernel.written_bytes)), us(kernel.time_s()),
                   std::string(bound_of(kernel))});
  }
  const PlanTotals totals = this->totals();
  const PlanMemory memory = this->memory();
  std::string after = fmt::format(
      "\n{} on {}: batch {}, {} kernels for {} primitives, {} launches, modelled by a roofline\n"
      "  kernels     {:.3f} ms at the peak rates: no program is faster\n"
      "  device      {:.3f} ms with launches, whose cost is assumed ({:.0f} frames/s)\n"
      "  memory      {} of {}\n",
      plan_.model, plan_.machine, plan_.batch, plan_.kernels.size(), plan_.primitives, launches, totals.kernels_s * 1e3,
      totals.device_s * 1e3, static_cast<double>(plan_.batch) / totals.device_s,
      format_bytes(static_cast<double>(memory[0].peak_bytes)), format_bytes(static_cast<double>(plan_.budget_bytes)));
  if (memory[0].peak_bytes > plan_.budget_bytes)
    after += "  That is more than the machine file's budget for a model.\n";
  View view;
  view.parts.push_back({.table = std::move(table), .after = std::move(after)});
  return view;
}

Table AppleNetworkPlan::figures() const {
  Table table({{.name = "device", .key = "device_us", .unit = "us", .align = Align::right},
               {.name = "kernels", .key = "kernel_count", .align = Align::right},
               {.name = "memory", .key = "peak_bytes", .unit = "B", .align = Align::right}});
  table.add_row({us(totals().device_s), Cell(static_cast<std::int64_t>(plan_.kernels.size())), memory()[0].peak_bytes});
  return table;
}

View AppleNetworkPlan::explain(const std::string& node) const {
  const auto found =
      std::ranges::find_if(plan_.kernels, [&](const PlannedKernel& each) { return belongs(each, node); });
  if (found == plan_.kernels.end()) {
    std::vector<std::string> names;
    for (const PlannedKernel& kernel : plan_.kernels) names.push_back(kernel.node);
    fail(Code::not_found, Hint{"a node that was compiled together with others goes by the name of the last of them"},
         "the plan has no kernel of '{}'; it has {}", node, listed(names, ", "));
  }
  const PlannedKernel& k = *found;
  View view;
  view.parts.push_back(
      {.text = fmt::format("{}: {} as {}\n\n"
                           "  math      {:>10.2f} us  {:.4g} operations, {:.4g} of them exponentials and the like\n"
                           "  memory    {:>10.2f} us  reads {}, writes {}\n"
                           "  launches  {:>10.2f} us  {} of them, each assumed\n\n"
                           "bound by {}: math and memory overlap, launches do not\n",
                           k.node, k.op, k.what, k.compute_s * 1e6, k.flops, k.specials, k.memory_s * 1e6,
                           format_bytes(k.read_bytes), format_bytes(k.written_bytes), k.launch_s * 1e6, k.launches,
                           bound_of(k))});
  return view;
}

void AppleNetworkPlan::attach(const Graph& graph, const std::string& name) {
  check(tessera::network_digest(graph) == plan_.network_digest, Code::invalid_argument, Hint{"plan it again"},
        "'{}' is not the network that the plan was made for", name);
}

}  // namespace tessera::apple
