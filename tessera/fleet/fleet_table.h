#pragma once

// What a simulation of a fleet has found out, and its tables and picture.

#include "tessera/core/export.h"
#include "tessera/fleet/availability.h"
#include "tessera/fleet/data_parallel.h"
#include "tessera/fleet/serving.h"
#include "tessera/fleet/weights.h"
#include "tessera/report/scaling_picture.h"
#include "tessera/report/table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::fleet {

struct FleetRow {
  DataParallel run;
  Replication weights;
};

struct ServingRow {
  std::int64_t cards = 0;
  double load = 0;
  ServingOptions options;
  std::optional<ServingResult> result;  // none where more come than can be served
  bool network = false;                 // is what bounds the capacity
};

struct FailureRow {
  Availability share;
  double load = 0;
  std::optional<double> p999_all_ns{},
      p999_few_ns{};                       // with every card, and with as many as there are 99.9 % of the time
  std::optional<ServingResult> failing{};  // with failures on the way
};

struct FleetFigures {
  std::vector<FleetRow> rows;  // one of each size
  std::vector<ServingRow> served;
  std::vector<FailureRow> failures;
};

TSR_API Table fleet_table(const std::vector<FleetRow>& rows);
TSR_API Table serving_table(const std::vector<ServingRow>& rows);
// `served`: with times of requests; `failing`: with those while cards fail.
TSR_API Table failure_table(const std::vector<FailureRow>& rows, bool served, bool failing);

// Over the number of cards where there are several, otherwise over the load.
TSR_API ScalingPicture fleet_picture(const FleetFigures& done, const std::string& title);

}  // namespace tessera::fleet
