#pragma once

// A plan for a card in its own columns, and its figures in a few lines.

#include "tessera/core/export.h"
#include "tessera/report/table.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <nlohmann/json.hpp>

#include <string>

namespace tessera::tensix {

Table card_plan_table(const CardPlan& plan);
// Times, L1, moves and accuracy in a few lines.
TSR_API std::string card_plan_summary(const CardPlan& plan);
nlohmann::json card_plan_summary_json(const CardPlan& plan);
// One row: what plans of several batches are held against each other by. With the PCC where the request bounds it.
Table card_plan_figures(const CardPlan& plan);

// "reshard x, spill skip"; empty: none.
std::string moves_text(const PlannedStep& step);
// "bfloat8_b L1 HEIGHT_SHARDED 3136x64 on 8x8 cores"
std::string result_text(const PlannedStep& step);

Cell kernel_time_cell(double ns);  // empty for 0
TSR_API Cell bytes_of_core(std::int64_t bytes);
Cell share_cell(double share);
Cell accuracy_cell(const std::optional<double>& pcc);

}  // namespace tessera::tensix
