#include "tessera/targets/tensix/plan/card_plan_file.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/json_cursor.h"
#include "tessera/machine/machine_digest.h"
#include "tessera/targets/tensix/plan/card_plan_json.h"
#include "tessera/targets/tensix/plan/digest.h"

namespace tessera::tensix {
namespace {

using tensix::CardPlan;

constexpr std::string_view kCardPlanKind = "tessera card plan";
constexpr std::uint64_t kMostPlanBytes = 256u << 20;

const char* kWritesCardPlans = "tessera plan MODEL --device wormhole_n150 -o FILE writes one";

}  // namespace

std::string encode_card_plan(const CardPlan& plan) {
  nlohmann::ordered_json file;
  file["schema"] = CardPlan::kSchema;
  file["kind"] = kCardPlanKind;
  write_card_plan(plan, file);
  return io::json_text(file);
}

void save_card_plan(const std::filesystem::path& path, const CardPlan& plan) {
  write_file_atomically(path, encode_card_plan(plan));
}

CardPlan parse_card_plan(std::string_view text) {
  const nlohmann::json json = io::parse_json_object(text, "card plan");
  const io::JsonCursor file(json, "");
  const auto kind = file.find("kind");
  if (kind && kind->json() == "tessera plan" && file.find("body") && file.at("target").json() == "tensix")
    return parse_card_plan(file.at("body").json().dump());  // the whole plan file (io/plan_document.h)
  if (!kind || kind->json() != kCardPlanKind)
    fail(Code::parse, Hint{kWritesCardPlans}, "this is no plan for a card: \"kind\" is {}{}",
         kind ? kind->found() : "missing",
         kind && kind->json() == "tessera plan" ? ", a plan for this machine's own processor" : "");
  const std::int64_t schema = file.at("schema").whole();
  check(schema <= CardPlan::kSchema, Code::unsupported,
        Hint{"a newer tessera reads it; planning again with this one writes a file of its own"},
        "the plan has schema {}, card plans up to schema {} are known here", schema, CardPlan::kSchema);
  check(schema == CardPlan::kSchema, Code::unsupported, "there has never been a card plan of schema {}", schema);
  return read_card_plan(file);
}

CardPlan load_card_plan(const std::filesystem::path& path) {
  return with_context(fmt::format("while reading {}", path.string()),
                      [&] { return parse_card_plan(read_text_file(path, kMostPlanBytes)); });
}

void check_machine(const CardPlan& plan, const Machine& machine) {
  check_planned_machine(plan.machine, plan.machine_digest, machine);
}

void check_network(const CardPlan& plan, const tensix::LoweredGraph& network) {
  const std::string digest = tensix::network_digest(network);
  check(plan.network_digest == digest, Code::invalid_argument,
        Hint{"plan again for the network as it is now; weights may change, operators and shapes may not"},
        "network '{}' has changed since it was planned: it has digest {}, the plan was made with {}", plan.model,
        digest, plan.network_digest);
}

}  // namespace tessera::tensix
