#include "tessera/fleet/data_parallel.h"

#include "workloads.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::fleet {
namespace {

using namespace for_tests;

DataParallel run(const Machine& machine, std::int64_t chips, Workload workload) {
  return DataParallelModel(machine, std::move(workload)).run(topology_of_chips(machine, chips));
}

TEST(DataParallel, OneChipIsAsFastAsWithoutAFleet) {
  const Machine machine = load_machine("wormhole_n150");
  for (const tensix::Executor executor :
       {tensix::Executor::model, tensix::Executor::traced, tensix::Executor::traced_overlapped_input}) {
    Workload work = workload_of(kResNet50);
    work.executor = executor;
    const tensix::EndToEnd plain =
        tensix::run_pipeline(tensix::host_model(*machine.tensix), work.chip, executor, work.batches).time;
    const DataParallel one = run(machine, 1, work);
    // The same durations, of which transfers are cut into three: a picosecond of rounding each.
    EXPECT_NEAR(one.interval_ns, plain.end_to_end_ns, 1) << name(executor);
    EXPECT_NEAR(one.latency_ns, plain.latency_ns, 1);
    EXPECT_DOUBLE_EQ(one.efficiency, 1);
    EXPECT_EQ(one.frames, 16);
  }
}

TEST(DataParallel, MoreChipsAreNeverSlowerInAllNorFasterEach) {
  const Machine machine = load_machine("wormhole_n150");
  DataParallelModel model(machine, workload_of(kResNet50));
  double rate = 0;
  for (const std::int64_t chips : {1, 2, 3, 4, 8, 9, 16, 17, 100, 1'000, 10'000}) {
    const DataParallel d = model.run(topology_of_chips(machine, chips));
    EXPECT_GT(d.frames_per_s, rate) << chips;
    EXPECT_LE(d.efficiency, 1 + 1e-9) << chips;
    rate = d.frames_per_s;
  }
}

TEST(DataParallel, HostsDoNotSlowEachOther) {
  const Machine machine = load_machine("wormhole_n150");
  DataParallelModel model(machine, workload_of(kResNet50));
  EXPECT_NEAR(model.run(topology_of_chips(machine, 10'000)).frames_per_s,
              1'250 * model.run(topology_of_chips(machine, 8)).frames_per_s, 1);
}

// The same network with one thing scarce at a time.
TEST(DataParallel, NamesWhatHoldsItUp) {
  Machine machine = load_machine("fleet_galaxy");
  const auto with = [&](const std::string& key, double value) {
    Machine changed = machine;
    for (Figure& figure : changed.figures)
      if (figure.group == "fleet" && figure.key == key) figure.value = value;
    return run(changed, 32, workload_of(kResNet50)).bottleneck;
  };
  EXPECT_EQ(with("host_chip_command_ns", 100'000), "host dispatch");
  EXPECT_EQ(with("host_chip_command_ns", 0), "device (kernels)");
  EXPECT_EQ(with("pcie_bytes_per_s", 2e9), "PCIe");
  EXPECT_EQ(with("card_ethernet_bytes_per_s", 2e9), "Ethernet");
  EXPECT_EQ(with("host_copy_bytes_per_s", 10e9), "host memory");
}

TEST(DataParallel, ScarceThingsBoundTheRateByWhatTheyCarry) {
  Machine machine = load_machine("fleet_galaxy");
  for (Figure& figure : machine.figures)
    if (figure.group == "fleet" && figure.key == "pcie_bytes_per_s") figure.value = 2e9;
  const DataParallel d = run(machine, 32, workload_of(kResNet50, 100));
  const double bound = 4 * 2e9 / (static_cast<double>(kResNet50.input_bytes) / 16);  // four links
  EXPECT_LE(d.frames_per_s, bound);
  EXPECT_GT(d.frames_per_s, 0.95 * bound);
}

TEST(DataParallel, ThreadsOfTheHostShareItsCommands) {
  Machine machine = load_machine("fleet_galaxy");
  const double one = run(machine, 32, workload_of(kResNet50)).frames_per_s;
  for (Figure& figure : machine.figures)
    if (figure.key == "host_threads") figure.value = std::int64_t{8};
  EXPECT_GT(run(machine, 32, workload_of(kResNet50)).frames_per_s, 1.2 * one);
}

TEST(DataParallel, TheNetworkOfAHostBoundsWhatItServes) {
  const Machine machine = load_machine("fleet_galaxy");
  DataParallelModel model(machine, workload_of(kResNet50));
  const DataParallel d = model.run(topology_of(machine));
  EXPECT_DOUBLE_EQ(model.served_interval_ns(d), 32.0 * static_cast<double>(kResNet50.input_bytes) / 12.5e9 * 1e9);
  const DataParallel one = model.run(topology_of_chips(machine, 1));
  EXPECT_EQ(model.served_interval_ns(one), one.interval_ns);
}

}  // namespace
}  // namespace tessera::fleet
