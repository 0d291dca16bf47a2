#pragma once

// Many cards and the hosts around them: the group [fleet] of a machine file. A card is what has a PCIe link; behind it
// are `chips` of [chip], the first at the link, the others reached through it over Ethernet. A file that gives `hosts`
// is a fleet; without it the group says what hosts of such cards are like, for meshes that are asked for by size.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"

#include <cstdint>
#include <optional>

namespace tessera {

struct FleetSpec {
  std::optional<std::int64_t> hosts = std::nullopt;
  int cards_per_host = 0;  // that a host has room for

  double pcie_bytes_per_s = 0;                           // a card's link, one direction, all chips of it together
  std::optional<double> card_ethernet_bytes_per_s = {};  // from the chip at the link to those behind it, together
  double host_copy_bytes_per_s = 0;                      // inputs and outputs through a host's memory, all cards
  int host_threads = 0;                                  // that give commands to cards
  double host_chip_command_ns = 0;                       // a command, for each chip after a thread's first
  double network_bytes_per_s = 0;                        // of a host
  double network_latency_ns = 0;                         // between two hosts

  std::int64_t spares = 0;  // cards that stand by, weights loaded
  double mtbf_hours = 0;    // of a card
  double repair_hours = 0;  // until a failed card is back
  double takeover_s = 0;    // until a spare has a failed card's work
};

// What the file of a machine says; nothing where it has no group [fleet].
TSR_API std::optional<FleetSpec> fleet_of(const Machine& machine);

}  // namespace tessera
