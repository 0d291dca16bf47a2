#include "tessera/targets/tensix/views/plan_report.h"

#include "tessera/core/tile.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/ops/matmul/linear_layer.h"
#include "tessera/targets/tensix/views/plan_l1.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tessera::tensix {
namespace {

using tensix::CardPlan;
using tensix::PlannedStep;

std::string memory_text(const MemoryConfig& memory) {
  if (!memory.shard_spec()) return fmt::format("{} {}", name(memory.buffer_type()), name(memory.layout()));
  const ShardSpec& shards = *memory.shard_spec();
  return fmt::format("{} {} {}x{} on {} cores", name(memory.buffer_type()), name(memory.layout()), shards.shape.height,
                     shards.shape.width, shards.num_cores());
}

double bytes_as(std::int64_t elements, DType dtype) {
  constexpr Tile kTile{};
  return static_cast<double>(elements) * static_cast<double>(tile_bytes(kTile, dtype)) / kTile.elements();
}

// Multiplications and additions of a step's products; what pools and element-wise arithmetic do is not counted.
struct StepWork {
  double flop = 0;
  std::int64_t weights = 0;
};

StepWork work_of_layer(const tensix::LoweredNode& node, const tensix::LoweredGraph& network) {
  if (const auto* conv = node.layer.as<tensix::ConvLayer>()) {
    const tensix::Conv2dProblem& p = conv->problem;
    const double pixels = static_cast<double>(p.batch) *
                          static_cast<double>(conv->transposed ? p.height * p.width : conv->out_h() * conv->out_w());
    const double each = static_cast<double>(p.in_channels) * static_cast<double>(p.out_channels) /
                        static_cast<double>(p.groups) * static_cast<double>(p.window.kernel_h * p.window.kernel_w);
    return {2 * pixels * each, conv->weights ? conv->weights->count() : 0};
  }
  if (const auto* linear = node.layer.as<tensix::LinearLayer>()) {
    const std::int64_t weights = linear->weights->count();
    return {2 * static_cast<double>(network.matrix(node.outputs[0]).height) * static_cast<double>(weights), weights};
  }
  return {};
}

std::vector<WeighedConfig> sorted_alternatives(const PlannedStep& step) {
  std::vector<WeighedConfig> out = step.alternatives;
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    return a.refusal.empty() && a.ns < b.ns;
  });
  return out;
}

// Steps in their order, with where every value lies meanwhile.
class StepWalk {
 public:
  StepWalk(const PlanReportSources& sources, PlanReport& report) : sources_(sources), report_(report) {
    if (sources.network == nullptr) return;
    for (const tensix::LoweredNode& node : sources.network->nodes) nodes_.emplace(node.name, &node);
  }

  void add(const PlannedStep& step) {
    PlanReport::Step out;
    out.node = step.node;
    out.op = step.op;
    out.config = step.predicted.config;
    out.result = fmt::format("{} {} {}, {}", step.result.shape.to_string(), name(step.result.dtype),
                             name(step.result.layout), memory_text(step.result.memory));
    out.value = step.makes;
    out.why = step.why;
    out.note = step.predicted.note;
    out.reads = step.reads;
    out.frees = step.frees;
    out.place = place_of(step.result.memory);
    for (const tensix::PlannedMove& move : step.moves) {
      out.moves.push_back({std::string(name(move.kind)), move.value, memory_text(move.to), move.why,
                           place_now(move.value), place_of(move.to), move.ns});
      places_[move.value] = place_of(move.to);
    }
    const tensix::StepTime& time = step.predicted.time;
    out.cores = step.predicted.cores;
    out.programs = step.predicted.programs;
    out.ns = time.ns;
    if (time.ns > 0) out.bound_by = time.bound_by;
    out.basis = time.basis;
    out.busy = busy_parts(time);
    out.roof_fraction = time.roof_fraction();
    out.circular_buffer_bytes = step.predicted.circular_buffer_bytes;
    out.halo_bytes = step.predicted.halo_bytes;
    out.output_bytes = step.predicted.output_bytes;
    out.l1_peak_bytes = step.predicted.l1_peak_bytes;
    out.pcc = step.pcc;
    out.dtype = name(step.result.dtype);
    out.alternatives = sorted_alternatives(step);
    add_work(step, out);
    places_[step.makes] = out.place;
    bytes_[step.makes] = bytes_as(step.result.shape.volume(), step.result.dtype);
    report_.steps.push_back(std::move(out));
  }

 private:
  ValuePlace place_now(const std::string& value) const {
    const auto found = places_.find(value);
    return found == places_.end() ? ValuePlace::dram : found->second;  // inputs come through DRAM
  }

  void add_work(const PlannedStep& step, PlanReport::Step& out) const {
    const auto found = nodes_.find(step.node);
    if (found == nodes_.end()) return;
    const StepWork work = work_of_layer(*found->second, *sources_.network);
    out.flop = work.flop;
    if (work.flop <= 0) return;
    const DType weights = step.config.weights_dtype.value_or(step.config.conv.weights_dtype.value_or(DType::bfloat16));
    out.weights_dtype = name(weights);
    out.fidelity = step.config.fidelity;
    out.dram_bytes = bytes_as(work.weights, weights);
    if (out.place == ValuePlace::dram) out.dram_bytes += bytes_as(step.result.shape.volume(), step.result.dtype);
    for (const std::string& value : step.reads) {
      if (place_now(value) != ValuePlace::dram) continue;
      const auto bytes = bytes_.find(value);
      out.dram_bytes += bytes == bytes_.end() ? input_bytes(*found->second) : bytes->second;
    }
  }

  double input_bytes(const tensix::LoweredNode& node) const {
    if (node.inputs.empty()) return 0;
    const Extent2d matrix = sources_.network->matrix(node.inputs[0]);
    return bytes_as(matrix.height * matrix.width, DType::bfloat16);
  }

  const PlanReportSources& sources_;
  PlanReport& report_;
  std::map<std::string, const tensix::LoweredNode*> nodes_;
  std::map<std::string, ValuePlace> places_;
  std::map<std::string, double> bytes_;
};

std::vector<PlanReport::Part> parts_of_time(const PlanReport& report, const tensix::EndToEnd* time) {
  const double moves = report.moves_ns();
  if (time == nullptr)
    return {{"kernels", report.kernels_ns - moves, "cores at work"},
            {"moves", moves, "reshards, spills, restores and slides"},
            {"gaps", report.device_ns - report.kernels_ns, "from one program to the next"},
            {"host and transfers", std::max(0.0, report.end_to_end_ns - report.device_ns), "what the card waits for"}};
  std::vector<PlanReport::Part> parts{
      {"kernels", time->kernels_ns - moves, "cores at work, inputs' and outputs' moves through DRAM included"},
      {"moves", moves, "reshards, spills, restores and slides"},
      {"dispatch", time->dispatch_ns, "programs and commands on their way to the cores", PlanReport::PartKind::host},
      {"gaps", time->launch_ns, "from one program to the next"},
      {"transfers", time->transfers_ns, "inputs and outputs that nothing hides", PlanReport::PartKind::host},
      {"host", time->host_ns, "calls that everything waits for", PlanReport::PartKind::host}};
  return parts;
}

}  // namespace

std::string_view name(ValuePlace place) {
  switch (place) {
    case ValuePlace::dram: return "DRAM";
    case ValuePlace::l1: return "L1 interleaved";
    case ValuePlace::height: return "height sharded";
    case ValuePlace::width: return "width sharded";
    case ValuePlace::block: return "block sharded";
  }
  return "";
}

char letter(ValuePlace place) { return "DIHWB"[static_cast<std::size_t>(place)]; }

ValuePlace place_of(const MemoryConfig& memory) {
  if (!memory.is_l1()) return ValuePlace::dram;
  switch (memory.layout()) {
    case TensorMemoryLayout::interleaved: return ValuePlace::l1;
    case TensorMemoryLayout::height_sharded: return ValuePlace::height;
    case TensorMemoryLayout::width_sharded: return ValuePlace::width;
    case TensorMemoryLayout::block_sharded:
    case TensorMemoryLayout::nd_sharded: return ValuePlace::block;
  }
  return ValuePlace::l1;
}

double PlanReport::moves_ns() const {
  double sum = 0;
  for (const Step& step : steps)
    for (const Move& move : step.moves) sum += move.ns;
  return sum;
}

std::size_t PlanReport::fullest_step() const {
  std::size_t most = kNone;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (most == kNone || steps[i].l1_peak_bytes > steps[most].l1_peak_bytes) most = i;
  return most;
}

PlanReport plan_report(const PlanReportSources& sources) {
  const CardPlan& plan = sources.plan;
  const TensixSpec& card = tensix_of(sources.machine);
  PlanReport report;
  report.model = plan.model;
  report.machine = plan.machine;
  report.machine_title = sources.machine.title;
  report.network_digest = plan.network_digest;
  report.machine_digest = plan.machine_digest;
  report.objective = plan.request.objective;
  report.inputs = plan.model_inputs;
  report.folded_inputs = plan.folded_inputs;
  report.passes = plan.passes();
  report.pass_images = plan.pass_images == 0 ? plan.batch : plan.pass_images;
  report.grouped_images = plan.grouped_images;
  for (const tensix::Pin& pin : plan.request.pins)
    report.pins.push_back(fmt::format("{}:{}={}", pin.nodes, pin.field, pin.value));
  report.batch = plan.batch;
  report.cards = plan.request.mesh;
  report.metal_trace = plan.metal_trace;
  report.command_queues = plan.command_queues;
  report.min_pcc = plan.request.min_pcc;
  report.pcc = plan.pcc;
  const auto passes = static_cast<double>(plan.passes());
  report.kernels_ns = plan.kernels_ns / passes;
  report.device_ns = plan.device_ns / passes;
  report.end_to_end_ns = plan.end_to_end_ns / passes;
  report.programs = plan.programs / plan.passes();
  report.l1_peak_bytes = plan.l1_peak_bytes;
  report.l1_limit_bytes = plan.l1_limit_bytes;
  report.grid_x = card.grid_x;
  report.grid_y = card.grid_y;
  report.dram_bytes_per_s = card.dram_bytes_per_s;
  for (std::size_t f = 0; f < report.flop_per_s.size(); ++f)
    if (card.tile_matmul_cycles[f] > 0)
      report.flop_per_s[f] =
          2.0 * 32 * 32 * 32 / card.tile_matmul_cycles[f] * card.clock_hz * card.grid_x * card.grid_y;
  StepWalk walk(sources, report);
  for (const PlannedStep& step : plan.steps) walk.add(step);
  for (PlanReport::Step& step : report.steps) step.share = report.kernels_ns > 0 ? step.ns / report.kernels_ns : 0;
  add_l1(sources, report);
  report.parts = parts_of_time(report, sources.time);
  report.advice = plan_advice(report);
  return report;
}

}  // namespace tessera::tensix
