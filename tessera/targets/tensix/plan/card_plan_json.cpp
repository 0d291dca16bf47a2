#include "tessera/targets/tensix/plan/card_plan_json.h"

#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <utility>

namespace tessera::tensix {
namespace {

using tensix::CardPlan;
using tensix::CardPlanRequest;
using tensix::Objective;
using tensix::Pin;
using tensix::Placement;
using tensix::PlannedMove;
using tensix::PlannedStep;
using tensix::StepTime;
using tensix::TimeBasis;
using tensix::WeighedConfig;
using PlanJson = nlohmann::ordered_json;
using Keys = std::initializer_list<std::string_view>;

void only(const io::JsonCursor& json, Keys keys) { json.only({keys.begin(), keys.size()}); }

double real(double value, std::string_view what) {
  check(std::isfinite(value), Code::invalid_argument, "the plan's {} is {}, which a file cannot say", what, value);
  return value == 0 ? 0.0 : value;  // not -0
}

// To a picosecond: what is beyond tells nothing, and keeps people from reading.
PlanJson ns_json(double ns, std::string_view what) {
  constexpr double kPerNs = 1000, kLargest = 1e12;
  const double exact = real(ns, what);
  return std::abs(exact) < kLargest ? std::round(exact * kPerNs) / kPerNs : exact;
}

template <class T>
std::span<const T> words(const std::initializer_list<T>& values) {
  return {values.begin(), values.size()};
}

PlanJson time_json(const StepTime& time) {
  PlanJson json;
  json["ns"] = ns_json(time.ns, "time");
  json["bound_by"] = name(time.bound_by);
  json["roof_ns"] = ns_json(time.roof_ns, "roof");
  json["basis"] = name(time.basis);
  PlanJson parts = PlanJson::object();
  for (const TimePart part : kTimeParts)
    if (const PlanJson ns = ns_json(time.*busy_field(part), name(part)); ns != 0) parts[std::string(name(part))] = ns;
  json["busy_ns"] = std::move(parts);
  return json;
}

StepTime read_time(const io::JsonCursor& json) {
  only(json, {"ns", "bound_by", "roof_ns", "basis", "busy_ns"});
  StepTime time;
  time.ns = json.at("ns").real();
  time.roof_ns = json.at("roof_ns").real();
  time.basis = json.at("basis").word(words({TimeBasis::fitted, TimeBasis::scaled, TimeBasis::assumed}));
  time.bound_by = json.at("bound_by").word(std::span<const TimePart>(kTimeParts));
  const io::JsonCursor busy = json.at("busy_ns");
  std::vector<std::string_view> names;
  for (const TimePart part : kTimeParts) {
    names.push_back(name(part));
    if (const auto value = busy.find(name(part))) time.*busy_field(part) = value->real();
  }
  busy.only(names);
  return time;
}

// Whole numbers of a step's prediction, by their names in the file.
struct Count {
  std::string_view name;
  std::int64_t tensix::SimulatedStep::* value;
};
constexpr std::array kCounts{
    Count{"cores", &tensix::SimulatedStep::cores},
    Count{"programs", &tensix::SimulatedStep::programs},
    Count{"circular_buffer_bytes", &tensix::SimulatedStep::circular_buffer_bytes},
    Count{"halo_bytes", &tensix::SimulatedStep::halo_bytes},
    Count{"output_bytes", &tensix::SimulatedStep::output_bytes},
    Count{"l1_peak_bytes", &tensix::SimulatedStep::l1_peak_bytes},
    Count{"l1_small_bytes", &tensix::SimulatedStep::l1_small_bytes},
};

PlanJson predicted_json(const PlannedStep& step) {
  const tensix::SimulatedStep& p = step.predicted;
  PlanJson json;
  if (p.node != step.node) json["node"] = p.node;
  if (p.op != step.op) json["op"] = p.op;
  json["config"] = p.config;
  json["result"] = p.result;
  for (const Count& count : kCounts) json[std::string(count.name)] = p.*count.value;
  if (p.act_block_h > 0) json["act_block_h"] = p.act_block_h;
  if (p.reshards_input) json["reshards_input"] = true;
  json["time"] = time_json(p.time);
  if (!p.note.empty()) json["note"] = p.note;
  return json;
}

tensix::SimulatedStep read_predicted(const io::JsonCursor& json, const PlannedStep& step) {
  std::vector<std::string_view> keys{"node", "op", "config", "result", "act_block_h", "reshards_input", "time", "note"};
  tensix::SimulatedStep p;
  for (const Count& count : kCounts) {
    keys.push_back(count.name);
    p.*count.value = json.at(count.name).whole();
  }
  json.only(keys);
  const auto node = json.find("node"), op = json.find("op"), note = json.find("note");
  p.node = node ? node->text() : step.node;
  p.op = op ? op->text() : step.op;
  p.config = json.at("config").text();
  p.result = json.at("result").text();
  if (const auto rows = json.find("act_block_h")) p.act_block_h = rows->whole();
  if (const auto reshards = json.find("reshards_input")) p.reshards_input = reshards->flag();
  p.time = read_time(json.at("time"));
  if (note) p.note = note->text();
  return p;
}

PlanJson move_json(const PlannedMove& move) {
  PlanJson json;
  json["kind"] = name(move.kind);
  json["value"] = move.value;
  json["to"] = memory_config_json(move.to);
  json["ns"] = ns_json(move.ns, "time of a move");
  json["l1_peak_bytes"] = move.l1_peak_bytes;
  json["why"] = move.why;
  return json;
}

PlannedMove read_move(const io::JsonCursor& json) {
  only(json, {"kind", "value", "to", "ns", "l1_peak_bytes", "why"});
  const auto peak = json.find("l1_peak_bytes");
  using Kind = PlannedMove::Kind;
  return {json.at("kind").word(words({Kind::spill, Kind::restore, Kind::reshard, Kind::slide})),
          json.at("value").text(),
          read_memory_config(json.at("to")),
          json.at("ns").real(),
          json.at("why").text(),
          peak ? peak->whole() : 0};
}

PlanJson alternative_json(const WeighedConfig& other) {
  PlanJson json;
  json["config"] = other.config;
  if (!other.refusal.empty()) json["refusal"] = other.refusal;
  if (other.ns != 0) json["ns"] = ns_json(other.ns, "time of an alternative");
  json["l1_bytes"] = other.l1_bytes;
  if (other.chosen) json["chosen"] = true;
  return json;
}

WeighedConfig read_alternative(const io::JsonCursor& json) {
  only(json, {"config", "refusal", "ns", "l1_bytes", "chosen"});
  const auto refusal = json.find("refusal"), ns = json.find("ns"), chosen = json.find("chosen");
  return {json.at("config").text(), refusal ? refusal->text() : "", ns ? ns->real() : 0, json.at("l1_bytes").whole(),
          chosen && chosen->flag()};
}

PlanJson step_json(const PlannedStep& step) {
  PlanJson json;
  json["node"] = step.node;
  json["op"] = step.op;
  json["config"] = PlanJson::parse(layer_config_json(step.config));
  json["moves"] = PlanJson::array();
  for (const PlannedMove& move : step.moves) json["moves"].push_back(move_json(move));
  json["reads"] = step.reads;
  json["makes"] = step.makes;
  json["frees"] = step.frees;
  json["result"] = {{"shape", step.result.shape.dims()},
                    {"dtype", name(step.result.dtype)},
                    {"layout", name(step.result.layout)},
                    {"memory", memory_config_json(step.result.memory)}};
  json["predicted"] = predicted_json(step);
  if (step.pcc) json["pcc"] = real(*step.pcc, "PCC");
  json["why"] = step.why;
  json["alternatives"] = PlanJson::array();
  for (const WeighedConfig& other : step.alternatives) json["alternatives"].push_back(alternative_json(other));
  return json;
}

Placement read_placement(const io::JsonCursor& json) {
  only(json, {"shape", "dtype", "layout", "memory"});
  return {read_shape(json.at("shape")), json.at("dtype").word(all_dtypes()),
          json.at("layout").word(words({Layout::row_major, Layout::tile})), read_memory_config(json.at("memory"))};
}

PlannedStep read_step(const io::JsonCursor& json) {
  only(json, {"node", "op", "config", "moves", "reads", "makes", "frees", "result", "predicted", "pcc", "why",
              "alternatives"});
  PlannedStep step;
  step.node = json.at("node").text();
  const io::JsonCursor op = json.at("op");
  step.op = op.text();
  const auto role = call_role(step.op);
  check(role.has_value(), Code::parse, "{} is {}, which is no operator of the card", op.path(), op.found());
  step.role = *role;
  const io::JsonCursor config = json.at("config");
  step.config = with_context("at " + config.path(), [&] { return tensix::parse_layer_config(config.json().dump()); });
  for (const io::JsonCursor& move : json.at("moves").items()) step.moves.push_back(read_move(move));
  step.reads = json.at("reads").texts();
  step.makes = json.at("makes").text();
  step.frees = json.at("frees").texts();
  step.result = read_placement(json.at("result"));
  step.predicted = read_predicted(json.at("predicted"), step);
  if (const auto pcc = json.find("pcc")) step.pcc = pcc->real(-1);
  step.why = json.at("why").text();
  for (const io::JsonCursor& other : json.at("alternatives").items())
    step.alternatives.push_back(read_alternative(other));
  return step;
}

PlanJson request_json(const CardPlanRequest& request) {
  PlanJson json;
  json["objective"] = name(request.objective);
  json["min_pcc"] = real(request.min_pcc, "least PCC");
  if (request.max_reshards) json["max_reshards"] = *request.max_reshards;
  json["pins"] = PlanJson::array();
  for (const Pin& pin : request.pins)
    json["pins"].push_back({{"nodes", pin.nodes}, {"field", pin.field}, {"value", pin.value}});
  json["l1_small_bytes"] = request.l1_small_bytes;
  json["metal_trace"] = request.metal_trace;
  json["command_queues"] = request.command_queues;
  json["mesh"] = request.mesh;
  json["budget_s"] = real(request.budget_s, "budget");
  json["partial"] = request.partial;
  return json;
}

CardPlanRequest read_request(const io::JsonCursor& json) {
  only(json, {"objective", "min_pcc", "max_reshards", "pins", "l1_small_bytes", "metal_trace", "command_queues", "mesh",
              "budget_s", "partial"});
  CardPlanRequest request;
  request.objective = json.at("objective").word(words({Objective::device, Objective::end_to_end}));
  request.min_pcc = json.at("min_pcc").real(-1);
  if (const auto most = json.find("max_reshards")) request.max_reshards = most->whole();
  for (const io::JsonCursor& pin : json.at("pins").items()) {
    only(pin, {"nodes", "field", "value"});
    request.pins.push_back({pin.at("nodes").text(), pin.at("field").text(), pin.at("value").text()});
  }
  request.l1_small_bytes = json.at("l1_small_bytes").whole();
  request.metal_trace = json.at("metal_trace").flag();
  request.command_queues = static_cast<int>(json.at("command_queues").whole(1, 2));
  request.mesh = json.at("mesh").whole(1, 1024);
  request.budget_s = json.at("budget_s").real();
  request.partial = json.at("partial").flag();
  return request;
}

}  // namespace

void write_card_plan(const CardPlan& plan, PlanJson& file) {
  file["model"] = plan.model;
  file["inputs"] = plan.model_inputs;
  file["batch"] = plan.batch;
  file["folded_inputs"] = plan.folded_inputs;
  if (plan.pass_images > 0) file["pass_images"] = plan.pass_images;
  if (plan.grouped_images > 1) file["grouped_images"] = plan.grouped_images;
  file["placed_inputs"] = PlanJson::array();
  for (const CardPlan::Input& input : plan.placed_inputs)
    file["placed_inputs"].push_back({{"value", input.value}, {"memory", memory_config_json(input.memory)}});
  file["network_digest"] = plan.network_digest;
  file["machine"] = plan.machine;
  file["machine_digest"] = plan.machine_digest;
  file["request"] = request_json(plan.request);
  if (plan.interrupted)
    file["search"] = {{"interrupted", true}, {"weighed", plan.interrupted->weighed}, {"of", plan.interrupted->of}};
  file["replay"] = {{"metal_trace", plan.metal_trace},
                    {"command_queues", plan.command_queues},
                    {"separate_transfers", plan.separate_transfers}};
  PlanJson predicted;
  predicted["kernels_ns"] = ns_json(plan.kernels_ns, "time of kernels");
  predicted["device_ns"] = ns_json(plan.device_ns, "time on the device");
  predicted["end_to_end_ns"] = ns_json(plan.end_to_end_ns, "time end to end");
  if (plan.latency_ns > 0) predicted["latency_ns"] = ns_json(plan.latency_ns, "time to the first results");
  predicted["programs"] = plan.programs;
  predicted["l1_peak_bytes"] = plan.l1_peak_bytes;
  predicted["l1_limit_bytes"] = plan.l1_limit_bytes;
  if (plan.pcc) predicted["pcc"] = real(*plan.pcc, "PCC");
  file["predicted"] = std::move(predicted);
  file["steps"] = PlanJson::array();
  for (const PlannedStep& step : plan.steps) file["steps"].push_back(step_json(step));
}

CardPlan read_card_plan(const io::JsonCursor& file) {
  only(file,
       {"schema", "kind", "model", "inputs", "batch", "folded_inputs", "pass_images", "grouped_images", "placed_inputs",
        "network_digest", "machine", "machine_digest", "request", "search", "replay", "predicted", "steps"});
  CardPlan plan;
  plan.model = file.at("model").text();
  plan.model_inputs = file.at("inputs").texts();
  plan.batch = file.at("batch").whole(1);
  plan.folded_inputs = file.at("folded_inputs").texts();
  if (const auto images = file.find("pass_images")) plan.pass_images = images->whole(1);
  if (const auto images = file.find("grouped_images")) plan.grouped_images = images->whole(1);
  for (const io::JsonCursor& input : file.at("placed_inputs").items()) {
    only(input, {"value", "memory"});
    plan.placed_inputs.push_back({input.at("value").text(), read_memory_config(input.at("memory"))});
  }
  plan.network_digest = file.at("network_digest").text();
  plan.machine = file.at("machine").text();
  plan.machine_digest = file.at("machine_digest").text();
  plan.request = read_request(file.at("request"));
  if (const auto search = file.find("search")) {
    only(*search, {"interrupted", "weighed", "of"});
    if (search->at("interrupted").flag()) plan.interrupted = {search->at("weighed").whole(), search->at("of").whole()};
  }
  const io::JsonCursor replay = file.at("replay");
  only(replay, {"metal_trace", "command_queues", "separate_transfers"});
  plan.metal_trace = replay.at("metal_trace").flag();
  plan.command_queues = static_cast<int>(replay.at("command_queues").whole(1, 2));
  plan.separate_transfers = replay.at("separate_transfers").flag();
  const io::JsonCursor predicted = file.at("predicted");
  only(predicted, {"kernels_ns", "device_ns", "end_to_end_ns", "latency_ns", "programs", "l1_peak_bytes",
                   "l1_limit_bytes", "pcc"});
  plan.kernels_ns = predicted.at("kernels_ns").real();
  plan.device_ns = predicted.at("device_ns").real();
  plan.end_to_end_ns = predicted.at("end_to_end_ns").real();
  if (const auto latency = predicted.find("latency_ns")) plan.latency_ns = latency->real();
  plan.programs = predicted.at("programs").whole();
  plan.l1_peak_bytes = predicted.at("l1_peak_bytes").whole();
  plan.l1_limit_bytes = predicted.at("l1_limit_bytes").whole();
  if (const auto pcc = predicted.find("pcc")) plan.pcc = pcc->real(-1);
  for (const io::JsonCursor& step : file.at("steps").items()) plan.steps.push_back(read_step(step));
  return plan;
}

}  // namespace tessera::tensix
