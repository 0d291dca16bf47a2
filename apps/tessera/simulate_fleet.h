#pragma once

// `tessera simulate` for meshes and fleets: data parallel over many chips, and requests that come at random.

#include "command.h"

#include "tessera/machine/machine.h"
#include "tessera/target/simulation.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

// How a network is run again and again; what is not said is as the plan has it.
struct TimeArguments {
  std::optional<bool> metal_trace, separate_transfers;
  std::optional<int> command_queues, mesh;
  int batches = 32;
  bool mesh_is_grid = false;  // given as ROWSxCOLUMNS
  std::string trace;
};

struct FleetArguments {
  std::vector<std::int64_t> cards, spares;
  std::vector<double> loads, arrivals;
  std::int64_t global_batch = 0, requests = 0;
  std::optional<double> max_wait_ms;  // otherwise 1
  double failures = 0;
  std::string svg;
};

// --cards, --global-batch, --load, --arrivals, --max-wait, --requests, --spares, --failures, --fleet-svg.
void add_fleet_options(CLI::App& command, FleetArguments& arguments);

// Whether its file says how many hosts there are.
bool is_fleet(const Machine& machine);

// Whether a fleet is what is asked for, rather than a chip or a few.
bool wants_fleet(const FleetArguments& fleet, const TimeArguments& time, const Machine& machine);

// The batch of one chip where --global-batch was given, or 0.
std::int64_t chip_batch(const FleetArguments& fleet, const TimeArguments& time, const Machine& machine);

// What has been simulated of one chip.
struct FleetModel {
  std::string name;
  const DeviceWork& work;
  std::uint64_t seed;
};
// An Error where --global-batch does not make the batches that the network has.
void simulate_fleet(const FleetArguments& fleet, const TimeArguments& time, const Machine& machine,
                    const FleetModel& model, const Context& context);

}  // namespace tessera::cli
