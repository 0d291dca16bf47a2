#pragma once

// The members of a card plan's file, field by field.

#include "tessera/io/internal/json_cursor.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <nlohmann/json.hpp>

namespace tessera::internal {

void write_card_plan(const planner::CardPlan& plan, nlohmann::ordered_json& file);
planner::CardPlan read_card_plan(const JsonCursor& file);

nlohmann::ordered_json memory_config_json(const MemoryConfig& memory);
MemoryConfig read_memory_config(const JsonCursor& json);
Shape read_shape(const JsonCursor& json);

}  // namespace tessera::internal
