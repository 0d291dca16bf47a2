#include "tessera/targets/cuda/plan/cuda_plan.h"

#include "tessera/core/error.h"
#include "tessera/graph/digest.h"
#include "tessera/graph/evaluate.h"
#include "tessera/io/plan_file.h"
#include "tessera/report/kernel_plan_view.h"
#include "tessera/report/units.h"
#include "tessera/targets/cuda/plan/lower.h"
#include "tessera/targets/cuda/program/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::cuda {
namespace {

std::int64_t weight_bytes(const Plan& plan) {
  std::int64_t sum = 0;
  for (const Value& value : plan.graph.values)
    if (value.constant) sum += value.constant->shape().volume() * element_bytes(value.constant->type());
  return sum;
}

const GpuSpec& gpu_of(const Machine& machine) {
  check(machine.gpu.has_value(), Code::internal, "'{}' is no GPU", machine.name);
  return *machine.gpu;
}

}  // namespace

CudaPlan::CudaPlan(LoadedNetwork network, const Machine& machine, PlanRequest request)
    : model_(std::move(network.model)),
      name_(std::move(network.name)),
      machine_(machine.name),
      request_(std::move(request)) {
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < network.inputs.size(); ++i) {
    check_input(network.graph, i, network.inputs[i]);
    types.emplace_back(network.inputs[i].type(), network.inputs[i].shape());
    model_inputs_.push_back(
        fmt::format("{} {}", network.graph.value(network.graph.inputs[i]).name, types.back().to_string()));
  }
  if (!types.empty() && types[0].shape().rank() > 0) batch_ = std::max<std::int64_t>(1, types[0].shape()[0]);
  network_digest_ = tessera::network_digest(network.graph);
  check_kernels_are_for(network.graph, request_.kernels_are_for);
  plans_.push_back(std::make_shared<const Plan>(
      plan_kernels(lowered(std::move(network.graph), types, request_), gpu_of(machine), request_)));
}

ElementType CudaPlan::storage() const { return request_.storage.value_or(kDefaultStorage); }

std::vector<StepView> CudaPlan::steps() const { return step_views(plans_); }

std::vector<MoveView> CudaPlan::moves() const { return move_views(plans_); }

PlanMemory CudaPlan::memory() const {
  return {{.memory = "values", .peak_bytes = kernel_plan().arena_bytes, .limit_bytes = request_.memory_limit_bytes},
          {.memory = "weights", .peak_bytes = weight_bytes(kernel_plan())}};
}

PlanTotals CudaPlan::totals() const { return totals_of(plans_, batch_); }

View CudaPlan::shown() const {
  const PlanMemory memory = this->memory();
  View view;
  view.parts.push_back(
      {.table = step_table(plans_),
       .after = fmt::format("\n{} estimated on {}, values and weights as {}; values need {} at once (at least {}), "
                            "weights {}\n",
                            format_time(totals().device_s * 1e9), machine_, name(storage()),
                            format_bytes(static_cast<double>(memory[0].peak_bytes)),
                            format_bytes(static_cast<double>(kernel_plan().arena_lower_bound_bytes)),
                            format_bytes(static_cast<double>(memory[1].peak_bytes)))});
  return view;
}

Table CudaPlan::figures() const {
  Table table({{.name = "estimate", .key = "estimate_us", .unit = "us", .align = Align::right},
               {.name = "values", .key = "arena_bytes", .unit = "B", .align = Align::right}});
  const double us = totals().kernels_s * 1e6;
  table.add_row({Cell(us, fmt::format("{:.1f}", us)), Cell(kernel_plan().arena_bytes)});
  return table;
}

View CudaPlan::explain(const std::string& node) const { return explain_step(plans_, node); }

std::string CudaPlan::body() const { return encode_plan_file(name_, plans_); }

void CudaPlan::attach(const tessera::Graph&, const std::string&) {}  // it was made from its network

Program& CudaPlan::program() const {
  const std::lock_guard lock(mutex_);
  if (!program_) {
    Gpu& device = gpu();
    weights_.emplace(device.context);
    program_ = std::make_unique<Program>(kernel_plan(), Device{device.library, *weights_});
  }
  return *program_;
}

RunResult CudaPlan::run(const std::vector<Array>& inputs) const {
  std::vector<const Array*> addresses;
  for (const Array& input : inputs) addresses.push_back(&input);
  Program& ready = program();
  RunResult out{.outputs = ready.run(addresses), .trace = {.measured = true}};
  const std::vector<double> times = ready.time_steps();
  double begin = 0;
  for (std::size_t s = 0; s < times.size(); ++s) {
    const Step& step = kernel_plan().steps[s];
    const bool conversion = step.node == Step::kConversion;
    const Node* node = conversion ? nullptr : &kernel_plan().graph.nodes[static_cast<std::size_t>(step.node)];
    out.trace.steps.push_back({.node = node ? node->name : kernel_plan().step_name(s),
                               .op = node ? op_text(*node) : "order",
                               .config = node ? std::string(step.kernel->name) : "convert_order",
                               .begin_s = begin,
                               .end_s = begin + times[s] * 1e-3});
    begin = out.trace.steps.back().end_s;
  }
  constexpr int kReplays = 20;
  std::vector<double> replays = ready.time_replays(kReplays);
  std::ranges::nth_element(replays, replays.begin() + kReplays / 2);
  out.trace.seconds = replays[kReplays / 2] * 1e-3;
  return out;
}

}  // namespace tessera::cuda
