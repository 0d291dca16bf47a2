#pragma once

// How long a device would take: a roofline with the cost of launches. A kernel takes the longer of its operations at
// the peak rate and its bytes at the peak bandwidth, and before it starts, the kernel whose results it needs has to
// end: that gap is the device's launch_ns. Kernels are those that MLX launches under mx.compile, unless another fusion
// is asked for. Nothing is lost to tiles, clocks or other programs. Two things are not
// known: what a launch costs (an assumption in the machine's file) and what caches keep from one kernel to the next
// (nothing, here). launch_ns_to_reach() says how far a verdict depends on them.

#include "tessera/core/export.h"
#include "tessera/ncp/work.h"
#include "tessera/targets/apple/verdicts/device_profile.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::apple {

// What MLX makes of a layer's formulas under mx.compile: products stay kernels of their own, what is between them
// becomes one each. tests/python/test_mlx_kernels.py counts them in the real package.
constexpr ncp::Fusion kFrameworkFusion = ncp::Fusion::elementwise;

enum class Bound { compute, memory, launch };
TSR_API std::string_view name(Bound bound);

struct TSR_API ModelledTime {
  double compute_ns = 0;  // at the peak rate
  double memory_ns = 0;   // at the peak bandwidth
  double launch_ns = 0;
  double time_ns = 0;  // launches, and of each kernel the longer of the other two
  // What most of the time goes to.
  Bound bound() const;
};

struct ModelledRun {
  ncp::LayerWork work{};
  std::vector<ModelledTime> kernels{};  // of work.kernels
  ModelledTime total{};

  double flop_per_s() const { return work.total().flops / total.time_ns * 1e9; }
  double bytes_per_s() const { return work.total().bytes / total.time_ns * 1e9; }
  double intensity() const { return work.total().flops / work.total().bytes; }  // operations for each byte
};

TSR_API ModelledRun model_run(ncp::LayerWork work, const DeviceProfile& device);

// The largest launch cost with which the run would reach this rate, none if it would not even with none: with bytes
// that all come from memory, or with caches that serve every one of them in no time.
enum class Bytes { from_memory, from_caches };
TSR_API std::optional<double> launch_ns_to_reach(const ModelledRun& run, double flop_per_s,
                                                 Bytes bytes = Bytes::from_memory);

// A change to a model, and what it comes to.
struct LayerChange {
  std::string change{};
  std::string why{};
  std::int64_t batch = 0;
  ncp::Layer layer{};
  double launch_ns = 0;
  ModelledRun run{};
  std::int64_t memory_bytes = 0;
  bool reaches_compute = false;
  bool reaches_bandwidth = false;
};

// What would bring a CfC layer to the device's targets, each change by itself: products fused with what follows them, a
// larger batch, a larger cell, a whole sequence in one kernel, and a search over sizes (powers of two) for the least
// work that meets both targets at once.
// Changes that reach neither are left out; so are those that do not fit the memory budget.
TSR_API std::vector<LayerChange> ways_to_targets(const ncp::CfcLayer& layer, std::int64_t batch, std::int64_t steps,
                                                 const DeviceProfile& device);

}  // namespace tessera::apple
