#include "tessera/scale/training_run.h"

#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

namespace tessera {
namespace {

using for_tests::error_of;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kLayer = R"({"type":"CfC","input_size":1,"units":8,"backbone_units":[8],"proj_size":2})";

ncp::TrainingOptions options_of(std::int64_t epochs) {
  return {.epochs = epochs,
          .batch = 16,
          .learning_rate = 0.01,
          .loss = ncp::Loss::softmax_cross_entropy,
          .readout = ncp::Readout::last_step};
}

ncp::Task small_task() { return ncp::xor_task({.training = 64, .validation = 16, .test = 16}); }

struct Alone {
  std::unique_ptr<Communicator> one = single_process();
  TrainingWorld world{*one, "1", false, 1};
};

TEST(TrainingRun, ChangedDataAreNoticed) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "training_run_data";
  const ncp::Task task = small_task();
  {
    Alone alone;
    TrainingRun run(alone.world, {.folder = folder});
    EXPECT_FALSE(run.resume(true, [](NcpCheckpoint&) {}));
    run.begin(ncp::layer_from_json(kLayer), options_of(1));
    EXPECT_TRUE(run.train(task));
  }
  const auto go_on_with = [&](const ncp::Task& changed) {
    Alone alone;
    TrainingRun again(alone.world, {.folder = folder, .resume = true});
    EXPECT_TRUE(again.resume(false, [](NcpCheckpoint& found) { found.options.epochs = 2; }));
    return error_of([&] { again.train(changed); });
  };
  ncp::Task changed = task;
  changed.training.input[0] += 1;
  EXPECT_THAT(go_on_with(changed), AllOf(HasSubstr("was trained on other data"), HasSubstr("the data to train on")));
  changed = task;
  changed.validation.targets[0] = 1 - changed.validation.targets[0];
  EXPECT_THAT(go_on_with(changed), HasSubstr("now the data to validate with"));
  EXPECT_EQ(go_on_with(task), "no error");
  std::filesystem::remove_all(folder);
}

TEST(TrainingRun, GoesOnFromACheckpointAsIfItHadNeverStopped) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "training_run";
  const ncp::Task task = small_task();
  int epochs_told = 0;
  {
    Alone alone;
    TrainingRun run(alone.world, {.folder = folder}, {.on_epoch = [&](const ncp::EpochReport&) { ++epochs_told; }});
    EXPECT_FALSE(run.resume(true, [](NcpCheckpoint&) {}));
    run.begin(ncp::layer_from_json(kLayer), options_of(1));
    run.notes()["task"] = "xor";
    EXPECT_TRUE(run.train(task));
    EXPECT_EQ(run.trained_samples(), 64);
  }
  EXPECT_EQ(epochs_told, 1);
  Alone alone;
  TrainingRun again(alone.world, {.folder = folder, .resume = true});
  EXPECT_TRUE(again.resume(false, [](NcpCheckpoint& found) { found.options.epochs = 2; }));
  EXPECT_EQ(again.notes()["task"], "xor");
  EXPECT_TRUE(again.train(task));
  again.write_results("xor");
  for (const char* file : {"model.safetensors", "best.safetensors", "training.json"})
    EXPECT_TRUE(std::filesystem::exists(folder / file)) << file;

  Alone straight_alone;
  TrainingRun straight(straight_alone.world, {});
  straight.begin(ncp::layer_from_json(kLayer), options_of(2));
  EXPECT_TRUE(straight.train(task));
  const auto &found = again.trainer().state().parameters.items, &expected = straight.trainer().state().parameters.items;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i].values, expected[i].values) << expected[i].info.name;
}

TEST(TrainingRun, ACheckpointIsNotOverwrittenUnasked) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "training_run_kept";
  Alone alone;
  {
    TrainingRun run(alone.world, {.folder = folder});
    EXPECT_FALSE(run.resume(true, [](NcpCheckpoint&) {}));
    run.begin(ncp::layer_from_json(kLayer), options_of(1));
    EXPECT_TRUE(run.train(small_task()));
    TrainingRun beside(alone.world, {.folder = folder});
    EXPECT_THAT(error_of([&] { beside.resume(true, [](NcpCheckpoint&) {}); }), HasSubstr("is in use by process"));
  }
  TrainingRun other(alone.world, {.folder = folder});
  EXPECT_THAT(error_of([&] { other.resume(true, [](NcpCheckpoint&) {}); }), HasSubstr("already has a checkpoint"));
}

}  // namespace
}  // namespace tessera
