#pragma once

// Chips on cards, cards in hosts: where the parts of a fleet are.

#include "tessera/core/export.h"
#include "tessera/machine/fleet_spec.h"
#include "tessera/targets/tensix/time/host_model.h"

#include <cstdint>
#include <vector>

namespace tessera::fleet {

// Cards are filled one after the other, and so are hosts: only the last of each may have room.
struct Topology {
  std::int64_t chips = 1;
  int chips_per_card = 1;
  int cards_per_host = 1;

  std::int64_t cards() const { return (chips + chips_per_card - 1) / chips_per_card; }
  std::int64_t hosts() const { return (cards() + cards_per_host - 1) / cards_per_host; }
  std::int64_t chips_per_host() const { return std::int64_t{chips_per_card} * cards_per_host; }
};

// Hosts with equally many chips.
struct HostGroup {
  std::int64_t hosts = 0;
  int chips = 0;
};
TSR_API std::vector<HostGroup> host_groups(const Topology& topology);

// The [fleet] of a machine, or an Error that says what to write into its file.
TSR_API FleetSpec required_fleet(const Machine& machine);

// All cards of the file but the spares. The file must give `hosts`.
TSR_API Topology topology_of(const Machine& machine);
TSR_API Topology topology_of_chips(const Machine& machine, std::int64_t chips);

// The host of these cards, with all that its chips share.
TSR_API tensix::HostModel fleet_host(const Machine& machine);

// Frames of one chip where `frames` are split over all of them: equal shards, as TTNN asks for, or an Error.
TSR_API std::int64_t shard_frames(std::int64_t frames, std::int64_t chips);

}  // namespace tessera::fleet
