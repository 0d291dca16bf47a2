#include "tessera/targets/tensix/ops/call_role.h"

#include "tessera/targets/tensix/ops/card_op.h"

namespace tessera::tensix {
namespace {

constexpr std::string_view kOnHost = " (host)";

}  // namespace

std::string host_step_name(std::string_view graph_operator) { return std::string(graph_operator).append(kOnHost); }

std::optional<CallRole> call_role(std::string_view step_name) {
  for (const CardOp* op : card_ops()) {
    if (op->named_role != nullptr) {
      if (const auto role = op->named_role(step_name)) return role;
    } else if (name(op->kind) == step_name) {
      return op->role;
    }
  }
  if (step_name.ends_with(kOnHost)) return CallRole::host;
  return std::nullopt;
}

}  // namespace tessera::tensix
