#pragma once

// What a Tensix card's programs cost, piece by piece: the group [cost] of a machine file. A time model multiplies these
// with the counts of a program (core/program_work.h).

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"

#include <array>
#include <string_view>

namespace tessera {

struct TensixCosts {
#define TSR_COST(name, unit, rule) double name = 0;
#include "tessera/machine/tensix_costs.def"
#undef TSR_COST
};

enum class CostRule : std::uint8_t { same, noc, latency, own };

struct CostField {
  std::string_view name, unit;
  CostRule rule;
  double TensixCosts::* value;
};

inline constexpr std::array kCostFields{
#define TSR_COST(name, unit, rule) CostField{#name, unit, CostRule::rule, &TensixCosts::name},
#include "tessera/machine/tensix_costs.def"
#undef TSR_COST
};

// Of a Tensix machine. A file without them is an Error that says what it lacks.
TSR_API TensixCosts tensix_costs(const Machine& machine);

}  // namespace tessera
