#pragma once

// Time of a simulated network: on the card, and end to end with the host around it.

#include "tessera/graph/graph.h"
#include "tessera/report/table.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/time/pipeline.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tessera::tensix {

// How a network is run again and again.
struct QueueOptions {
  bool metal_trace = false, separate_transfers = false;
  int command_queues = 1, mesh = 1, batches = 32;
};

// What a chip does for a batch. `element_bytes`: of inputs and outputs on their way.
PipelineWork card_pipeline_work(const TensixSpec& card, const Graph& graph, std::vector<DeviceStep> steps,
                                std::int64_t element_bytes);

// Gathers what queues have to know of each step, as they come.
class StepTimes {
 public:
  explicit StepTimes(const Device& device);
  void add(const SimulatedStep& step);
  const std::vector<DeviceStep>& steps() const { return steps_; }

 private:
  const Device& device_;
  std::optional<TensixCosts> costs_;
  std::size_t seen_;
  std::vector<DeviceStep> steps_;
};

class NetworkTime {
 public:
  // `graph`: says how many frames a batch has.
  NetworkTime(const QueueOptions& options, const TensixSpec& card, const Graph& graph, const PipelineWork& work);

  Table table() const;
  std::string summary() const;
  nlohmann::json json() const;
  std::string trace_events(const std::string& title) const;

 private:
  double frames_per_s(double ns) const { return static_cast<double>(frames_) / ns * 1e9; }

  QueueOptions options_;
  std::int64_t frames_;  // of all chips, at a time
  PipelineRun run_;
  TimeBasis basis_ = TimeBasis::fitted;  // the weakest of its programs
};

}  // namespace tessera::tensix
