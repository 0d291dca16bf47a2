#include "tessera/c/tessera.h"

#include "tessera/c/internal/guarded.h"
#include "tessera/core/array.h"
#include "tessera/core/error.h"
#include "tessera/io/onnx/import.h"
#include "tessera/session/network.h"
#include "tessera/session/planned_network.h"
#include "tessera/session/session.h"

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::c {

LastError& last_error() {
  thread_local LastError error;
  return error;
}

}  // namespace tessera::c

namespace {

using namespace tessera;
using namespace tessera::c;

static_assert(static_cast<int>(Code::invalid_argument) + 1 == TSR_INVALID_ARGUMENT);
static_assert(static_cast<int>(Code::internal) + 1 == TSR_INTERNAL);
static_assert(static_cast<int>(ElementType::boolean) == TSR_BOOL);
static_assert(static_cast<int>(ElementType::float16) == TSR_FLOAT16);
static_assert(static_cast<int>(ElementType::float32) == TSR_FLOAT32);
static_assert(static_cast<int>(ElementType::uint64) == TSR_UINT64);
static_assert(static_cast<int>(ElementType::uint2) == TSR_UINT2);

ElementType type_of(tsr_type type) {
  const auto value = static_cast<int>(type);
  check(value >= 0 && value <= TSR_UINT2, Code::invalid_argument, "there is no element type {}", value);
  return static_cast<ElementType>(value);
}

tsr_type type_of(ElementType type) { return static_cast<tsr_type>(static_cast<int>(type)); }

std::vector<std::int64_t> dims_of(const std::int64_t* dims, std::size_t rank) {
  if (rank == 0) return {};
  const std::int64_t* first = &required(dims, "dims");
  return {first, first + rank};
}

tsr_port port_of(const std::vector<Port>& ports, std::size_t index, const char* what) {
  check(index < ports.size(), Code::invalid_argument, "there is no {} {}: the network has {}", what, index,
        ports.size());
  const Port& port = ports[index];
  return {port.name.c_str(), type_of(port.type.type), port.type.dims ? static_cast<int>(port.type.dims->size()) : -1,
          port.type.dims ? port.type.dims->data() : nullptr};
}

static_assert(TensorType::kUnknown == -1, "as the header says of open dimensions");

}  // namespace

struct tsr_array {
  Array array;

  // What is still in a file is read here, where it may fail.
  explicit tsr_array(Array given) : array(std::move(given)) { array.bytes(); }
};

struct tsr_network {
  Network network;
  std::string model;
  std::vector<Port> inputs, outputs;

  tsr_network(Network given, std::string name)
      : network(std::move(given)), model(std::move(name)), inputs(network.inputs()), outputs(network.outputs()) {}
};

struct tsr_session {
  Session session;
};

struct tsr_plan {
  PlannedNetwork plan;
  PlannedTimes times;
  std::vector<PlannedStep> steps;
  std::string text, json;

  explicit tsr_plan(PlannedNetwork given)
      : plan(std::move(given)), times(plan.times()), steps(plan.steps()), text(plan.text()), json(plan.json()) {}
};

struct tsr_simulation {
  double seconds;
  std::string text;
  std::vector<tsr_array> outputs;

  explicit tsr_simulation(const SimulatedNetwork& simulated) : seconds(simulated.seconds()), text(simulated.text()) {
    for (const Array& output : simulated.outputs()) outputs.emplace_back(output);
  }
};

namespace {

std::vector<Array> arrays_of(const tsr_array* const* arrays, std::size_t count) {
  std::vector<Array> out;
  if (count > 0) required(arrays, "inputs");
  for (std::size_t i = 0; i < count; ++i) out.push_back(required(arrays[i], "an input").array);
  return out;
}

}  // namespace

const char* tsr_error_message(void) { return last_error().message.c_str(); }
const char* tsr_error_context(void) { return last_error().context.c_str(); }
const char* tsr_error_hint(void) { return last_error().hint.c_str(); }

const char* tsr_status_name(tsr_status status) {
  if (status == TSR_OK) return "ok";
  if (status < TSR_OK || status > TSR_INTERNAL) return "unknown";
  return name(static_cast<Code>(static_cast<int>(status) - 1)).data();
}

const char* tsr_version(void) { return TESSERA_VERSION; }

tsr_status tsr_array_create(tsr_type type, const int64_t* dims, size_t rank, const void* bytes, size_t byte_count,
                            tsr_array** array) {
  return guarded([&] {
    tsr_array*& out = required(array, "array");
    Array made(type_of(type), Shape(dims_of(dims, rank)));
    check(bytes == nullptr || byte_count == made.bytes().size(), Code::invalid_argument,
          "{} takes {} bytes, {} were given", made.to_string(), made.bytes().size(), byte_count);
    if (bytes != nullptr && byte_count > 0) std::memcpy(made.bytes().data(), bytes, byte_count);
    out = new tsr_array(std::move(made));
  });
}

tsr_type tsr_array_type(const tsr_array* array) { return type_of(array->array.type()); }
size_t tsr_array_rank(const tsr_array* array) { return array->array.shape().dims().size(); }
const int64_t* tsr_array_dims(const tsr_array* array) { return array->array.shape().dims().data(); }
size_t tsr_array_byte_count(const tsr_array* array) { return array->array.bytes().size(); }
const void* tsr_array_bytes(const tsr_array* array) { return array->array.bytes().data(); }
void* tsr_array_data(tsr_array* array) { return array->array.bytes().data(); }
void tsr_array_free(tsr_array* array) { delete array; }

tsr_status tsr_network_load(const char* file, const tsr_shape* shapes, size_t shape_count, tsr_network** network) {
  return guarded([&] {
    tsr_network*& out = required(network, "network");
    const std::string model = text_of(file, "file");
    ImportOptions options;
    for (const tsr_shape& shape : std::span(shape_count == 0 ? nullptr : &required(shapes, "shapes"), shape_count))
      options.shapes[text_of(shape.name, "the name of a shape")] = dims_of(shape.dims, shape.rank);
    out = new tsr_network(load_network(model, options), model);
  });
}

tsr_status tsr_network_zoo(const char* name, int64_t batch, tsr_network** network) {
  return guarded([&] {
    tsr_network*& out = required(network, "network");
    const std::string model = text_of(name, "name");
    out = new tsr_network(zoo_network(model, batch), model);
  });
}

size_t tsr_network_input_count(const tsr_network* network) { return network->inputs.size(); }
size_t tsr_network_output_count(const tsr_network* network) { return network->outputs.size(); }

tsr_status tsr_network_input(const tsr_network* network, size_t index, tsr_port* port) {
  return guarded([&] { required(port, "port") = port_of(required(network, "network").inputs, index, "input"); });
}

tsr_status tsr_network_output(const tsr_network* network, size_t index, tsr_port* port) {
  return guarded([&] { required(port, "port") = port_of(required(network, "network").outputs, index, "output"); });
}

void tsr_network_free(tsr_network* network) { delete network; }

void tsr_session_options_init(tsr_session_options* options) {
  *options = {sizeof(tsr_session_options), 0, TSR_FLOAT32, 0, 0};
}

tsr_status tsr_session_create(const tsr_network* network, const tsr_session_options* options, tsr_session** session) {
  return guarded([&] {
    tsr_session*& out = required(session, "session");
    const tsr_session_options given = options_of(options, tsr_session_options_init);
    check(given.threads >= 0, Code::invalid_argument, "{} threads cannot run anything", given.threads);
    check(given.memory_limit_bytes >= 0, Code::invalid_argument, "memory_limit_bytes is {}", given.memory_limit_bytes);
    SessionOptions made;
    made.threads = given.threads;
    made.storage = type_of(given.storage);
    made.exact = given.exact != 0;
    if (given.memory_limit_bytes > 0) made.memory_limit_bytes = given.memory_limit_bytes;
    out = new tsr_session{Session(required(network, "network").network, made)};
  });
}

tsr_status tsr_session_run(const tsr_session* session, const tsr_array* const* inputs, size_t input_count,
                           tsr_array** outputs, size_t output_count) {
  return guarded([&] {
    const Session& runs = required(session, "session").session;
    const std::size_t expected = runs.outputs().size();
    check(output_count == expected, Code::invalid_argument, "there is room for {} outputs, and the network has {}",
          output_count, expected);
    if (expected > 0) required(outputs, "outputs");
    std::vector<std::unique_ptr<tsr_array>> made;
    for (Array& output : runs.run(arrays_of(inputs, input_count)))
      made.push_back(std::make_unique<tsr_array>(std::move(output)));
    for (std::size_t i = 0; i < made.size(); ++i) outputs[i] = made[i].release();
  });
}

void tsr_session_free(tsr_session* session) { delete session; }

void tsr_plan_options_init(tsr_plan_options* options) { *options = {sizeof(tsr_plan_options), 0, 0, 0}; }

tsr_status tsr_plan_create(const tsr_network* network, const char* device, const tsr_plan_options* options,
                           tsr_plan** plan) {
  return guarded([&] {
    tsr_plan*& out = required(plan, "plan");
    const tsr_network& planned = required(network, "network");
    const tsr_plan_options given = options_of(options, tsr_plan_options_init);
    check(given.budget_s >= 0 && given.min_pcc >= 0 && given.min_pcc <= 1, Code::invalid_argument,
          "budget_s is {} and min_pcc is {}", given.budget_s, given.min_pcc);
    PlanRequest request;
    if (given.budget_s > 0) request.budget_s = given.budget_s;
    if (given.min_pcc > 0) request.min_pcc = given.min_pcc;
    request.partial = given.partial != 0;
    out = new tsr_plan(plan_network(planned.network, text_of(device, "device"), request, {}, planned.model));
  });
}

tsr_status tsr_plan_load(const char* file, const tsr_network* network, tsr_plan** plan) {
  return guarded([&] {
    tsr_plan*& out = required(plan, "plan");
    out = new tsr_plan(load_plan(text_of(file, "file"), required(network, "network").network));
  });
}

tsr_plan_times tsr_plan_get_times(const tsr_plan* plan) {
  return {plan->times.frames, plan->times.device_s, plan->times.end_to_end_s};
}

size_t tsr_plan_step_count(const tsr_plan* plan) { return plan->steps.size(); }

tsr_status tsr_plan_get_step(const tsr_plan* plan, size_t index, tsr_plan_step* step) {
  return guarded([&] {
    const std::vector<PlannedStep>& steps = required(plan, "plan").steps;
    check(index < steps.size(), Code::invalid_argument, "there is no step {}: the plan has {}", index, steps.size());
    const PlannedStep& found = steps[index];
    required(step, "step") = {found.node.c_str(), found.op.c_str(), found.config.c_str(), found.bound.c_str(),
                              found.time_s};
  });
}

const char* tsr_plan_text(const tsr_plan* plan) { return plan->text.c_str(); }
const char* tsr_plan_json(const tsr_plan* plan) { return plan->json.c_str(); }

tsr_status tsr_plan_save(const tsr_plan* plan, const char* file) {
  return guarded([&] { required(plan, "plan").plan.save(text_of(file, "file")); });
}

tsr_status tsr_plan_save_report(const tsr_plan* plan, const char* file) {
  return guarded([&] { required(plan, "plan").plan.save_report(text_of(file, "file")); });
}

void tsr_plan_free(tsr_plan* plan) { delete plan; }

tsr_status tsr_plan_simulate(const tsr_plan* plan, const tsr_array* const* inputs, size_t input_count, int values,
                             tsr_simulation** simulation) {
  return guarded([&] {
    tsr_simulation*& out = required(simulation, "simulation");
    SimulationOptions options;
    options.values = values != 0;
    options.inputs = arrays_of(inputs, input_count);
    out = new tsr_simulation(required(plan, "plan").plan.simulate(options));
  });
}

double tsr_simulation_seconds(const tsr_simulation* simulation) { return simulation->seconds; }
const char* tsr_simulation_text(const tsr_simulation* simulation) { return simulation->text.c_str(); }
size_t tsr_simulation_output_count(const tsr_simulation* simulation) { return simulation->outputs.size(); }

const tsr_array* tsr_simulation_output(const tsr_simulation* simulation, size_t index) {
  return index < simulation->outputs.size() ? &simulation->outputs[index] : nullptr;
}

void tsr_simulation_free(tsr_simulation* simulation) { delete simulation; }
