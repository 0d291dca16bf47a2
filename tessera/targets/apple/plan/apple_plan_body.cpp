// Its part of a plan file.

#include "tessera/io/json_cursor.h"
#include "tessera/targets/apple/plan/apple_plan.h"

#include <nlohmann/json.hpp>

namespace tessera::apple {
namespace {

constexpr double kMostSeconds = 1e12, kMostWork = 1e30;
constexpr std::int64_t kMost = std::int64_t{1} << 53;

double bounded(const io::JsonCursor& at, double most) {
  const double value = at.real();
  check(value <= most, Code::parse, "{} is {:g}, more than {:g}", at.path(), value, most);
  return value;
}

}  // namespace

std::string AppleNetworkPlan::body() const {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const PlannedKernel& k : plan_.kernels)
    kernels.push_back({{"node", k.node},
                       {"op", k.op},
                       {"kernel", k.what},
                       {"result", k.result},
                       {"launches", k.launches},
                       {"flops", k.flops},
                       {"specials", k.specials},
                       {"read_bytes", k.read_bytes},
                       {"written_bytes", k.written_bytes},
                       {"math_s", k.compute_s},
                       {"memory_s", k.memory_s},
                       {"launch_s", k.launch_s}});
  const nlohmann::ordered_json body = {{"model", plan_.model},
                                       {"machine", plan_.machine},
                                       {"machine_digest", plan_.machine_digest},
                                       {"network_digest", plan_.network_digest},
                                       {"model_inputs", plan_.model_inputs},
                                       {"batch", plan_.batch},
                                       {"primitives", plan_.primitives},
                                       {"weight_bytes", plan_.weight_bytes},
                                       {"value_bytes", plan_.value_bytes},
                                       {"input_bytes", plan_.input_bytes},
                                       {"budget_bytes", plan_.budget_bytes},
                                       {"memory_bytes", plan_.memory_bytes},
                                       {"kernels", std::move(kernels)}};
  return body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

ApplePlan parse_apple_plan(std::string_view text) {
  const nlohmann::json json = io::parse_json_object(text, "plan");
  const io::JsonCursor body(json, "body");
  ApplePlan plan;
  plan.model = body.at("model").text();
  plan.machine = body.at("machine").text();
  plan.machine_digest = body.at("machine_digest").text();
  plan.network_digest = body.at("network_digest").text();
  plan.model_inputs = body.at("model_inputs").texts();
  plan.batch = body.at("batch").whole(1, kMost);
  plan.primitives = body.at("primitives").whole(0, kMost);
  plan.weight_bytes = body.at("weight_bytes").whole(0, kMost);
  plan.value_bytes = body.at("value_bytes").whole(0, kMost);
  plan.input_bytes = body.at("input_bytes").whole(0, kMost);
  plan.budget_bytes = body.at("budget_bytes").whole(0, kMost);
  plan.memory_bytes = body.at("memory_bytes").whole(0, kMost);
  for (const io::JsonCursor& item : body.at("kernels").items())
    plan.kernels.push_back({.node = item.at("node").text(),
                            .op = item.at("op").text(),
                            .what = item.at("kernel").text(),
                            .result = item.at("result").text(),
                            .flops = bounded(item.at("flops"), kMostWork),
                            .specials = bounded(item.at("specials"), kMostWork),
                            .read_bytes = bounded(item.at("read_bytes"), static_cast<double>(kMost)),
                            .written_bytes = bounded(item.at("written_bytes"), static_cast<double>(kMost)),
                            .compute_s = bounded(item.at("math_s"), kMostSeconds),
                            .memory_s = bounded(item.at("memory_s"), kMostSeconds),
                            .launch_s = bounded(item.at("launch_s"), kMostSeconds),
                            .launches = item.at("launches").whole(0, kMost)});
  return plan;
}

}  // namespace tessera::apple
