#pragma once

// What `tessera simulate` has found out about a fleet, and its tables and picture.

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

namespace tessera::cli {

struct FleetRow {
  fleet::DataParallel run;
  fleet::Replication weights;
};

struct ServingRow {
  std::int64_t cards = 0;
  double load = 0;
  fleet::ServingOptions options;
  std::optional<fleet::ServingResult> result;  // none where more come than can be served
  bool network = false;                        // is what bounds the capacity
};

struct FailureRow {
  fleet::Availability share;
  double load = 0;
  std::optional<double> p999_all_ns{},
      p999_few_ns{};                              // with every card, and with as many as there are 99.9 % of the time
  std::optional<fleet::ServingResult> failing{};  // with failures on the way
};

struct FleetFigures {
  std::vector<FleetRow> rows;  // one of each size
  std::vector<ServingRow> served;
  std::vector<FailureRow> failures;
};

Table fleet_table(const std::vector<FleetRow>& rows);
Table serving_table(const std::vector<ServingRow>& rows);
// `served`: with times of requests; `failing`: with those while cards fail.
Table failure_table(const std::vector<FailureRow>& rows, bool served, bool failing);

// Over the number of cards where there are several, otherwise over the load.
ScalingPicture fleet_picture(const FleetFigures& done, const std::string& title);

}  // namespace tessera::cli
