#include "tessera/fleet/weights.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tessera::fleet {
namespace {

constexpr double kPieceBytes = 1 << 20;  // a piece is passed on while the next one comes

double ns_of_bytes(double bytes, double rate) { return bytes / rate * 1e9; }

}  // namespace

Replication replicate(const Machine& machine, const Topology& topology, std::int64_t bytes) {
  check(bytes >= 0, Code::invalid_argument, "weights of {} bytes", bytes);
  const FleetSpec spec = required_fleet(machine);
  Replication out{.bytes = bytes};
  const auto all = static_cast<double>(bytes);
  const double piece = std::min(all, kPieceBytes);
  if (const std::int64_t hosts = topology.hosts(); hosts > 1) {
    // Each host sends what it gets to two others.
    const auto depth = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(hosts)) - 1);
    const double fan_out = hosts > 2 ? 2 : 1;
    out.network_ns = fan_out * ns_of_bytes(all, spec.network_bytes_per_s) +
                     (depth - 1) * fan_out * ns_of_bytes(piece, spec.network_bytes_per_s) +
                     depth * spec.network_latency_ns;
  }
  const auto chips = static_cast<double>(std::min<std::int64_t>(topology.chips, topology.chips_per_card));
  const auto cards = static_cast<double>(std::min<std::int64_t>(topology.cards(), topology.cards_per_host));
  // The memory of the host feeds all of its links at once.
  const auto from_host = [&](double replicas) {
    return std::max(ns_of_bytes(all * replicas, spec.pcie_bytes_per_s),
                    ns_of_bytes(all * replicas * cards, spec.host_copy_bytes_per_s));
  };
  out.pcie_ns = from_host(chips);
  out.broadcast_ns = out.pcie_ns;
  if (chips > 1 && spec.card_ethernet_bytes_per_s) {
    const double rate = *spec.card_ethernet_bytes_per_s;
    out.broadcast_ns = std::max(from_host(1), ns_of_bytes(all, rate)) + (chips - 1) * ns_of_bytes(piece, rate);
  }
  out.over_ethernet = out.broadcast_ns < out.pcie_ns;
  out.total_ns = out.network_ns + std::min(out.pcie_ns, out.broadcast_ns);
  return out;
}

std::int64_t weight_bytes(const Graph& graph, double element_bytes) {
  double bytes = 0;
  for (const Value& value : graph.values)
    if (value.constant) bytes += static_cast<double>(value.constant->shape().volume()) * element_bytes;
  return static_cast<std::int64_t>(std::ceil(bytes));
}

}  // namespace tessera::fleet
