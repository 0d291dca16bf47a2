#include "tessera/io/plan_document.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/json_cursor.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPlanKind = "tessera plan", kOldCardKind = "tessera card plan";
constexpr std::uint64_t kMostDocumentBytes = 512u << 20;
constexpr double kPicosecondsPerSecond = 1e12;

// To a picosecond, so that the same plan gives the same bytes wherever it was read from.
double ns_of(double seconds) { return std::round(seconds * kPicosecondsPerSecond) / 1000; }

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json alternative_json(const Alternative& other) {
  Json json = {{"config", other.config}};
  if (other.time_s) json["time_ns"] = ns_of(*other.time_s);
  if (other.refusal) {
    json["refusal"] = other.refusal->reason();
    if (other.refusal->shortage != Shortage::none) json["shortage"] = name(other.refusal->shortage);
  }
  if (other.memory_bytes > 0) json["memory_bytes"] = other.memory_bytes;
  if (other.chosen) json["chosen"] = true;
  return json;
}

Json step_json(const StepView& step, const std::vector<MoveView>& moves, std::size_t at) {
  Json json = {{"node", step.node},
               {"op", step.op},
               {"config", step.config},
               {"result", step.result},
               {"time_ns", ns_of(step.time_s)},
               {"basis", name(step.basis)},
               {"bound_by", step.bound.resource},
               {"roof_fraction", step.bound.roof_fraction},
               {"read_bytes", maybe(step.read_bytes)},
               {"written_bytes", maybe(step.written_bytes)},
               {"memory_peak_bytes", step.memory_peak_bytes},
               {"pcc", maybe(step.pcc)},
               {"why", step.why},
               {"moves", Json::array()},
               {"alternatives", Json::array()}};
  for (const MoveView& move : moves)
    if (move.before_step == at)
      json["moves"].push_back({{"kind", move.kind},
                               {"value", move.value},
                               {"to", move.to},
                               {"time_ns", ns_of(move.time_s)},
                               {"why", move.why}});
  for (const Alternative& other : step.alternatives) json["alternatives"].push_back(alternative_json(other));
  return json;
}

Json totals_json(const PlanTotals& totals) {
  return {{"frames", totals.frames},
          {"kernels_ns", ns_of(totals.kernels_s)},
          {"moves_ns", ns_of(totals.moves_s)},
          {"device_ns", ns_of(totals.device_s)},
          {"end_to_end_ns", ns_of(totals.end_to_end_s)},
          {"latency_ns", ns_of(totals.latency_s)}};
}

}  // namespace

std::string encode_plan_document(const NetworkPlan& plan) {
  Json out = {{"schema", kPlanDocumentSchema},
              {"kind", kPlanKind},
              {"target", plan.family()},
              {"machine", plan.machine()},
              {"machine_digest", plan.machine_digest()},
              {"model", plan.model()},
              {"model_inputs", plan.model_inputs()},
              {"network_digest", plan.network_digest()},
              {"batch", plan.batch()},
              {"totals", totals_json(plan.totals())},
              {"memory", Json::array()},
              {"accuracy", {{"pcc", maybe(plan.accuracy().pcc)}}},
              {"stopped", nullptr},
              {"steps", Json::array()}};
  if (const auto stopped = plan.stopped()) out["stopped"] = {{"weighed", stopped->weighed}, {"of", stopped->of}};
  for (const MemoryUse& memory : plan.memory())
    out["memory"].push_back(
        {{"memory", memory.memory}, {"peak_bytes", memory.peak_bytes}, {"limit_bytes", maybe(memory.limit_bytes)}});
  const std::vector<StepView> steps = plan.steps();
  const std::vector<MoveView> moves = plan.moves();
  for (std::size_t s = 0; s < steps.size(); ++s) out["steps"].push_back(step_json(steps[s], moves, s));
  out["body"] = Json::parse(plan.body());
  return io::json_text(out);
}

void save_plan_document(const std::filesystem::path& path, const NetworkPlan& plan) {
  write_file_atomically(path, encode_plan_document(plan));
}

PlanDocument parse_plan_document(std::string_view text) {
  const nlohmann::json json = io::parse_json_object(text, "plan");
  const io::JsonCursor file(json, "");
  const auto kind = file.find("kind");
  check(kind && (kind->json() == kPlanKind || kind->json() == kOldCardKind), Code::parse,
        Hint{"tessera plan MODEL --device wormhole_n150 -o FILE writes one"}, "this is no plan: \"kind\" is {}",
        kind ? kind->found() : "missing");
  if (kind->json() == kOldCardKind) return {"tensix", std::string(text)};
  const std::int64_t schema = file.at("schema").whole();
  check(schema <= kPlanDocumentSchema, Code::unsupported,
        Hint{"a newer tessera reads it; planning again with this one writes a file of its own"},
        "the plan has schema {}, plans up to schema {} are known here", schema, kPlanDocumentSchema);
  if (schema < kPlanDocumentSchema) return {"cpu", std::string(text)};
  return {file.at("target").text(), file.at("body").json().dump()};
}

PlanDocument load_plan_document(const std::filesystem::path& path) {
  return parse_plan_document(read_text_file(path, kMostDocumentBytes));
}

bool looks_like_plan(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  char c = ' ';
  while (file.get(c))
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return c == '{';
  return false;
}

}  // namespace tessera
