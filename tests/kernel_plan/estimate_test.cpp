#include "tessera/core/error.h"
#include "tessera/kernel_plan/kernel_info.h"
#include "tessera/machine/machine_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace tessera {
namespace {

constexpr KernelInfo kWidens{.name = "widens", .op = "Conv", .isa = Isa::avx512};
constexpr KernelInfo kPairs{
    .name = "pairs", .op = "Conv", .isa = Isa::avx512_bf16, .arithmetic = Arithmetic::bf16_pairs};
constexpr KernelInfo kTiles{.name = "tiles", .op = "Conv", .isa = Isa::amx, .arithmetic = Arithmetic::bf16_tiles};

// Of a product that no memory bounds.
double seconds(const CpuSpec& spec, const KernelInfo& kernel, int threads = 1) {
  const KernelMachine machine(spec);
  Graph graph;
  Node node;
  const Problem problem{graph, node, {}, {}, machine, threads};
  const Estimate made = estimate(problem, kernel, 1e12, 1, 1.0);
  EXPECT_EQ(made.bound, "compute");
  return made.seconds;
}

CpuSpec spec(const char* name) {
  return *load_machine_file(std::filesystem::path(TESSERA_MACHINES_DIR) / (std::string(name) + ".toml")).cpu;
}

TEST(Estimate, PairsOfBfloat16LoseToWideningOnIntelsCores) {
  for (const int threads : {1, 2}) {
    EXPECT_GT(seconds(spec("cpu_avx512"), kPairs, threads), 1.9 * seconds(spec("cpu_avx512"), kWidens, threads));
    EXPECT_GT(seconds(spec("cpu_amx"), kPairs, threads), 1.9 * seconds(spec("cpu_amx"), kWidens, threads));
  }
}

TEST(Estimate, TilesAreAsFastAsTheSecondCacheFeedsThem) {
  const CpuSpec amx = spec("cpu_amx");
  for (const int threads : {1, 2})
    EXPECT_NEAR(seconds(amx, kTiles, threads), 1e12 / *amx.bf16_from_l2_all_flop_per_s, 1e-5);
  EXPECT_LT(10 * seconds(amx, kTiles), seconds(amx, kWidens));
}

TEST(Estimate, PairsWinWhereTheMachineDoesThemTwiceAsFast) {
  CpuSpec machine = spec("cpu_avx512");
  machine.bf16_pairs_all_flop_per_s = 2 * machine.f32_all_flop_per_s;
  EXPECT_NEAR(2 * seconds(machine, kPairs), seconds(machine, kWidens), 1e-5);
}

TEST(Estimate, AMachineThatDoesNotSayIsTakenForOneOfHalfTheRate) {
  CpuSpec machine;
  machine.vector_bits = 512;
  machine.f32_all_flop_per_s = 1e11;
  machine.dram_read_all_bytes_per_s = 1e10;
  EXPECT_NEAR(seconds(machine, kPairs), 2 * seconds(machine, kWidens), 1e-5);
  EXPECT_NEAR(seconds(machine, kTiles), seconds(machine, kWidens), 1e-5);
}

TEST(Estimate, HalfTheEfficiencyTakesTwiceAsLong) {
  const CpuSpec machine = spec("cpu_avx512");
  const KernelMachine on(machine);
  Graph graph;
  Node node;
  const Problem problem{graph, node, {}, {}, on, 1};
  const auto by_kernel = [&](double efficiency) { return estimate(problem, kWidens, 1e12, 1, efficiency).seconds; };
  const auto by_isa = [&](double efficiency) { return estimate(problem, Isa::avx512, 1e12, 1, efficiency).seconds; };
  EXPECT_NEAR(by_kernel(1), 1e12 / machine.f32_all_flop_per_s, 1e-5);
  EXPECT_NEAR(by_kernel(0.5), 2 * by_kernel(1), 1e-5);
  EXPECT_NEAR(by_isa(0.5), 2 * by_isa(1), 1e-5);
}

TEST(Estimate, IsBoundByWhatTakesLonger) {
  CpuSpec machine;
  machine.vector_bits = 512;
  machine.f32_all_flop_per_s = 1e11;
  machine.dram_read_all_bytes_per_s = 1e10;
  const KernelMachine on(machine);
  Graph graph;
  Node node;
  const Problem problem{graph, node, {}, {}, on, 1};
  const auto bound = [&](double flops, double bytes) { return estimate(problem, kWidens, flops, bytes, 1).bound; };
  EXPECT_EQ(bound(1e11, 0.99e10), "compute");
  EXPECT_EQ(bound(1e11, 1e10), "compute");  // both take a second
  EXPECT_EQ(bound(1e11, 1.01e10), "memory");
  EXPECT_EQ(bound(1, 1), "overhead");
}

TEST(Estimate, ConversionsAreOfTheMachineThatIsPlannedFor) {
  const KernelMachine cpu(spec("cpu_amx"));
  const KernelMachine gpu(*load_machine_file(std::filesystem::path(TESSERA_MACHINES_DIR) / "nvidia_h200.toml").gpu);
  for (const double bytes : {1e3, 1e6, 1e9}) {
    EXPECT_LE(conversion_estimate(gpu, bytes).seconds, conversion_estimate(cpu, bytes).seconds);
    EXPECT_GT(conversion_estimate(gpu, 2 * bytes).seconds, conversion_estimate(gpu, bytes).seconds);
  }
  EXPECT_THROW(gpu.cpu(), Error);
  EXPECT_THROW(cpu.gpu(), Error);
}

}  // namespace
}  // namespace tessera
