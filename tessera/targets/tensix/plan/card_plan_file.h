#pragma once

// A plan for a card as text, the body of a plan file (io/plan_document.h): JSON that people can read and edit, the same
// bytes for the same plan. It has what was asked for, which machine and network it is for, every step with its
// configuration and what else was weighed. Weights are not in it.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace tessera::tensix {

// Times are written to a picosecond; those that are no numbers are refused.
TSR_API std::string encode_card_plan(const tensix::CardPlan& plan);
// Replaces the file in one step; a failure leaves an older one as it was.
TSR_API void save_card_plan(const std::filesystem::path& path, const tensix::CardPlan& plan);

// The body, or a whole plan file. Strict: what is missing, unknown or of another form is an Error with its place
// ("steps[3].result.dtype") and value.
TSR_API tensix::CardPlan parse_card_plan(std::string_view text);
TSR_API tensix::CardPlan load_card_plan(const std::filesystem::path& path);

// A plan holds for one machine and one network only. An Error names what has changed since, and where.
TSR_API void check_machine(const tensix::CardPlan& plan, const Machine& machine);
TSR_API void check_network(const tensix::CardPlan& plan, const tensix::LoweredGraph& network);

}  // namespace tessera::tensix
