#pragma once

// A plan made ready to run on one device: weights there, every address known, the whole network recorded as one CUDA
// graph.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/kernel_plan/plan.h"
#include "tessera/targets/cuda/device/memory.h"
#include "tessera/targets/cuda/device/stream.h"
#include "tessera/targets/cuda/kernels/kernel.h"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace tessera::cuda {

class TSR_API Program {
 public:
  // Packs the weights that the device does not hold yet.
  Program(Plan plan, Device device);

  const Plan& plan() const { return plan_; }
  std::int64_t arena_bytes() const { return arena_.bytes(); }

  // Copies the inputs to the device, replays the graph, copies the outputs back. Callers take turns.
  std::vector<Array> run(std::span<const Array* const> inputs);

  // Milliseconds of each of so many replays, by events around it, with the inputs of the last run.
  std::vector<double> time_replays(int count);
  // Milliseconds from the end of the step before to the end of each, by events between them: without the overlap that a
  // replay has.
  std::vector<double> time_steps();
  // Milliseconds of each step by itself, as one of so many in a graph: the median of some replays. What steps compute
  // in place is computed again and again, so that values are of no use any more.
  std::vector<double> time_steps_repeated(int copies);

 private:
  const void* address_of(int buffer);
  const void* constant_address(int buffer);
  Launch launch_of_step(const Step& step);
  const float* take_uncast(int buffer);

  Plan plan_;
  Device device_;
  Stream stream_;
  Memory arena_, inputs_;
  std::vector<std::int64_t> input_offsets_;
  std::vector<std::shared_ptr<const Memory>> constants_;  // by buffer
  std::vector<Launch> launches_;                          // of every step
  std::optional<cuda::Graph> graph_;
  std::mutex mutex_;
};

}  // namespace tessera::cuda
