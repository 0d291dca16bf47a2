#pragma once

// One row for each operator of the card: all that lowering, simulation, pricing, plans and emission ask of an operator.
// The row stands in the operator's room (ops/<op>/<op>_op.cpp); card/card_ops.def lists them.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/program_work.h"
#include "tessera/targets/tensix/ops/call_role.h"
#include "tessera/targets/tensix/ops/lowering.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::tensix {

class DeviceTensor;
class NodeRun;
class TtnnCall;
struct TensorWork;

struct CardOp {
  ProgramKind kind;

  // --- the price ---
  // Fills in what a program does on its busiest core, from its tensors (ops/tensor_work.h). Null: only the operator's
  // plan can say, and a program that left it out is refused by who prices it.
  void (*count)(TensorWork& work) = nullptr;

  // --- networks: null where no node of a graph becomes this operator ---
  // The node as this operator; none: it is not for this one. Rows are asked in the order of card_ops.def.
  std::optional<Lowered> (*lower)(const Node& node, Lowering& graph) = nullptr;
  bool reads_flattened = false;  // images whose pixels are columns, too
  bool any_columns = false;      // values whose columns are not dimension 1, too; others are moved first
  // TTNN's name; null: that of the kind.
  std::string (*ttnn_name)(const CardLayer& layer) = nullptr;
  CallRole role = CallRole::computes;
  // Where `ttnn_name` is given: the role of each name that it may say; none for others.
  std::optional<CallRole> (*named_role)(std::string_view ttnn_name) = nullptr;
  // All that its plan and its time depend on besides the types of its values; null: nothing.
  std::string (*digest)(const CardLayer& layer) = nullptr;
  DeviceTensor (*run)(const CardLayer& layer, NodeRun& node) = nullptr;
  // The lines of a TTNN script that make its result.
  std::string (*emit)(const CardLayer& layer, TtnnCall& call) = nullptr;
  bool takes_memory_config = false;  // the call itself puts its result into DRAM

  // --- batches ---
  // Whether every image goes its own way; null: it does.
  bool (*keeps_images_apart)(const CardLayer& layer) = nullptr;
  // For another number of images; null: it does not know the number.
  void (*set_images)(CardLayer& layer, std::int64_t images) = nullptr;
  // Whether images can go side by side in channels, and for so many of them; null: they cannot, or nothing changes.
  bool (*can_group)(const CardLayer& layer) = nullptr;
  void (*group)(CardLayer& layer, std::int64_t images) = nullptr;
};

#define CARD_OP(op) extern const CardOp card_op_##op;
#include "tessera/targets/tensix/card/card_ops.def"
#undef CARD_OP

// The row of a program's kind; transfers from and to the host have none, which is an internal Error.
TSR_API const CardOp& card_op(ProgramKind kind);
TSR_API std::span<const CardOp* const> card_ops();

// For rows: the answer that does not depend on the layer.
inline bool always(const CardLayer&) { return true; }

}  // namespace tessera::tensix
