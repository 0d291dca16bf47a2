#pragma once

// What a plan for a card has to show.

#include "tessera/target/target.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::tensix {

// Cores of the plan's machine that hold L1; where the machine cannot be had, the most that a step takes.
std::int64_t l1_banks_of(const CardPlan& plan);

// The step of a node or of what it makes; an Error with what was perhaps meant.
std::size_t find_planned_step(const CardPlan& plan, const std::string& node);

View explain_card_step(const CardPlan& plan, const std::string& node);
Target::Checked check_card_plan(const CardPlan& plan, const std::string& file);
View compare_card_plans(const CardPlan& a, const CardPlan& b, const std::array<std::string, 2>& files);

// What the card's arithmetic makes of a network, for every choice of types, against float32.
View compare_card_arithmetic(LoadedNetwork network, const Machine& machine, const ArithmeticRequest& request,
                             const SimulateHooks& hooks);

}  // namespace tessera::tensix
