// Liquid layers that are trained and run on several threads at once.

#include "on_threads.h"

#include "tessera/core/parallel_for.h"
#include "tessera/ncp/runner.h"
#include "tessera/ncp/tasks/task.h"
#include "tessera/ncp/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace tessera::ncp {
namespace {

using for_tests::on_threads;
using testing::Each;

constexpr const char* kLayers[] = {
    R"({"type":"CfC","input_size":1,"units":8,"backbone_units":[12],"backbone_dropout":0.2,"proj_size":2})",
    R"({"type":"LTC","input_size":1,"wiring":{"type":"AutoNCP","units":12,"output_size":2}})"};

ParameterSet<float> trained(const char* text, const Task& task) {
  const Layer layer = layer_from_json(text);
  Trainer trainer(layer, converted<float>(initial_parameters(layer, 3)),
                  {.epochs = 2, .batch = 8, .loss = Loss::softmax_cross_entropy, .readout = Readout::last_step});
  while (!trainer.finished()) trainer.run_epoch(task.training, &task.validation);
  return trainer.parameters();
}

void check_same(const ParameterSet<float>& a, const ParameterSet<float>& b) {
  for (std::size_t i = 0; i < a.items.size(); ++i)
    check(a.items[i].values == b.items[i].values, Code::internal, "{} differs", a.items[i].info.name);
}

TEST(TrainingOnThreads, TrainersSideBySideGiveTheBitsOfOneAlone) {
  const Task task = xor_task({.training = 32, .validation = 8, .test = 8});  // all learn from the same data
  for (const char* layer : kLayers) {
    const ParameterSet<float> alone = [&] {
      const ThreadLimit limit(1);
      return trained(layer, task);
    }();
    const auto thrown = on_threads(4, [&](int t) {
      const ThreadLimit limit(1 + t % 3);
      check_same(trained(layer, task), alone);
    });
    EXPECT_THAT(thrown, Each(""));
  }
}

TEST(TrainingOnThreads, OneThatIsStoppedLeavesTheOthersAlone) {
  const Task task = xor_task({.training = 32, .validation = 8, .test = 8});
  const ParameterSet<float> alone = trained(kLayers[0], task);
  const auto thrown = on_threads(4, [&](int t) {
    if (t % 2 == 0) {
      check_same(trained(kLayers[0], task), alone);
      return;
    }
    const Layer layer = layer_from_json(kLayers[0]);
    Trainer trainer(layer, converted<float>(initial_parameters(layer, 3)),
                    {.epochs = 9, .batch = 8, .loss = Loss::softmax_cross_entropy, .readout = Readout::last_step});
    const auto report =
        trainer.run_epoch(task.training, nullptr, [](const BatchReport& done) { return done.batch < 2; });
    check(!report && trainer.state().batch == 2, Code::internal, "it did not stop after two batches");
  });
  EXPECT_THAT(thrown, Each(""));
}

TEST(TrainingOnThreads, OneRunnerServesAll) {
  for (const char* text : kLayers) {
    const Layer layer = layer_from_json(text);
    const Runner runner(layer, converted<float>(initial_parameters(layer, 3)));
    const std::int64_t batch = 6, steps = 5;
    std::vector<float> input(static_cast<std::size_t>(batch * steps));
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 7) / 7;
    Sequence<float> sequence;
    sequence.batch = batch;
    sequence.steps = steps;
    sequence.input = input;
    const std::vector<float> wanted = [&] {
      const ThreadLimit limit(1);
      return runner.run(sequence).output;
    }();
    const auto thrown = on_threads(8, [&](int t) {
      const ThreadLimit limit(1 + t % 3);
      for (int i = 0; i < 4; ++i)
        check(runner.run(sequence).output == wanted, Code::internal, "another output in thread {}", t);
      Stepper stepper(runner);
      const std::span<const float> first = stepper.step(std::span(input).first(1));
      check(first[0] == wanted[0], Code::internal, "a first step of {}, not {}", first[0], wanted[0]);
    });
    EXPECT_THAT(thrown, Each(""));
  }
}

}  // namespace
}  // namespace tessera::ncp
