#pragma once

// The members of a card plan's file, field by field.

#include "tessera/io/json_cursor.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <nlohmann/json.hpp>

namespace tessera::tensix {

void write_card_plan(const tensix::CardPlan& plan, nlohmann::ordered_json& file);
tensix::CardPlan read_card_plan(const io::JsonCursor& file);

nlohmann::ordered_json memory_config_json(const MemoryConfig& memory);
MemoryConfig read_memory_config(const io::JsonCursor& json);
Shape read_shape(const io::JsonCursor& json);

}  // namespace tessera::tensix
