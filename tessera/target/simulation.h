#pragma once

// A network on a simulated machine: what is asked for, and what came of it.

#include "tessera/core/array.h"
#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/core/table.h"
#include "tessera/graph/graph.h"
#include "tessera/target/run_trace.h"
#include "tessera/target/view.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

// Without a plan the operators choose for themselves, by the first six; a plan has settled those.
struct SimulateRequest {
  std::optional<DType> dtype = {}, weights_dtype = {};  // of results; of weights and biases
  std::optional<std::string> fidelity = {};
  bool fp32_dest_acc = false, packer_l1_acc = false, host_fallback = false;
  std::optional<std::int64_t> l1_small_bytes = {};
  std::filesystem::path layer_configs = {};  // a file with an object for each node; empty: none
  bool values = true;                        // false: memory and time only
  bool pcc = false;                          // of every step
  // How it is run again and again; none: as the plan says.
  std::optional<bool> metal_trace = {}, separate_transfers = {};
  std::optional<int> command_queues = {}, mesh = {};
  int batches = 32;
  std::filesystem::path memory_reports = {};  // a folder for the state of memory after each step
};

// What float32 makes of a graph on this machine's own processor.
struct ReferenceValues {
  std::vector<Array> outputs;
  std::map<std::string, Array> values;  // by name, where they are asked for
};
enum class ReferenceDepth : std::uint8_t {
  outputs,
  values,        // and every value inside: nothing is fused
  exact_values,  // by kernels that round no more than the definition
};
using Reference =
    std::function<ReferenceValues(const Graph& graph, const std::vector<Array>& inputs, ReferenceDepth depth)>;

struct SimulateHooks {
  OnProgress on_progress = {};
  std::function<void(const Table& steps)> on_failed = {};  // how far it came
  Reference reference = {};
};

// What one device does for a batch, for models of many devices. A target derives from it.
struct DeviceWork {
  virtual ~DeviceWork() = default;
};

class TSR_API SimulatedRun {
 public:
  SimulatedRun() = default;
  SimulatedRun(const SimulatedRun&) = delete;
  SimulatedRun& operator=(const SimulatedRun&) = delete;
  virtual ~SimulatedRun() = default;

  virtual View shown() const = 0;
  virtual const RunResult& result() const = 0;
  virtual std::string trace_events() const = 0;  // host, queues and cores over time, as trace viewers open it
  virtual std::string memory_svg() const = 0;    // memory over time
  virtual std::string memory_html() const = 0;
  virtual const DeviceWork& work() const = 0;
};

}  // namespace tessera
