#include "tessera/io/plan_file.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/plan_document.h"

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kKind = "tessera plan";
constexpr std::uint64_t kMaxBytes = 256u << 20;

Json step_json(const Plan& plan, std::size_t s) {
  const Step& step = plan.steps[s];
  Json json;
  if (step.node == Step::kConversion) {
    json["convert"] = plan.step_name(s);
  } else {
    const Node& node = plan.graph.nodes[static_cast<std::size_t>(step.node)];
    json["node"] = node.name;
    json["op"] = name(node.op);
    for (const FusedOp& fused : node.fused) json["fused"].push_back(name(fused.op));
    json["kernel"] = step.kernel->name;
  }
  json["estimate_us"] = step.offer.estimate.seconds * 1e6;
  json["bound"] = step.offer.estimate.bound;
  json["flops"] = step.work.flops;
  json["bytes"] = step.work.read_bytes + step.work.write_bytes;
  for (const int b : step.outputs) {
    if (b < 0) continue;
    const PlanBuffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
    Json output = {{"value", plan.graph.value(buffer.value).name},
                   {"type", plan.graph.value(buffer.value).type.to_string()},
                   {"order", name(buffer.order)},
                   {"offset", buffer.offset},
                   {"bytes", buffer.bytes}};
    if (buffer.part_of >= 0) {
      const PlanBuffer& whole = plan.buffers[static_cast<std::size_t>(buffer.part_of)];
      output["part_of"] = plan.graph.value(whole.value).name;
      output["channel"] = buffer.channel;
      output["pixel_bytes"] = buffer.pixel * element_bytes(plan.graph.value(buffer.value).type.type);
    }
    json["outputs"].push_back(std::move(output));
  }
  if (step.in_place) json["in_place"] = true;
  if (step.offer.scratch_bytes > 0) json["scratch_bytes"] = step.offer.scratch_bytes;
  for (const SlowerKernel& slower : step.slower)
    json["slower"].push_back({{"kernel", slower.kernel}, {"estimate_us", slower.estimate.seconds * 1e6}});
  for (const RefusedKernel& refused : step.refused)
    json["refused"].push_back({{"kernel", refused.kernel}, {"reason", refused.reason}});
  return json;
}

}  // namespace

std::string encode_plan_file(std::string_view network, std::span<const std::shared_ptr<const Plan>> plans) {
  Json file;
  file["schema"] = kPlanFileSchema;
  file["kind"] = kKind;
  file["network"] = network;
  file["isa"] = plans.empty() ? "" : name(plans.front()->isa);
  file["threads"] = plans.empty() ? 0 : plans.front()->threads;
  file["stages"] = Json::array();
  for (const auto& plan : plans) {
    Json stage;
    stage["arena_bytes"] = plan->arena_bytes;
    stage["arena_lower_bound_bytes"] = plan->arena_lower_bound_bytes;
    stage["steps"] = Json::array();
    for (std::size_t s = 0; s < plan->steps.size(); ++s) stage["steps"].push_back(step_json(*plan, s));
    file["stages"].push_back(std::move(stage));
  }
  return file.dump(1) + "\n";
}

PlanFile parse_plan_file(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  check(!json.is_discarded() && json.is_object() && json.value("kind", Json()) == kKind, Code::parse,
        Hint{"tessera plan MODEL -o FILE writes one"}, "this is no plan file");
  try {
    const int schema = json.at("schema").get<int>();
    if (schema == kPlanDocumentSchema && json.contains("body")) {  // the whole plan file
      check(json.at("target") == "cpu", Code::invalid_argument, Hint{"tessera run FILE follows it"},
            "the plan is for {}, not for this machine's own processor", json.at("machine").get<std::string>());
      PlanFile file = parse_plan_file(json.at("body").dump());
      file.network_digest = json.value("network_digest", "");
      return file;
    }
    check(schema == kPlanFileSchema, Code::unsupported, "plan files of schema {} are known here, this one has {}",
          kPlanFileSchema, schema);
    PlanFile file;
    file.network = json.at("network").get<std::string>();
    file.isa = json.at("isa").get<std::string>();
    file.threads = json.at("threads").get<int>();
    for (const Json& stage : json.at("stages"))
      for (const Json& step : stage.at("steps"))
        if (step.contains("node"))
          file.kernels.insert_or_assign(step.at("node").get<std::string>(), step.at("kernel").get<std::string>());
    return file;
  } catch (const Json::exception& error) {
    fail(Code::parse, "the plan file lacks something, or has it in another form: {}", error.what());
  }
}

PlanFile load_plan_file(const std::filesystem::path& path) {
  return with_context(fmt::format("while reading {}", path.string()),
                      [&] { return parse_plan_file(read_text_file(path, kMaxBytes)); });
}

}  // namespace tessera
