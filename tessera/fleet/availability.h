#pragma once

// Cards that fail, cards that stand by: how many are at work, by closed forms. A card fails after an exponential time
// of the mean mtbf_hours, whether it works or stands by, and is back repair_hours later; repairs do not wait for each
// other.

#include "tessera/core/export.h"
#include "tessera/machine/fleet_spec.h"

#include <cstdint>

namespace tessera::fleet {

struct Availability {
  std::int64_t cards = 0, spares = 0;
  double failures_per_day = 0;  // of all cards and spares
  double full_share = 0;        // of the time there are enough cards for all places
  double mean_share = 0;        // of the places that have a working card, waits for a spare's takeover included
  std::int64_t cards_999 = 0;   // at work at least for 99.9 % of the time
};
TSR_API Availability availability(const FleetSpec& spec, std::int64_t cards, std::int64_t spares);

}  // namespace tessera::fleet
