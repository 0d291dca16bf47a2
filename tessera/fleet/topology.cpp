#include "tessera/fleet/topology.h"

#include "tessera/core/error.h"

namespace tessera::fleet {
namespace {

constexpr std::int64_t kMaxChips = 100'000'000;

}  // namespace

std::vector<HostGroup> host_groups(const Topology& t) {
  std::vector<HostGroup> groups;
  const std::int64_t full = t.chips / t.chips_per_host(), rest = t.chips % t.chips_per_host();
  if (full > 0) groups.push_back({full, static_cast<int>(t.chips_per_host())});
  if (rest > 0) groups.push_back({1, static_cast<int>(rest)});
  return groups;
}

FleetSpec required_fleet(const Machine& machine) {
  tensix_of(machine);
  const std::optional<FleetSpec> spec = fleet_of(machine);
  check(spec.has_value(), Code::not_found,
        Hint{"inherit from a machine that has a group [fleet], or add it: machines/wormhole_n150.toml shows one"},
        "{} ({}) does not say what hosts of such cards are like: it has no group [fleet]", machine.name, machine.path);
  return *spec;
}

Topology topology_of(const Machine& machine) {
  const FleetSpec spec = required_fleet(machine);
  check(spec.hosts.has_value(), Code::invalid_argument,
        Hint{"say how many with --mesh or --cards, or give a fleet such as fleet_t3000"},
        "{} is a card, not a fleet: its [fleet] has no 'hosts'", machine.name);
  const int chips = machine.tensix->chips;
  return {.chips = (*spec.hosts * spec.cards_per_host - spec.spares) * chips,
          .chips_per_card = chips,
          .cards_per_host = spec.cards_per_host};
}

Topology topology_of_chips(const Machine& machine, std::int64_t chips) {
  const FleetSpec spec = required_fleet(machine);
  check(chips >= 1 && chips <= kMaxChips, Code::invalid_argument, "a fleet of {} chips: between 1 and {} can be", chips,
        kMaxChips);
  return {.chips = chips, .chips_per_card = machine.tensix->chips, .cards_per_host = spec.cards_per_host};
}

tensix::HostModel fleet_host(const Machine& machine) {
  const FleetSpec spec = required_fleet(machine);
  tensix::HostModel host = tensix::host_model(*machine.tensix);
  host.shared_link_bytes_per_s = spec.pcie_bytes_per_s;
  host.shared_ethernet_bytes_per_s = spec.card_ethernet_bytes_per_s.value_or(0);
  host.shared_copy_bytes_per_s = spec.host_copy_bytes_per_s;
  host.chip_command_ns = spec.host_chip_command_ns;
  host.host_threads = spec.host_threads;
  return host;
}

std::int64_t shard_frames(std::int64_t frames, std::int64_t chips) {
  check(frames >= 1 && chips >= 1, Code::invalid_argument, "{} frames for {} chips", frames, chips);
  check(frames % chips == 0, Code::invalid_argument,
        Hint{fmt::format("{} or {} frames would do, or pad the last ones", frames - frames % chips,
                         frames - frames % chips + chips)},
        "{} frames do not split over {} chips: shards must be equal, and {} would be left over", frames, chips,
        frames % chips);
  return frames / chips;
}

}  // namespace tessera::fleet
