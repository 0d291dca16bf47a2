#include "tessera/session/session.h"

#include "tessera/core/bytes.h"
#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/ops/control_flow.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/io/onnx/import.h"
#include "tessera/session/network.h"
#include "tessera/session/profile.h"
#include "tessera/targets/cpu/kernels/move/convert_order.h"
#include "tessera/targets/cpu/plan/engine.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

namespace tessera {
namespace {

using cpu::Engine;
using cpu::RunRecord;

std::vector<Port> ports_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<Port> ports;
  for (const ValueId id : ids) ports.push_back({graph.value(id).name, graph.value(id).type});
  return ports;
}

std::vector<const Array*> pointers(const std::vector<Array>& arrays) {
  std::vector<const Array*> out;
  for (const Array& array : arrays) out.push_back(&array);
  return out;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A buffer that lies in the pixels of a wider one, its own pixels side by side.
Bytes part_alone(const std::byte* at, const PlanBuffer& buffer, const Array& like) {
  const std::size_t bytes = static_cast<std::size_t>(element_bytes(like.type())),
                    pixel = static_cast<std::size_t>(like.shape()[1]) * bytes,
                    step = static_cast<std::size_t>(buffer.pixel) * bytes;
  Bytes out(like.bytes().size());
  for (std::size_t to = 0, from = 0; to < out.size(); to += pixel, from += step)
    std::copy(at + from, at + from + pixel, out.data() + to);
  return out;
}

ProfiledStep::Kind kind_of(const Step& step) {
  if (step.kernel == nullptr) return ProfiledStep::Kind::conversion;
  switch (step.kernel->role) {
    case KernelRole::definition: return ProfiledStep::Kind::definition;
    case KernelRole::views: return ProfiledStep::Kind::view;
    case KernelRole::computes: break;
  }
  return ProfiledStep::Kind::kernel;
}

ProfiledStep describe(const cpu::StepRecord& record) {
  ProfiledStep step;
  if (record.plan == nullptr) {
    step.node = record.node->name;
    step.name = fmt::format("{} ({})", record.node->name, name(record.node->op));
    step.op = op_text(*record.node);
    step.kind = ProfiledStep::Kind::unplanned;
    step.kernel = "(outside of the plan)";
    return step;
  }
  const Step& planned = record.plan->steps[record.step];
  step.kind = kind_of(planned);
  step.name = record.plan->step_name(record.step);
  step.op = record.node == nullptr ? "order" : op_text(*record.node);
  step.node = record.node == nullptr ? "" : record.node->name;
  step.kernel = planned.kernel == nullptr ? "convert_order" : planned.kernel->name;
  step.work = planned.work;
  step.in_place = planned.in_place;
  if (!planned.outputs.empty() && planned.outputs[0] >= 0)
    step.shape = record.plan->graph.value(record.plan->buffers[static_cast<std::size_t>(planned.outputs[0])].value)
                     .type.to_string();
  return step;
}

}  // namespace

namespace {

// Of this thread, while it lives.
class LoopLimit {
 public:
  explicit LoopLimit(std::optional<std::int64_t> iterations) : before_(loop_limits().iterations) {
    if (iterations) loop_limits().iterations = *iterations;
  }
  ~LoopLimit() { loop_limits().iterations = before_; }
  LoopLimit(const LoopLimit&) = delete;
  LoopLimit& operator=(const LoopLimit&) = delete;

 private:
  std::int64_t before_;
};

}  // namespace

struct Session::Impl {
  SessionOptions options;
  std::shared_ptr<cpu::WeightCache> weights = std::make_shared<cpu::WeightCache>();
  std::vector<Port> inputs, outputs;
  std::unique_ptr<Engine> engine;

  std::vector<Array> run(const std::vector<Array>& arrays, RunRecord* record = nullptr) const {
    const ThreadLimit limit(options.threads);
    const LoopLimit loops(options.loop_limit);
    return engine->run(pointers(arrays), record);
  }
};

Session::Session(Graph graph, SessionOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->inputs = ports_of(graph, graph.inputs);
  graph = cpu::prepared(std::move(graph), options);
  impl_->outputs = ports_of(graph, graph.outputs);
  impl_->options = std::move(options);
  impl_->engine = std::make_unique<Engine>(std::move(graph), impl_->options, impl_->weights);
}

Session::Session(const Network& network, SessionOptions options) : Session(network.graph(), std::move(options)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const std::vector<Port>& Session::inputs() const { return impl_->inputs; }
const std::vector<Port>& Session::outputs() const { return impl_->outputs; }
const SessionOptions& Session::options() const { return impl_->options; }
int Session::threads() const { return impl_->options.threads > 0 ? impl_->options.threads : max_threads(); }
Isa Session::isa() const { return impl_->options.isa.value_or(active_isa()); }
std::size_t Session::plans_made() const { return impl_->engine->plans_made(); }

std::vector<Array> Session::run(const std::vector<Array>& inputs) const { return impl_->run(inputs); }

std::map<std::string, Array> Session::run(const std::map<std::string, Array>& inputs) const {
  std::vector<Array> ordered;
  for (const Port& port : impl_->inputs) {
    const auto found = inputs.find(port.name);
    check(found != inputs.end(), Code::invalid_argument, "input '{}' ({}) is missing", port.name,
          port.type.to_string());
    ordered.push_back(found->second);
  }
  for (const auto& [name, array] : inputs) {
    const bool known = std::any_of(impl_->inputs.begin(), impl_->inputs.end(),
                                   [&, &key = name](const Port& port) { return port.name == key; });
    if (known) continue;
    std::vector<std::string> names;
    for (const Port& port : impl_->inputs) names.push_back(port.name);
    fail(Code::not_found, "the network has no input '{}', only {}", name, fmt::join(names, ", "));
  }
  std::vector<Array> results = impl_->run(ordered);
  std::map<std::string, Array> named;
  for (std::size_t i = 0; i < results.size(); ++i)
    named.insert_or_assign(impl_->outputs[i].name, std::move(results[i]));
  return named;
}

std::vector<std::shared_ptr<const Plan>> Session::plans(const std::vector<Array>& inputs) const {
  const ThreadLimit limit(impl_->options.threads);
  return impl_->engine->plans(pointers(inputs));
}

PlanSummary Session::prepare(const std::vector<Array>& inputs) const {
  PlanSummary summary;
  const auto all = plans(inputs);
  summary.stages = all.size();
  for (const auto& plan : all) {
    summary.steps += plan->steps.size();
    summary.arena_bytes = std::max(summary.arena_bytes, plan->arena_bytes);
    summary.arena_lower_bound_bytes = std::max(summary.arena_lower_bound_bytes, plan->arena_lower_bound_bytes);
    for (const Step& step : plan->steps) summary.flops += step.work.flops;
  }
  summary.weight_bytes = impl_->weights->bytes();
  return summary;
}

SessionProfile Session::profile(const std::vector<Array>& inputs, int runs, int warm_up) const {
  check(runs >= 1 && warm_up >= 0, Code::invalid_argument, "cannot take the time of {} runs after {}", runs, warm_up);
  for (int i = 0; i < warm_up; ++i) impl_->run(inputs);
  SessionProfile profile;
  profile.runs = runs;
  std::vector<double> totals;
  std::vector<std::vector<double>> seconds;
  for (int i = 0; i < runs; ++i) {
    RunRecord record;
    const auto start = std::chrono::steady_clock::now();
    impl_->run(inputs, &record);
    totals.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    const std::int64_t start_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(start.time_since_epoch()).count();
    seconds.resize(std::max(seconds.size(), record.steps.size()));
    for (std::size_t s = 0; s < record.steps.size(); ++s)
      seconds[s].push_back(static_cast<double>(record.steps[s].time.end_ns - record.steps[s].time.begin_ns) * 1e-9);
    if (i + 1 < runs) continue;
    for (const cpu::StepRecord& step : record.steps) {
      profile.steps.push_back(describe(step));
      profile.steps.back().begin_ns = step.time.begin_ns - start_ns;
      profile.steps.back().end_ns = step.time.end_ns - start_ns;
    }
  }
  for (std::size_t s = 0; s < profile.steps.size(); ++s) profile.steps[s].seconds = median(seconds[s]);
  profile.min_seconds = *std::min_element(totals.begin(), totals.end());
  profile.seconds = median(totals);
  return profile;
}

void Session::observe(const std::vector<Array>& inputs,
                      const std::function<void(const std::string&, const Array&)>& observer) const {
  RunRecord record;
  record.steps_too = false;
  record.observer = [&](const Plan& plan, std::size_t s, const cpu::StepArgs& args) {
    const Step& step = plan.steps[s];
    if (step.node == Step::kConversion) return;
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i] < 0) continue;
      const PlanBuffer& buffer = plan.buffers[static_cast<std::size_t>(step.outputs[i])];
      const Value& value = plan.graph.value(buffer.value);
      Array array(value.type.type, value.type.shape());
      const Bytes part = buffer.pixel > 0 ? part_alone(args.outputs[i], buffer, array) : Bytes();
      cpu::convert_order(buffer.pixel > 0 ? part.data() : args.outputs[i], buffer.order, array.bytes().data(),
                         Order::row_major, array.shape(), element_bytes(array.type()));
      observer(value.name, array);
    }
  };
  impl_->run(inputs, &record);
}

Session load(const std::filesystem::path& model, const SessionOptions& options) { return load(model, options, {}); }

Session load(const std::filesystem::path& model, const SessionOptions& options, const ImportOptions& import) {
  return Session(import_onnx(model, import), options);
}

}  // namespace tessera
