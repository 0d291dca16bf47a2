#include "tessera/fleet/data_parallel.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace tessera::fleet {
namespace {

// What the kernels of a network spend most of their time on.
std::string_view kernels_bound_by(const tensix::PipelineWork& work) {
  std::map<std::string_view, double> time_ns;
  for (const tensix::DeviceStep& step : work.steps)
    if (step.timed)
      for (const tensix::TimedProgram& program : *step.timed) time_ns[name(program.time.bound_by)] += program.time.ns;
  if (time_ns.empty()) return "kernels";
  return std::max_element(time_ns.begin(), time_ns.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

std::string bottleneck(const tensix::EndToEnd& t, const tensix::PipelineWork& work) {
  const double own_pcie_ns = t.transfers_ns - t.link_ns - t.ethernet_ns - t.memory_ns;
  const double device_ns = t.kernels_ns + t.dispatch_ns + t.launch_ns;
  const std::pair<double, std::string_view> parts[] = {{device_ns, "device"},
                                                       {t.host_ns, "host dispatch"},
                                                       {t.link_ns + own_pcie_ns, "PCIe"},
                                                       {t.ethernet_ns, "Ethernet"},
                                                       {t.memory_ns, "host memory"}};
  const auto most = *std::max_element(std::begin(parts), std::end(parts),
                                      [](const auto& a, const auto& b) { return a.first < b.first; });
  if (most.second != "device") return std::string(most.second);
  return fmt::format("device ({})",
                     t.kernels_ns >= t.dispatch_ns + t.launch_ns ? kernels_bound_by(work) : "its own dispatch");
}

DataParallelModel::DataParallelModel(const Machine& machine, Workload workload)
    : machine_(machine), workload_(std::move(workload)), host_(fleet_host(machine)) {
  check(workload_.frames >= 1, Code::invalid_argument, "a batch of {} frames", workload_.frames);
}

const tensix::EndToEnd& DataParallelModel::host_time(int chips) {
  const auto known = times_.find(chips);
  if (known != times_.end()) return known->second;
  return times_
      .emplace(chips, tensix::run_pipeline(host_, workload_.chip, workload_.executor, workload_.batches, chips).time)
      .first->second;
}

DataParallel DataParallelModel::run(const Topology& topology) {
  DataParallel out{.topology = topology, .frames = topology.chips * workload_.frames};
  const auto frames = static_cast<double>(workload_.frames);
  const double alone = frames / host_time(1).end_to_end_ns * 1e9;
  for (const HostGroup& group : host_groups(topology)) {
    const tensix::EndToEnd& t = host_time(group.chips);
    out.frames_per_s += static_cast<double>(group.hosts) * group.chips * frames / t.end_to_end_ns * 1e9;
    if (t.end_to_end_ns < out.interval_ns) continue;
    out.interval_ns = t.end_to_end_ns;
    out.latency_ns = t.latency_ns;
    out.host = t;
  }
  out.efficiency = out.frames_per_s / (alone * static_cast<double>(topology.chips));
  out.bottleneck = bottleneck(out.host, workload_.chip);
  return out;
}

double DataParallelModel::served_interval_ns(const DataParallel& fleet) const {
  const std::int64_t chips = std::min(fleet.topology.chips, fleet.topology.chips_per_host());
  // Both directions at once.
  const std::int64_t bytes = std::max(workload_.chip.input_bytes, workload_.chip.output_bytes);
  return std::max(fleet.interval_ns,
                  static_cast<double>(chips * bytes) / required_fleet(machine_).network_bytes_per_s * 1e9);
}

}  // namespace tessera::fleet
