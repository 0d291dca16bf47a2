#include "tessera/session/planned_network.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/graph/graph.h"
#include "tessera/io/plan_document.h"
#include "tessera/io/samples.h"
#include "tessera/report/table.h"
#include "tessera/session/reference.h"
#include "tessera/targets/registry.h"

#include <utility>

namespace tessera {
namespace {

constexpr std::uint64_t kInputSeed = 0;

std::vector<Array> random_inputs(const Network& network) {
  std::vector<Array> inputs;
  for (const Port& port : network.inputs()) {
    check(port.type.is_static(), Code::invalid_argument,
          Hint{"load the network with the shapes or the dimensions that it leaves open"},
          "input '{}' is {}: a plan needs its shape", port.name, port.type.to_string());
    inputs.push_back(random_array(port.type, kInputSeed + inputs.size()));
  }
  return inputs;
}

void check_inputs(const Network& network, const std::vector<Array>& inputs) {
  const std::vector<Port> ports = network.inputs();
  check(inputs.size() == ports.size(), Code::invalid_argument, "the network has {} inputs, {} were given", ports.size(),
        inputs.size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const TensorType given(inputs[i].type(), inputs[i].shape().dims());
    check(given == ports[i].type, Code::invalid_argument, "input '{}' must be {}, not {}", ports[i].name,
          ports[i].type.to_string(), given.to_string());
  }
}

LoadedNetwork loaded(const Network& network, const std::string& model, std::vector<Array> inputs = {}) {
  if (inputs.empty())
    inputs = random_inputs(network);
  else
    check_inputs(network, inputs);
  const std::string called = model.empty() ? network.name() : model;
  return {.model = called,
          .name = std::filesystem::path(called).stem().string(),
          .graph = network.graph(),
          .inputs = std::move(inputs)};
}

std::string text_of(const View& view) {
  std::string text;
  for (const View::Part& part : view.parts) {
    text += part.text;
    const std::optional<Table>& table = part.people ? part.people : part.table;
    if (table && !(part.people && table->rows().empty())) text += render_text(*table);
    text += part.after;
  }
  return text;
}

}  // namespace

struct SimulatedNetwork::Impl {
  std::unique_ptr<SimulatedRun> run;
  bool values;
};

struct PlannedNetwork::Impl {
  const Target* target;
  Machine machine;
  Network network;
  std::unique_ptr<NetworkPlan> plan;
};

namespace {

SimulatedNetwork simulate(const Target& target, const Machine& machine, const LoadedNetwork& network,
                          const NetworkPlan* plan, const SimulationOptions& options, const PlanningProgress& progress) {
  SimulateRequest request;
  request.values = options.values;
  SimulateHooks hooks;
  hooks.on_progress = [&](std::size_t done, std::size_t all, const std::string& what) {
    if (progress.on_progress) progress.on_progress(done, all, what);
    check(!progress.stop || !progress.stop(), Code::invalid_argument, "the simulation was stopped at {}", what);
  };
  hooks.reference = session_reference();
  return SimulatedNetwork(std::make_shared<SimulatedNetwork::Impl>(
      SimulatedNetwork::Impl{target.simulate(network, plan, machine, request, hooks), options.values}));
}

}  // namespace

SimulatedNetwork::SimulatedNetwork(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

double SimulatedNetwork::seconds() const { return impl_->run->result().trace.seconds; }

const std::vector<Array>& SimulatedNetwork::outputs() const {
  static const std::vector<Array> none;
  return impl_->values ? impl_->run->result().outputs : none;
}

std::string SimulatedNetwork::text() const { return text_of(impl_->run->shown()); }

std::string SimulatedNetwork::json() const {
  const View view = impl_->run->shown();
  return view.json.empty() ? render_json(view.parts.at(view.csv).table.value()) : view.json;
}

void SimulatedNetwork::save_html(const std::filesystem::path& file) const {
  write_file_atomically(file, impl_->run->memory_html());
}
void SimulatedNetwork::save_svg(const std::filesystem::path& file) const {
  write_file_atomically(file, impl_->run->memory_svg());
}
void SimulatedNetwork::save_trace(const std::filesystem::path& file) const {
  write_file_atomically(file, impl_->run->trace_events());
}

PlannedNetwork::PlannedNetwork(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

const Network& PlannedNetwork::network() const { return impl_->network; }
const std::string& PlannedNetwork::machine() const { return impl_->plan->machine(); }
std::int64_t PlannedNetwork::batch() const { return impl_->plan->batch(); }

PlannedTimes PlannedNetwork::times() const {
  const PlanTotals totals = impl_->plan->totals();
  return {.frames = totals.frames, .device_s = totals.device_s, .end_to_end_s = totals.end_to_end_s};
}

std::vector<PlannedStep> PlannedNetwork::steps() const {
  std::vector<PlannedStep> steps;
  for (StepView& step : impl_->plan->steps())
    steps.push_back({.node = std::move(step.node),
                     .op = std::move(step.op),
                     .config = std::move(step.config),
                     .time_s = step.time_s,
                     .bound = std::move(step.bound.resource),
                     .why = std::move(step.why)});
  return steps;
}

std::string PlannedNetwork::text() const { return text_of(impl_->plan->shown()); }
std::string PlannedNetwork::json() const { return encode_plan_document(*impl_->plan); }
std::string PlannedNetwork::explain(const std::string& node) const { return text_of(impl_->plan->explain(node)); }

void PlannedNetwork::save(const std::filesystem::path& file) const { save_plan_document(file, *impl_->plan); }

void PlannedNetwork::save_report(const std::filesystem::path& file) const {
  impl_->target->check_report(file);
  impl_->target->write_reports(*impl_->plan, impl_->machine, {&file, 1});
}

SimulatedNetwork PlannedNetwork::simulate(const SimulationOptions& options, const PlanningProgress& progress) const {
  const LoadedNetwork network = loaded(impl_->network, impl_->plan->model(), options.inputs);
  return tessera::simulate(*impl_->target, impl_->machine, network, impl_->plan.get(), options, progress);
}

PlannedNetwork plan_network(const Network& network, std::string_view device, const PlanRequest& request,
                            const PlanningProgress& progress, const std::string& model) {
  const Machine machine = find_machine(device);
  const Target& target = target_of(machine);
  target.check_request(machine, request);
  check(!request.batches, Code::invalid_argument, Hint{"plan a network of each batch, and compare their times"},
        "a request for several batches makes several plans");
  PlanHooks hooks;
  hooks.on_progress = [&](std::size_t done, std::size_t all, const std::string& what) {
    if (progress.on_progress) progress.on_progress(done, all, what);
  };
  hooks.sample = [&](std::int64_t) { return loaded(network, model); };
  hooks.reference = session_reference();
  hooks.stop = progress.stop;
  auto plan = target.plan(loaded(network, model), machine, request, hooks);
  return PlannedNetwork(
      std::make_shared<PlannedNetwork::Impl>(PlannedNetwork::Impl{&target, machine, network, std::move(plan)}));
}

PlannedNetwork load_plan(const std::filesystem::path& file, const Network& network) {
  ReadPlan read = read_plan(file);
  return with_context("while following " + file.string(), [&] {
    Machine machine = find_machine(read.plan->machine());
    read.target.check_machine(*read.plan, machine);
    read.plan->attach(network.graph(), network.name());
    return PlannedNetwork(std::make_shared<PlannedNetwork::Impl>(
        PlannedNetwork::Impl{&read.target, std::move(machine), network, std::move(read.plan)}));
  });
}

SimulatedNetwork simulate_network(const Network& network, std::string_view device, const SimulationOptions& options,
                                  const PlanningProgress& progress) {
  const Machine machine = find_machine(device);
  return simulate(target_of(machine), machine, loaded(network, {}, options.inputs), nullptr, options, progress);
}

}  // namespace tessera
