#pragma once

// `tessera simulate` for meshes and fleets: data parallel over many chips, and requests that come at random.

#include "command.h"
#include "simulate_time.h"

#include "tessera/core/dtype.h"
#include "tessera/graph/graph.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/time/pipeline.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

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

// An Error where --global-batch does not make the batches that the network has.
void check_shards(const FleetArguments& fleet, const TimeArguments& time, const Machine& machine, const Graph& graph);

// What has been simulated of one chip.
struct FleetModel {
  std::string name;
  const Graph& graph;
  tensix::PipelineWork work;
  DType weights_dtype;
  std::uint64_t seed;
};
void simulate_fleet(const FleetArguments& fleet, const TimeArguments& time, const Machine& machine,
                    const FleetModel& model, const Context& context);

}  // namespace tessera::cli
