#pragma once

// One network on every chip, each with a batch of its own: what the hosts, their links and the cards make of it.

#include "tessera/core/export.h"
#include "tessera/fleet/topology.h"
#include "tessera/targets/tensix/time/pipeline.h"

#include <cstdint>
#include <map>
#include <string>

namespace tessera::fleet {

struct Workload {
  tensix::PipelineWork chip;  // what one chip does for its batch
  std::int64_t frames = 1;    // of that batch
  tensix::Executor executor = tensix::Executor::traced_overlapped_input;
  int batches = 32;  // that the time of one is the average of
};

// All simulated.
struct DataParallel {
  Topology topology;
  std::int64_t frames = 0;   // in flight at a time, all chips
  double interval_ns = 0;    // between two batches of a chip, of the hosts with most chips
  double latency_ns = 0;     // of a batch that finds all of them idle
  double frames_per_s = 0;   // of the fleet; the data are on the hosts
  double efficiency = 0;     // against as many chips, each alone with a host
  tensix::EndToEnd host{};   // of a host with most chips
  std::string bottleneck{};  // "device (math)", "host dispatch", "PCIe", "Ethernet", "host memory"
};

// Hosts work on their own; those with equally many chips are simulated once.
class TSR_API DataParallelModel {
 public:
  DataParallelModel(const Machine& machine, Workload workload);
  DataParallel run(const Topology& topology);
  // Between two batches of a chip whose inputs and outputs come and go over the network of its host: not less than
  // the network takes for the batches of all chips there.
  double served_interval_ns(const DataParallel& fleet) const;
  const Workload& workload() const { return workload_; }
  const Machine& machine() const { return machine_; }

 private:
  const tensix::EndToEnd& host_time(int chips);

  Machine machine_;
  Workload workload_;
  tensix::HostModel host_;
  std::map<int, tensix::EndToEnd> times_;  // by chips of a host
};

// What most of the time of a batch is spent on; `work` tells what its kernels wait for.
TSR_API std::string bottleneck(const tensix::EndToEnd& time, const tensix::PipelineWork& work);

}  // namespace tessera::fleet
