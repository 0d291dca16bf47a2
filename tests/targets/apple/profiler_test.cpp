#include "tessera/targets/apple/verdicts/profiler.h"

#include "tessera/core/error.h"
#include "tessera/ncp/gradient.h"
#include "tessera/targets/apple/verdicts/guide.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tessera::apple {
namespace {

using ::testing::HasSubstr;

DeviceProfile host() {
  static const DeviceProfile measured = measure_host(0.02);
  return measured;
}

// By hand: three kernels a step, each the longer of its two times and a launch.
TEST(ModelledRun, IsTheRooflineWithLaunches) {
  const DeviceProfile device = device_profile("M1");
  const ncp::CfcLayer layer = create_optimized_model(device, 64);
  const ModelledRun run = model_run(ncp::forward_work(layer, 64, 1), device);
  struct Kernel {
    double flops, specials, bytes;
  };
  const Kernel kernels[] = {
      {2.0 * 64 * 192 * 64 + 3 * 64 * 64, 64 * 64, 4.0 * (64 * 192 + 64 * 64 + 192 * 64 + 64)},
      {2.0 * 64 * 64 * 64 + 3 * 64 * 64, 64 * 64, 4.0 * (64 * 64 + 64 * 64 + 64 * 64 + 64)},
      {2.0 * 64 * 64 * 512 + 9 * 64 * 128, 3 * 64 * 128, 4.0 * (64 * 64 + 64 * 128 + 64 * 512 + 512)}};
  double time = 0, flops = 0;
  for (const Kernel& k : kernels) {
    time += std::max((k.flops + 3 * k.specials) / 2.6e12, k.bytes / 68e9) + 5e-6;
    flops += k.flops;
  }
  EXPECT_NEAR(run.total.time_ns * 1e-9, time, 1e-12 * time + 1e-15);
  EXPECT_NEAR(run.flop_per_s(), flops / time, 1e-9 * flops / time);
  EXPECT_EQ(run.total.bound(), Bound::launch);
  EXPECT_EQ(run.total.launch_ns, 15000);
}

TEST(ModelledRun, SaysWhichLaunchCostWouldReachATarget) {
  DeviceProfile device = device_profile("M1 Ultra");
  const ModelledRun run = model_run(ncp::forward_work(create_optimized_model(device, 64), 512, 16), device);
  for (const double target : {5e12, 15e12}) {
    const std::optional<double> launch = launch_ns_to_reach(run, target);
    ASSERT_TRUE(launch.has_value());
    device.launch_ns = *launch;
    EXPECT_NEAR(model_run(run.work, device).flop_per_s(), target, 1e-9 * target);
  }
  EXPECT_FALSE(launch_ns_to_reach(run, 22e12).has_value());
  EXPECT_GE(*launch_ns_to_reach(run, 15e12, Bytes::from_caches), *launch_ns_to_reach(run, 15e12));
}

TEST(ModelledRun, FindsChangesThatReachWhatTheyClaim) {
  for (const char* name : {"M1", "M1 Pro", "M1 Max", "M1 Ultra"}) {
    SCOPED_TRACE(name);
    const DeviceProfile device = device_profile(name);
    const ncp::CfcLayer layer = create_optimized_model(device, 64);
    const std::vector<LayerChange> ways = ways_to_targets(layer, device.get_optimal_batch_size(), 16, device);
    EXPECT_FALSE(ways.empty());
    for (const LayerChange& way : ways) {
      EXPECT_TRUE(way.reaches_compute || way.reaches_bandwidth) << way.change;
      EXPECT_EQ(way.reaches_compute, way.run.flop_per_s() >= device.min_tflops() * 1e12) << way.change;
      EXPECT_LE(way.memory_bytes, device.memory_budget_bytes);
      // Backbones keep their width, measured in units.
      const auto& changed = std::get<ncp::CfcLayer>(way.layer);
      for (std::size_t i = 0; i < layer.backbone.size(); ++i)
        EXPECT_EQ(changed.backbone[i], std::max(1, layer.backbone[i] * changed.units / layer.units)) << way.change;
    }
  }
}

TEST(Profiler, OnAnAppleDeviceIsModelledInEveryNumber) {
  const DeviceProfile device = device_profile("M1 Max");
  Profiler profiler(create_optimized_model(device, 64), device);
  for (const Stats& stats : profiler.profile_all({.batch_size = 256, .seq_length = 16})) {
    EXPECT_EQ(stats.kind, "modelled");
    EXPECT_THAT(stats.note, HasSubstr("modelled"));
    for (const Stat& stat : stats.items) EXPECT_NE(stat.kind, "measured") << stat.key;
  }
  const Stats compute = profiler.profile_compute({.batch_size = 256, .seq_length = 16});
  EXPECT_EQ(compute.find("tflops")->kind, "modelled");
  EXPECT_EQ(compute.at("time_std"), 0);
  EXPECT_DOUBLE_EQ(compute.at("flops_mean") * 1e-12, compute.at("tflops"));
  EXPECT_DOUBLE_EQ(compute.at("samples_per_second"), 256 / compute.at("time_mean"));
  const Stats hardware = profiler.profile_hardware({.batch_size = 256, .seq_length = 16});
  EXPECT_DOUBLE_EQ(hardware.at("peak_tflops"), device.peak_flop_per_s * 1e-12);
  EXPECT_DOUBLE_EQ(hardware.at("peak_bandwidth"), device.peak_bytes_per_s * 1e-9);
}

TEST(Profiler, HasTheDocumentedKeys) {
  const ncp::CfcLayer layer{.inputs = 4, .units = 8};
  for (const DeviceProfile& device : {host(), device_profile("M1")}) {
    Profiler profiler(layer, device);
    const ProfileSettings settings{.batch_size = 8, .seq_length = 4, .num_runs = 5};
    const std::vector<Stats> all = profiler.profile_all(settings);
    const std::vector<std::vector<const char*>> keys = {
        {"time_mean", "time_std", "time_p50", "time_p99", "flops_mean", "flops_std", "tflops", "ne_utilization",
         "samples_per_second"},
        {"peak_usage", "current_usage", "total_allocated", "total_freed", "bandwidth", "memory_utilization"},
        {"ne_utilization", "compute_utilization", "memory_utilization", "tflops", "bandwidth"},
        {"kernel_time", "memory_time", "num_kernels", "num_transfers"}};
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const char* key : keys[i]) EXPECT_GE(all[i].at(key), 0) << key;
    EXPECT_THROW(all[1].at("cache_hit_rate"), Error);
    EXPECT_THAT(all[1].find("cache_hit_rate")->why, HasSubstr("caches"));
    EXPECT_EQ(profiler.history().size(), 4u);
    EXPECT_THAT(profiler.summary(), HasSubstr("tflops"));
    const auto json = nlohmann::json::parse(stats_to_json(all));
    EXPECT_EQ(json["profiles"][0]["values"]["batch_size"], 8);
    EXPECT_EQ(json["profiles"][0]["kinds"]["tflops"], device.kind());
    EXPECT_TRUE(json["profiles"][1]["values"]["cache_hit_rate"].is_null());
    EXPECT_THAT(json["profiles"][1]["why"]["cache_hit_rate"].get<std::string>(), HasSubstr("caches"));
    EXPECT_THAT(profiler.summary(), HasSubstr("  cache_hit_rate: "));
  }
}

TEST(Profiler, OnTheHostMeasuresTimesAndCountsMemory) {
  const ncp::CfcLayer layer{.inputs = 16, .units = 32};
  Profiler profiler(layer, host());
  const Stats compute = profiler.profile_compute({.batch_size = 16, .seq_length = 8, .num_runs = 20});
  EXPECT_EQ(compute.kind, "measured");
  EXPECT_GT(compute.at("time_p50"), 0);
  EXPECT_GE(compute.at("time_p99"), compute.at("time_p50"));
  EXPECT_GT(compute.at("tflops"), 0);
  const Stats memory = profiler.profile_memory({.batch_size = 16, .seq_length = 8, .num_runs = 3});
  // At least the weights, the inputs and the outputs have to be there.
  const double least = 4.0 * static_cast<double>(ncp::count_parameters(layer).total) + 4.0 * 16 * 8 * (16 + 32);
  EXPECT_GE(memory.at("peak_usage") * 1048576, least);
  EXPECT_NEAR(memory.at("total_allocated") - memory.at("total_freed"), memory.at("current_usage"), 1e-9);
  const Stats more = profiler.profile_memory({.batch_size = 32, .seq_length = 8, .num_runs = 3});
  EXPECT_GT(more.at("peak_usage"), memory.at("peak_usage"));
}

TEST(Profiler, OnTheHostStreamsThroughTheGradientsOfTraining) {
  const ProfileSettings settings{.batch_size = 64, .seq_length = 16, .num_runs = 3};
  for (const ncp::Layer& layer : {ncp::Layer(ncp::CfcLayer{.inputs = 16, .units = 96}),
                                  ncp::layer_from_json(R"({"type":"LTC","input_size":16,"units":32})")}) {
    Profiler profiler(layer, host());
    const Stats stream = profiler.profile_stream(settings);
    EXPECT_EQ(stream.note, ncp::Gradient(layer).kernel());
    EXPECT_EQ(stream.at("batch_size"), 64);
    EXPECT_EQ(stream.at("num_runs"), 3);
    EXPECT_EQ(stream.find("kernel_time")->kind, "measured");
    EXPECT_GT(stream.at("kernel_time"), 0);
  }
  Profiler slow(ncp::layer_from_json(R"({"type":"LTC","input_size":2,"units":3,"solver":"rk4"})"), host());
  const Stats stream = slow.profile_stream(settings);
  EXPECT_THAT(stream.note, HasSubstr("the reference did"));
  EXPECT_EQ(stream.at("num_runs"), 1);
}

TEST(Profiler, RefusesSettingsOfNothing) {
  Profiler profiler(ncp::CfcLayer{.inputs = 1, .units = 2}, device_profile("M1"));
  EXPECT_THROW(profiler.profile_compute({.batch_size = 0}), Error);
  EXPECT_THROW(profiler.profile_stream({.num_runs = 0}), Error);
  EXPECT_THROW(Profiler(ncp::CfcLayer{.inputs = 0, .units = 2}, device_profile("M1")), Error);
}

TEST(Verdicts, OfTheHostSayWhatItsMemoryAloneWouldFeed) {
  const ncp::CfcLayer layer{.inputs = 16, .units = 32};
  Profiler profiler(layer, host());
  const Verdict compute = validate_performance(profiler, {.batch_size = 16, .seq_length = 8, .num_runs = 3})[0];
  const double intensity =
      model_run(ncp::forward_work(layer, 16, 8, {.fusion = ncp::Fusion::full, .skips_absent_synapses = true}), host())
          .intensity();
  EXPECT_THAT(compute.why, HasSubstr(fmt::format("{:.3g} FLOP/B: memory alone would feed {:.3g} TFLOP/s, ", intensity,
                                                 intensity * host().peak_bytes_per_s / 1e12)));
}

TEST(Verdicts, SayWhatIsMissedAndWhy) {
  const DeviceProfile device = device_profile("M1");
  Profiler profiler(create_optimized_model(device, 64), device);
  const ProfileSettings settings{.batch_size = 64, .seq_length = 16};
  const std::vector<Verdict> verdicts = validate_performance(profiler, settings);
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts[0].check, "tflops");
  EXPECT_FALSE(verdicts[0].ok);
  EXPECT_EQ(verdicts[0].kind, "modelled");
  const ModelledTime time =
      model_run(ncp::forward_work(create_optimized_model(device, 64), 64, 16, {.fusion = kFrameworkFusion}), device)
          .total;
  EXPECT_THAT(verdicts[0].why, HasSubstr(fmt::format("launch-bound: of {:.3g} us a step", time.time_ns / 16 * 1e-3)));
  EXPECT_THAT(verdicts[0].why, HasSubstr(fmt::format("kernels wait {:.3g} us", time.launch_ns / 16 * 1e-3)));
  EXPECT_THAT(verdicts[0].why, HasSubstr("if caches served every byte, reached if besides a launch cost"));
  Profiler ultra(create_optimized_model(device_profile("M1 Ultra"), 64), device_profile("M1 Ultra"));
  const Verdict missed = validate_performance(ultra, {.batch_size = 512, .seq_length = 16})[0];
  EXPECT_NEAR(missed.value, 13.5, 0.05);  // of 16: kernels that MLX launches, where three for each step would do
  EXPECT_FALSE(missed.ok);
  EXPECT_THAT(missed.why, HasSubstr("10.06 kernels wait"));
  EXPECT_EQ(verdicts[1].check, "bandwidth");
  EXPECT_TRUE(verdicts[2].ok);
  try {
    require(verdicts);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("tflops is"));
    EXPECT_THAT(error.message(), HasSubstr("at least 2 is asked for"));
  }
  require({verdicts[2]});
  EXPECT_EQ(nlohmann::json::parse(verdicts_to_json(verdicts))["rows"].size(), 3u);
  const std::vector<Verdict> usage = verify_hardware_usage(profiler, settings);
  EXPECT_FALSE(usage[0].ok);
  EXPECT_EQ(usage[0].target, 50);
  EXPECT_THAT(usage[0].why, HasSubstr("Neural Engine"));
}

TEST(Verdicts, PassWhereTargetsAreReached) {
  DeviceProfile device = device_profile("M1 Ultra");
  Profiler profiler(create_optimized_model(device, 64), device);
  const ProfileSettings fused{.batch_size = 512, .seq_length = 16, .fusion = ncp::Fusion::full};
  EXPECT_TRUE(validate_performance(profiler, fused)[0].ok);
  EXPECT_TRUE(verify_hardware_usage(profiler, fused)[0].ok);
  device.memory_budget_bytes = 1 << 20;
  Profiler tight(create_optimized_model(device, 64), device);
  EXPECT_FALSE(validate_performance(tight, {.batch_size = 512, .seq_length = 16})[2].ok);
}

TEST(Monitors, UseTheDevicesBatch) {
  const DeviceProfile device = device_profile("M1");
  const ncp::CfcLayer layer = create_optimized_model(device, 8);
  const Stats stats = monitor_performance(layer, device);
  EXPECT_EQ(stats.at("batch_size"), 64);
  EXPECT_EQ(stats.at("seq_length"), 16);
  EXPECT_GT(monitor_bandwidth(layer, device), 0);
  EXPECT_THAT(quick_profile(layer, device), HasSubstr("Apple M1 (apple_m1), modelled"));
}

}  // namespace
}  // namespace tessera::apple
