#pragma once

// Time of a simulated network: on the card, and end to end with the host around it.

#include "tessera/graph/graph.h"
#include "tessera/report/table.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/time/pipeline.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

struct TimeArguments {
  bool metal_trace = false, separate_transfers = false;
  int command_queues = 1, mesh = 1, batches = 32;
  bool mesh_is_grid = false;  // given as ROWSxCOLUMNS
  std::string trace;
};

// --metal-trace, --cq, --separate-transfers, --mesh, --batches, --trace.
void add_time_options(CLI::App& command, TimeArguments& arguments);

// Frames of a batch: the first extent of the first input.
std::int64_t batch_of(const Graph& graph);

// What a chip does for a batch. `element_bytes`: of inputs and outputs on their way.
tensix::PipelineWork pipeline_work(const TensixSpec& card, const Graph& graph, std::vector<tensix::DeviceStep> steps,
                                   std::int64_t element_bytes);

// Gathers what queues have to know of each step, as they come.
class StepTimes {
 public:
  explicit StepTimes(const tensix::Device& device);
  void add(const tensix::SimulatedStep& step);
  const std::vector<tensix::DeviceStep>& steps() const { return steps_; }

 private:
  const tensix::Device& device_;
  std::optional<TensixCosts> costs_;
  std::size_t seen_;
  std::vector<tensix::DeviceStep> steps_;
};

class NetworkTime {
 public:
  // `graph`: says how many frames a batch has.
  NetworkTime(const TimeArguments& arguments, const TensixSpec& card, const Graph& graph,
              const tensix::PipelineWork& work);

  Table table() const;
  std::string summary() const;
  nlohmann::json json() const;
  // Trace events, to the file that was asked for.
  void write_trace(const std::string& title) const;

 private:
  double frames_per_s(double ns) const { return static_cast<double>(frames_) / ns * 1e9; }

  const TimeArguments& arguments_;
  std::int64_t frames_;  // of all chips, at a time
  tensix::PipelineRun run_;
  tensix::TimeBasis basis_ = tensix::TimeBasis::fitted;  // the weakest of its programs
};

}  // namespace tessera::cli
