#pragma once

// One network on several machines: the best plan that each has, within a time for all of them.

#include "tessera/core/export.h"
#include "tessera/report/machine_comparison.h"
#include "tessera/target/target.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tessera {

struct MachineComparisonRequest {
  double budget_s = 60;                       // of planning, shared by the machines that search
  std::map<std::string, double> prices = {};  // per hour, by machine; an Error for one that is not compared
  OnProgress on_progress = {};                // machines
  std::function<bool()> stop = {};            // asked now and then; true: those that are left are not planned
};

// This machine's own processor ("cpu") and every machine file but those of fleets.
TSR_API std::vector<std::string> comparable_machines();

// A row for each, the fastest first. What a machine cannot do is a row that says why. `load` gives the network anew.
// An Error for a machine that there is not, before anything is planned.
TSR_API std::vector<MachineRow> compare_machines(const std::function<LoadedNetwork()>& load,
                                                 std::span<const std::string> machines,
                                                 const MachineComparisonRequest& request);

}  // namespace tessera
