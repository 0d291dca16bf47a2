#include "tessera/io/ncp_checkpoint.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/ncp_file.h"
#include "tessera/ncp/tasks/task.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

namespace tessera {
namespace {

using testing::HasSubstr;

using tessera::for_tests::error_of;

ncp::Trainer make_trainer(std::int64_t epochs = 4) {
  const ncp::Layer layer = ncp::layer_from_json(
      R"({"type":"CfC","input_size":1,"units":6,"backbone_units":[8],"mixed_memory":true,"proj_size":2})");
  return ncp::Trainer(
      layer, ncp::converted<float>(initial_parameters(layer, 3)),
      {.epochs = epochs, .batch = 16, .loss = ncp::Loss::softmax_cross_entropy, .readout = ncp::Readout::last_step});
}

std::filesystem::path path() { return std::filesystem::path(testing::TempDir()) / "checkpoint.safetensors"; }

void save(const ncp::Trainer& trainer) {
  save_ncp_checkpoint(path(), {trainer.layer(), trainer.options(), trainer.state(), {{"task", "xor"}}});
}

TEST(NcpCheckpoint, TrainingGoesOnFromAFileAsIfItHadNotStopped) {
  const ncp::Task task = ncp::xor_task({.training = 50, .validation = 10, .test = 1});
  ncp::Trainer whole = make_trainer();
  while (!whole.finished()) whole.run_epoch(task.training, &task.validation);
  save(make_trainer());
  for (int stops = 0; stops < 40; ++stops) {
    NcpCheckpoint found = load_ncp_checkpoint(path());
    EXPECT_EQ(found.notes.at("task"), "xor");
    ncp::Trainer part(found.layer, found.state.parameters, found.options);
    part.restore(found.state);
    if (part.finished()) break;
    int batches = 0;
    part.run_epoch(task.training, &task.validation, [&](const ncp::BatchReport&) { return ++batches < 3; });
    save(part);
  }
  const NcpCheckpoint last = load_ncp_checkpoint(path());
  EXPECT_EQ(last.state.epoch, 4);
  for (std::size_t i = 0; i < whole.parameters().items.size(); ++i) {
    EXPECT_EQ(last.state.parameters.items[i].values, whole.parameters().items[i].values);
    EXPECT_EQ(last.state.best_parameters.items[i].values, whole.state().best_parameters.items[i].values);
    for (std::size_t m = 0; m < 2; ++m)
      EXPECT_EQ(last.state.optimizer.moments[m].items[i].values, whole.state().optimizer.moments[m].items[i].values);
  }
  EXPECT_EQ(last.state.best_loss, whole.state().best_loss);
}

TEST(NcpCheckpoint, ADiskThatIsFullLeavesTheOneBefore) {
  const ncp::Task task = ncp::xor_task({.training = 50, .validation = 0, .test = 1});
  ncp::Trainer trainer = make_trainer();
  save(trainer);
  const auto before = read_file(path(), 1 << 24);
  trainer.run_epoch(task.training);
  // No file may grow beyond half of what is needed: what a full disk does to a write, without one.
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small{before.size() / 2, old.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = error_of([&] { save(trainer); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, HasSubstr("checkpoint.safetensors"));
  EXPECT_EQ(read_file(path(), 1 << 24), before);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::TempDir()))
    files += entry.path().filename().string().find("checkpoint") != std::string::npos;
  EXPECT_EQ(files, 1u) << "nothing is left behind";
  EXPECT_EQ(load_ncp_checkpoint(path()).state.epoch, 0);
}

TEST(NcpCheckpoint, OtherFilesAreRefused) {
  const ncp::Trainer trainer = make_trainer();
  save_ncp_file(path(), trainer.layer(), trainer.parameters());
  EXPECT_THAT(error_of([] { load_ncp_checkpoint(path()); }), HasSubstr("it is no checkpoint of training"));
  write_file_atomically(path(), std::string_view("nothing"));
  EXPECT_THAT(error_of([] { load_ncp_checkpoint(path()); }), HasSubstr("while reading the checkpoint"));
}

}  // namespace
}  // namespace tessera
