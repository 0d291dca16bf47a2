// The commands that run networks: run, bench, profile, plan, explain, kernels.

#include "run_command.h"

#include "tessera/core/file.h"
#include "tessera/io/npy.h"
#include "tessera/io/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace tessera {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kNetwork = "mobilenet_v2";

class RunNetworks : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder()), fs::create_directories(folder()); }
  void TearDown() override { fs::remove_all(folder()); }
  static fs::path folder() {
    return fs::path(testing::TempDir()) /
           (std::string("tessera-run-") + testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  static std::string path(const char* name) { return (folder() / name).string(); }
};

NpyArray image(float value) {
  NpyArray array;
  array.type = ElementType::float32;
  array.shape = {1, 3, 224, 224};
  const std::vector<float> pixels(3 * 224 * 224, value);
  const auto bytes = std::as_bytes(std::span(pixels));
  array.data.assign(bytes.begin(), bytes.end());
  return array;
}

TEST_F(RunNetworks, AClassifierShowsItsFiveBestAndWhatThePlanTakes) {
  const CommandResult result = run_tessera({"run", kNetwork});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("[1, 1000]"), HasSubstr("probability"), HasSubstr("values need"),
                                HasSubstr("packed weights")));
}

TEST_F(RunNetworks, AGpuRunsTheNetworkOrWhatIsMissingIsSaid) {
  const CommandResult result = run_tessera({"run", kNetwork, "--device", "cuda"});
  if (result.status == 0) {
    EXPECT_THAT(result.out, AllOf(HasSubstr("[1, 1000]"), HasSubstr("for all of the network")));
    return;
  }
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AnyOf(HasSubstr("cuda: no driver"), HasSubstr("cuda: no device"), HasSubstr("sm_90a"),
                                HasSubstr("this build has no kernels for GPUs")));
}

TEST_F(RunNetworks, PlansForAGpuNeedNone) {
  const CommandResult result = run_tessera({"plan", kNetwork, "--device", "nvidia_h200", "--dtype", "bf16"});
  if (result.status != 0) {
    EXPECT_THAT(result.err, HasSubstr("machines of the family gpu are not planned for yet"));  // a build without CUDA
    return;
  }
  EXPECT_THAT(result.out, AllOf(HasSubstr("depthwise_bf16"), HasSubstr("channels_last"), HasSubstr("estimated on")));
  EXPECT_EQ(run_tessera({"plan", kNetwork, "--device", "nvidia_h200", "--threads", "2"}).status, 1);
  EXPECT_THAT(run_tessera({"explain", kNetwork, "classifier", "--device", "nvidia_h200"}).out,
              AllOf(HasSubstr("gemv_f16"), HasSubstr("chosen")));
}

TEST_F(RunNetworks, InputsComeFromNpzOrNpyAndOutputsGoToNpy) {
  save_npz(path("in.npz"), {{"x", image(0.5f)}});
  const NpyArray array = image(0.5f);
  save_npy(path("x.npy"), NpyView(array.type, array.shape, array.data));
  const CommandResult a = run_tessera({"run", kNetwork, "--input", path("in.npz"), "--output", path("a")});
  ASSERT_EQ(a.status, 0) << a.err;
  const CommandResult b = run_tessera({"run", kNetwork, "--input", "x=" + path("x.npy"), "--output", path("b")});
  ASSERT_EQ(b.status, 0) << b.err;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder() / "a")) files.push_back(entry.path().filename());
  ASSERT_EQ(files.size(), 1u);
  const NpyArray first = load_npy(folder() / "a" / files[0]), second = load_npy(folder() / "b" / files[0]);
  EXPECT_EQ(first.shape, (std::vector<std::int64_t>{1, 1000}));
  EXPECT_EQ(first.data, second.data);
}

TEST_F(RunNetworks, AnInputThatTheNetworkLacksIsNamedWithThoseItHas) {
  save_npz(path("in.npz"), {{"picture", image(0.5f)}});
  const CommandResult result = run_tessera({"run", kNetwork, "--input", path("in.npz")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("no input 'picture', only x"));
}

TEST_F(RunNetworks, ANameThatIsNeitherFileNorNetworkListsTheNetworks) {
  const CommandResult result = run_tessera({"run", "resnet51"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("resnet51"), HasSubstr("resnet50"), HasSubstr("unet")));
}

TEST_F(RunNetworks, BenchGivesTheFieldsThatScriptsRead) {
  const CommandResult result = run_tessera({"bench", kNetwork, "--runs", "2", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json.at("name"), kNetwork);
  EXPECT_GT(json.at("median_ms").get<double>(), 0);
  EXPECT_LE(json.at("min_ms").get<double>(), json.at("median_ms").get<double>());
  EXPECT_GT(json.at("gflops").get<double>(), 0);
  EXPECT_EQ(json.at("rows").at(0).at("name"), kNetwork);
}

TEST_F(RunNetworks, BenchTellsSlowRunsTheFirstOneAndHowManyFitIntoASecond) {
  const CommandResult result = run_tessera({"bench", kNetwork, "--runs", "20", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = Json::parse(result.out);
  const auto ms = [&](const char* key) { return json.at(key).get<double>(); };
  EXPECT_EQ(json.at("runs"), 20);
  EXPECT_LE(ms("min_ms"), ms("median_ms"));
  EXPECT_LE(ms("median_ms"), ms("p90_ms"));
  EXPECT_LE(ms("p90_ms"), ms("p99_ms"));
  EXPECT_LE(ms("min_ms"), ms("mean_ms"));
  EXPECT_LE(ms("mean_ms"), ms("p99_ms"));
  EXPECT_GT(ms("first_ms"), 0);
  // One after the other: no more than the mean allows, give or take what is between runs.
  EXPECT_LE(ms("runs_per_s"), 1e3 / ms("mean_ms") * 1.001);
}

TEST_F(RunNetworks, StreamsShareTheThreads) {
  const CommandResult result =
      run_tessera({"bench", kNetwork, "--runs", "6", "--streams", "2", "--format", "json"}, {{"TESSERA_THREADS", "2"}});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json.at("streams"), 2);
  EXPECT_EQ(json.at("threads"), 1);
  EXPECT_EQ(json.at("runs"), 6);
  const CommandResult many = run_tessera({"bench", kNetwork, "--streams", "3", "--threads", "2"});
  EXPECT_EQ(many.status, 1);
  EXPECT_THAT(many.err, HasSubstr("--streams 3 does not fit 2 threads: each needs one"));
}

TEST_F(RunNetworks, BenchHasARowForEachLayerOfAFile) {
  write_file_atomically(path("two.txt"),
                        "# two of them\nwide n2 h9 w9 ic8 oc16 k3 p1 bias relu pool2\ndeep h5 w5 ic32 oc32 k1\n");
  const CommandResult result = run_tessera({"bench", path("two.txt"), "--seconds", "0.001", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = Json::parse(result.out);
  ASSERT_EQ(json.at("rows").size(), 2u);
  EXPECT_EQ(json.at("kind"), "measured");
  const Json& row = json.at("rows")[0];
  EXPECT_EQ(row.at("name"), "wide");
  EXPECT_EQ(row.at("flops"), 2.0 * 2 * 9 * 9 * 16 * 8 * 9);
  EXPECT_LE(row.at("min_ms").get<double>(), row.at("median_ms").get<double>());
  EXPECT_GT(row.at("min_ms").get<double>(), 0);
  EXPECT_GT(row.at("kernel_ms").get<double>(), 0);
  EXPECT_GT(row.at("gflops").get<double>(), 0);
  EXPECT_GT(row.at("peak_percent").get<double>(), 0);
  EXPECT_THAT(row.at("kernel").get<std::string>(), AnyOf(HasSubstr("conv2d"), HasSubstr("winograd")));
  const CommandResult filtered =
      run_tessera({"bench", path("two.txt"), "--seconds", "0.001", "--filter", "dee", "--format", "json"});
  ASSERT_EQ(filtered.status, 0) << filtered.err;
  EXPECT_EQ(Json::parse(filtered.out).at("rows").size(), 1u);
}

TEST_F(RunNetworks, ALayerOfAFileIsANetworkToo) {
  write_file_atomically(path("one.txt"), "a:b n2 h9 w9 ic8 oc16 k3 p1 pool2\n");
  const CommandResult result =
      run_tessera({"run", path("one.txt") + ":a:b", "--output", path("out"), "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(load_npy(folder() / "out" / "y.npy").shape, (std::vector<std::int64_t>{2, 16, 4, 4}));
  const CommandResult missing = run_tessera({"run", path("one.txt") + ":a:c"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("no layer 'a:c'; did you mean 'a:b'?"));
  EXPECT_THAT(run_tessera({"run", path("one.txt")}).err, HasSubstr("is a file of layers"));
}

TEST_F(RunNetworks, BenchRefusesWhatMakesNoSense) {
  write_file_atomically(path("bad.txt"), "ok h4 w4 ic1 oc1 k3\nbad h4 w4 ic1 oc1 k9\n");
  const CommandResult bad = run_tessera({"bench", path("bad.txt")});
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("a kernel of 9x9 does not fit"), HasSubstr("in line 2"), HasSubstr("bad.txt")));
  EXPECT_THAT(run_tessera({"bench"}).err, HasSubstr("no network and no file of layers"));
  EXPECT_THAT(run_tessera({"bench", "--peak", kNetwork}).err, HasSubstr("--peak"));
  EXPECT_THAT(run_tessera({"bench", kNetwork, "--filter", "x"}).err, HasSubstr("--filter"));
  EXPECT_THAT(run_tessera({"bench", path("bad.txt"), "--batch", "2"}).err, HasSubstr("--batch"));
}

TEST_F(RunNetworks, BenchMeasuresWhatTheProcessorCanDo) {
  const CommandResult result = run_tessera({"bench", "--peak", "--threads", "1", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_GT(Json::parse(result.out).at("rows")[0].at("gflops").get<double>(), 0);
  EXPECT_GT(Json::parse(result.out).at("rows")[0].at("read_gb_per_s").get<double>(), 0);
}

TEST_F(RunNetworks, ProfileHasARowForEachStepAndWritesATrace) {
  const CommandResult result =
      run_tessera({"profile", kNetwork, "--runs", "1", "--trace", path("t.json"), "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json rows = Json::parse(result.out).at("rows");
  EXPECT_GT(rows.size(), 20u);
  for (const Json& row : rows) EXPECT_NE(row.at("kernel"), "reference") << row.dump();
  const Json trace = Json::parse(read_text_file(path("t.json")));
  EXPECT_EQ(trace.at("otherData").at("times"), "measured");
  EXPECT_GT(trace.at("traceEvents").size(), rows.size());
}

TEST_F(RunNetworks, APlanFileDecidesTheKernels) {
  const CommandResult planned = run_tessera({"plan", kNetwork, "-o", path("plan.json"), "--format", "json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  Json file = Json::parse(read_text_file(path("plan.json")));
  ASSERT_EQ(file.at("kind"), "tessera plan");
  // Another choice for the first convolution that had one.
  std::string node, other;
  ASSERT_EQ(file, Json::parse(planned.out));  // the same document
  for (Json& step : file.at("body").at("stages")[0].at("steps")) {
    if (!step.contains("slower") || step["kernel"] == "view") continue;
    node = step["node"];
    other = step["slower"][0]["kernel"];
    step["kernel"] = other;
    break;
  }
  ASSERT_NE(node, "");
  write_file_atomically(path("changed.json"), file.dump());
  const CommandResult again = run_tessera({"plan", kNetwork, "--plan", path("changed.json"), "--format", "json"});
  ASSERT_EQ(again.status, 0) << again.err;
  const Json rows = Json::parse(again.out).at("steps");
  bool seen = false;
  for (const Json& row : rows)
    if (row.at("node") == node) {
      seen = true;
      EXPECT_EQ(row.at("config"), other);
    }
  EXPECT_TRUE(seen);
}

TEST_F(RunNetworks, ExplainSaysWhyEveryOtherKernelWasNotTaken) {
  const CommandResult planned = run_tessera({"plan", kNetwork, "--format", "json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  std::string node;
  const Json rows = Json::parse(planned.out).at("steps");
  for (const Json& row : rows)
    if (node.empty() && row.at("op").get<std::string>().starts_with("Conv")) node = row.at("node");
  const CommandResult result = run_tessera({"explain", kNetwork, node, "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json verdicts = Json::parse(result.out).at("rows");
  ASSERT_GT(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].at("verdict"), "chosen");
  for (const Json& row : verdicts) EXPECT_TRUE(row.at("verdict") != "refused" || row.at("reason") != "") << row.dump();
}

TEST_F(RunNetworks, AFileThatIsNoPlanIsRefused) {
  write_file_atomically(path("no.json"), std::string("{\"a\": 1}"));
  const CommandResult result = run_tessera({"run", kNetwork, "--plan", path("no.json")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("no plan file"));
}

TEST_F(RunNetworks, AMemoryLimitThatIsTooSmallSaysThePeak) {
  const CommandResult result = run_tessera({"run", kNetwork, "--memory-limit", "1KiB"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("bytes for values at once"), HasSubstr("the limit is 1024")));
}

TEST_F(RunNetworks, MoreThanTheMachineHasIsSaidInFigures) {
  const CommandResult result = run_tessera({"run", "resnet18", "--batch", "1000000"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("takes"), HasSubstr("GB, this machine has")));
}

TEST_F(RunNetworks, KernelsListsThemByOperator) {
  const CommandResult result = run_tessera({"kernels", "Conv", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_GT(Json::parse(result.out).at("rows").size(), 3u);
}

}  // namespace
}  // namespace tessera
