#pragma once

// The keys of [fleet], for whoever reads them from a file and whoever takes them from the figures of one.

#include "tessera/machine/fleet_spec.h"
#include "tessera/machine/internal/field_reader.h"

namespace tessera::internal {

template <class Visit>
void visit_fleet_fields(FleetSpec& s, Visit&& visit) {
  visit("hosts", s.hosts, "", Rule::positive);
  visit("cards_per_host", s.cards_per_host, "", Rule::positive);
  visit("pcie_bytes_per_s", s.pcie_bytes_per_s, "B/s", Rule::positive);
  visit("card_ethernet_bytes_per_s", s.card_ethernet_bytes_per_s, "B/s", Rule::positive);
  visit("host_copy_bytes_per_s", s.host_copy_bytes_per_s, "B/s", Rule::positive);
  visit("host_threads", s.host_threads, "", Rule::positive);
  visit("host_chip_command_ns", s.host_chip_command_ns, "ns", Rule::not_negative);
  visit("network_bytes_per_s", s.network_bytes_per_s, "B/s", Rule::positive);
  visit("network_latency_ns", s.network_latency_ns, "ns", Rule::not_negative);
  visit("spares", s.spares, "", Rule::not_negative);
  visit("mtbf_hours", s.mtbf_hours, "h", Rule::positive);
  visit("repair_hours", s.repair_hours, "h", Rule::not_negative);
  visit("takeover_s", s.takeover_s, "s", Rule::not_negative);
}

// A file may have no such group; then nothing of it is missing. `chips`: of a card.
void read_fleet_fields(FieldReader& in, int chips);

}  // namespace tessera::internal
