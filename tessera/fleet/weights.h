#pragma once

// How long it takes until every chip has the weights. All simulated.

#include "tessera/core/export.h"
#include "tessera/fleet/topology.h"
#include "tessera/graph/graph.h"

#include <cstdint>

namespace tessera::fleet {

struct Replication {
  std::int64_t bytes = 0;   // of one replica
  double network_ns = 0;    // until every host has them: a binary tree of hosts, in pieces
  double pcie_ns = 0;       // from there, every chip over PCIe
  double broadcast_ns = 0;  // or the first chip of each card over PCIe and the others over Ethernet
  double total_ns = 0;      // with the faster of the two
  bool over_ethernet = false;
};
TSR_API Replication replicate(const Machine& machine, const Topology& topology, std::int64_t bytes);

// Of all constants, at this width.
TSR_API std::int64_t weight_bytes(const Graph& graph, double element_bytes);

}  // namespace tessera::fleet
