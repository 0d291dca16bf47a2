#include "tessera/fleet/availability.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <cmath>

namespace tessera::fleet {

Availability availability(const FleetSpec& spec, std::int64_t cards, std::int64_t spares) {
  check(cards >= 1 && spares >= 0, Code::invalid_argument, "{} cards and {} spares", cards, spares);
  check(spec.mtbf_hours > 0, Code::invalid_argument, "cards that fail every {} hours", spec.mtbf_hours);
  const std::int64_t all = cards + spares;
  const auto n = static_cast<double>(all);
  const double down = spec.repair_hours / (spec.mtbf_hours + spec.repair_hours);
  Availability out{.cards = cards, .spares = spares, .failures_per_day = 24 * n * (1 - down) / spec.mtbf_hours};
  // How many are down is binomial.
  double cumulated = 0, lost = 0;
  out.cards_999 = cards;
  bool found = false;
  for (std::int64_t d = 0; d <= all; ++d) {
    const auto k = static_cast<double>(d);
    double mass = d == 0 ? 1 : 0;
    if (down > 0)
      mass = std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(down) +
                      (n - k) * std::log1p(-down));
    cumulated += mass;
    if (d <= spares) out.full_share += mass;
    lost += mass * static_cast<double>(std::max<std::int64_t>(0, d - spares));
    if (!found && cumulated >= 0.999) {
      out.cards_999 = std::min(cards, all - d);
      found = true;
    }
    if (k > n * down && mass < 1e-16) break;
  }
  out.full_share = std::min(out.full_share, 1.0);
  // A failure at work costs the place a takeover where a spare is free.
  const double takeovers = spares > 0 ? (1 - down) * spec.takeover_s / (spec.mtbf_hours * 3600) * out.full_share : 0;
  out.mean_share = std::max(0.0, 1 - lost / static_cast<double>(cards) - takeovers);
  return out;
}

}  // namespace tessera::fleet
