#pragma once

// A network run again and again: the five executors of the TT-CNN pipeline, on simulated queues.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/time/command_queue.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::tensix {

enum class Executor : std::uint8_t {
  model,                    // one queue, operators called one by one, input straight into L1
  traced,                   // one queue, a trace
  overlapped_input,         // two queues: the next input is written while operators run
  traced_overlapped_input,  // the same with a trace
  traced_pipelined_io,      // operators in one queue, all transfers in the other
};
TSR_API std::string_view name(Executor executor);

// As PipelineConfig chooses.
struct PipelineConfig {
  bool use_trace = true;
  int num_command_queues = 1;
  bool all_transfers_on_separate_command_queue = false;
};
TSR_API Executor executor_of(const PipelineConfig& config);

// What one chip does for one batch.
struct PipelineWork {
  std::vector<DeviceStep> steps = {};
  std::int64_t input_bytes = 0;
  std::int64_t output_bytes = 0;
  double input_move_ns = 0;   // from DRAM into L1, before the first step
  double output_move_ns = 0;  // into DRAM, where outputs are read from there
};

// The time of one batch, on average over a run, and what it was spent on: parts of the critical path, which add up.
struct EndToEnd {
  Executor executor = Executor::model;
  int batches = 0;
  int chips = 1;
  double device_ns = 0;  // kernels alone
  double end_to_end_ns = 0;
  double kernels_ns = 0;    // of end_to_end_ns: cores worked,
  double dispatch_ns = 0;   // programs and other commands were sent to them,
  double launch_ns = 0;     // they started,
  double transfers_ns = 0;  // inputs and outputs moved and nothing else could,
  double host_ns = 0;       // the host was what all waited for
  // Of transfers_ns: what chips of a host share (host_model.h).
  double link_ns = 0, ethernet_ns = 0, memory_ns = 0;
  double latency_ns = 0;  // from the start of the run to the first result
};

struct PipelineRun {
  EndToEnd time;
  CommandQueues queues;
  sim::Schedule schedule;
};

// `batches` inputs one after the other, as fast as they go; the fill of the pipeline is part of the average.
TSR_API PipelineRun run_pipeline(const HostModel& host, const PipelineWork& work, Executor executor, int batches,
                                 int chips = 1);

}  // namespace tessera::tensix
