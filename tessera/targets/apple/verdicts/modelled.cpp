#include "tessera/targets/apple/verdicts/modelled.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::apple {
namespace {

LayerChange measured_against(std::string change, std::string why, const ncp::CfcLayer& layer, std::int64_t batch,
                             std::int64_t steps, const DeviceProfile& device, ncp::Fusion fusion = kFrameworkFusion) {
  LayerChange out{.change = std::move(change), .why = std::move(why), .batch = batch, .layer = layer};
  out.launch_ns = device.launch_ns;
  out.run = model_run(ncp::forward_work(layer, batch, steps, {.fusion = fusion}), device);
  out.memory_bytes = ncp::memory_need(layer, batch, steps).total();
  const TargetTier& target = device.tiers.front();
  out.reaches_compute = out.run.flop_per_s() >= target.flop_per_s;
  out.reaches_bandwidth = out.run.bytes_per_s() >= target.bytes_per_s;
  return out;
}

ncp::CfcLayer scaled(ncp::CfcLayer layer, int units) {
  for (int& width : layer.backbone)
    width = static_cast<int>(std::max<std::int64_t>(std::int64_t{width} * units / layer.units, 1));
  layer.units = units;
  return layer;
}

std::string backbone_text(const ncp::CfcLayer& layer) {
  std::string out;
  for (const int width : layer.backbone) out += fmt::format("{}{}", out.empty() ? "" : ", ", width);
  return "[" + out + "]";
}

constexpr std::int64_t kMostBatch = std::int64_t{1} << 20;
constexpr int kMostUnits = 1 << 14;

}  // namespace

std::string_view name(Bound bound) {
  return bound == Bound::launch ? "launch" : bound == Bound::memory ? "memory" : "compute";
}

Bound ModelledTime::bound() const {
  if (launch_ns > time_ns - launch_ns) return Bound::launch;
  return memory_ns > compute_ns ? Bound::memory : Bound::compute;
}

ModelledRun model_run(ncp::LayerWork work, const DeviceProfile& device) {
  ModelledRun out{.work = std::move(work)};
  for (const ncp::KernelWork& kernel : out.work.kernels) {
    ModelledTime time;
    const double operations = kernel.executed_flops + kernel.specials * (device.special_flop - 1);
    time.compute_ns = operations / device.peak_flop_per_s * 1e9;
    time.memory_ns = kernel.bytes / device.peak_bytes_per_s * 1e9;
    time.launch_ns = static_cast<double>(kernel.launches) * device.launch_ns;
    time.time_ns = std::max(time.compute_ns, time.memory_ns) + time.launch_ns;
    out.total.compute_ns += time.compute_ns;
    out.total.memory_ns += time.memory_ns;
    out.total.launch_ns += time.launch_ns;
    out.total.time_ns += time.time_ns;
    out.kernels.push_back(time);
  }
  return out;
}

std::optional<double> launch_ns_to_reach(const ModelledRun& run, double flop_per_s, Bytes bytes) {
  const ncp::KernelWork total = run.work.total();
  const double busy_ns = bytes == Bytes::from_caches ? run.total.compute_ns : run.total.time_ns - run.total.launch_ns;
  const double allowed_ns = total.flops / flop_per_s * 1e9 - busy_ns;
  if (allowed_ns < 0) return std::nullopt;
  return allowed_ns / static_cast<double>(total.launches);
}

std::vector<LayerChange> ways_to_targets(const ncp::CfcLayer& layer, std::int64_t batch, std::int64_t steps,
                                         const DeviceProfile& device) {
  std::vector<LayerChange> out;
  const auto fits = [&](const LayerChange& a) { return a.memory_bytes <= device.memory_budget_bytes; };
  const TargetTier& target = device.tiers.front();

  {
    LayerChange a = measured_against("each product one kernel with what follows it", "fewer launches, fewer bytes",
                                     layer, batch, steps, device, ncp::Fusion::full);
    if (a.reaches_compute || a.reaches_bandwidth) out.push_back(std::move(a));
  }
  for (std::int64_t b = 2 * batch; b <= kMostBatch; b *= 2) {
    LayerChange a =
        measured_against(fmt::format("batch {}", b), "more samples for each launch", layer, b, steps, device);
    if (!fits(a)) break;
    if (!a.reaches_compute) continue;
    out.push_back(std::move(a));
    break;
  }
  if (!layer.wiring) {
    for (int units = 2 * layer.units; units <= kMostUnits; units *= 2) {
      const ncp::CfcLayer larger = scaled(layer, units);
      LayerChange a = measured_against(fmt::format("hidden {}, backbone {}", units, backbone_text(larger)),
                                       "more work for each launch", larger, batch, steps, device);
      if (!fits(a)) break;
      if (!a.reaches_compute) continue;
      out.push_back(std::move(a));
      break;
    }
  }
  {
    // All steps in one kernel that keeps its weights: one launch, and each weight is read once.
    LayerChange a = measured_against("the whole sequence in one kernel", "one launch instead of several for each step",
                                     layer, batch, steps, device, ncp::Fusion::full);
    ncp::LayerWork fused{.batch = batch, .steps = steps};
    ncp::KernelWork kernel = a.run.work.total();
    kernel.name = "sequence";
    kernel.launches = 1;
    const ncp::LayerSizes size = ncp::sizes(layer);
    kernel.bytes = 4.0 * static_cast<double>(ncp::count_parameters(layer).total) +
                   4.0 * static_cast<double>(batch) *
                       (static_cast<double>(steps) * size.inputs + 2.0 * size.state +
                        static_cast<double>(size.return_sequences ? steps : 1) * size.outputs);
    fused.kernels.push_back(std::move(kernel));
    a.run = model_run(std::move(fused), device);
    a.reaches_compute = a.run.flop_per_s() >= target.flop_per_s;
    a.reaches_bandwidth = a.run.bytes_per_s() >= target.bytes_per_s;
    if (a.reaches_compute || a.reaches_bandwidth) out.push_back(std::move(a));
  }
  if (!layer.wiring) {
    std::optional<LayerChange> best;
    for (int units = 32; units <= kMostUnits; units *= 2) {
      const ncp::CfcLayer other = scaled(layer, units);
      for (std::int64_t b = 1; b <= kMostBatch; b *= 2) {
        if (ncp::memory_need(other, b, steps).total() > device.memory_budget_bytes) break;
        LayerChange a =
            measured_against(fmt::format("batch {}, hidden {}, backbone {}", b, units, backbone_text(other)),
                             "both at once: few samples for each weight, and products large enough to hide launches",
                             other, b, steps, device);
        if (!a.reaches_compute || !a.reaches_bandwidth) continue;
        if (!best || a.run.work.total().flops < best->run.work.total().flops) best = std::move(a);
      }
    }
    if (best) out.push_back(std::move(*best));
  }
  return out;
}

}  // namespace tessera::apple
