#include "tessera/machine/tensix_costs.h"

#include "tessera/core/error.h"

#include <variant>

namespace tessera {

TensixCosts tensix_costs(const Machine& machine) {
  tensix_of(machine);
  TensixCosts costs;
  std::size_t found = 0;
  for (const Figure& figure : machine.figures) {
    if (figure.group != "cost") continue;
    for (const CostField& field : kCostFields)
      if (field.name == figure.key) {
        if (const auto* number = std::get_if<double>(&figure.value)) costs.*field.value = *number;
        if (const auto* number = std::get_if<std::int64_t>(&figure.value))
          costs.*field.value = static_cast<double>(*number);
        ++found;
      }
  }
  for (const CostField& field : kCostFields)
    check(found == kCostFields.size() || costs.*field.value > 0, Code::not_found,
          Hint{"inherit from a machine that has a group [cost], or add it"},
          "{} ({}) does not say what programs cost: '{}' is missing from [cost]", machine.name, machine.path,
          field.name);
  return costs;
}

}  // namespace tessera
