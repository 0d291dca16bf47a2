#include "tessera/ncp/trainer.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/ncp/evaluation.h"
#include "tessera/ncp/tasks/task.h"
#include "tests/error_of.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera::ncp {
namespace {

using testing::HasSubstr;

Trainer make_trainer(const char* layer_text, const TrainingOptions& options) {
  const Layer layer = layer_from_json(layer_text);
  return Trainer(layer, converted<float>(initial_parameters(layer, 3)), options);
}

constexpr const char* kSmall = R"({"type":"CfC","input_size":1,"units":8,"backbone_units":[12,10],
  "backbone_dropout":0.2,"activation":"relu","proj_size":2})";

TrainingOptions xor_options(std::int64_t epochs = 2) {
  return {.epochs = epochs,
          .batch = 16,
          .learning_rate = 0.01,
          .optimizer = {.kind = OptimizerKind::rmsprop},
          .schedule = {.kind = ScheduleKind::exponential},
          .clipping = {.norm = 1},
          .loss = Loss::softmax_cross_entropy,
          .readout = Readout::last_step};
}

void expect_same(const ParameterSet<float>& a, const ParameterSet<float>& b) {
  ASSERT_EQ(a.items.size(), b.items.size());
  for (std::size_t i = 0; i < a.items.size(); ++i) EXPECT_EQ(a.items[i].values, b.items[i].values) << i;
}

using tessera::for_tests::error_of;

TEST(Trainer, LearnsASine) {
  const Task task = sine_task();
  for (const char* text : {R"({"type":"CfC","input_size":2,"units":16,"backbone_units":[32],"proj_size":1})",
                           R"({"type":"LTC","input_size":2,"wiring":{"type":"AutoNCP","units":16,"output_size":1}})"}) {
    Trainer trainer = make_trainer(text, {.epochs = 150, .batch = 1, .learning_rate = 0.01});
    const double before = evaluate(trainer.layer(), trainer.parameters(), task.test, task.loss, task.readout).loss;
    std::optional<EpochReport> report;
    while (!trainer.finished()) report = trainer.run_epoch(task.training);
    EXPECT_EQ(report->epoch, 150);
    // A tenth of the variance of the target, which is what a constant would leave.
    EXPECT_LT(report->training.mean_loss(), 0.05) << text << ", " << before << " before";
  }
}

TEST(Trainer, IsTheSameToTheLastBitForAnyNumberOfThreads) {
  const Task task = xor_task({.training = 100, .validation = 20, .test = 1});
  std::optional<ParameterSet<float>> wanted;
  for (const int threads : {1, 2, 3}) {
    const ThreadLimit limit(threads);
    Trainer trainer = make_trainer(kSmall, xor_options());
    while (!trainer.finished()) trainer.run_epoch(task.training, &task.validation);
    if (!wanted) wanted = trainer.parameters();
    expect_same(trainer.parameters(), *wanted);
  }
  Trainer other = make_trainer(kSmall, [] {
    TrainingOptions options = xor_options();
    options.seed = 2;
    return options;
  }());
  while (!other.finished()) other.run_epoch(task.training, &task.validation);
  EXPECT_NE(other.parameters().items[0].values, wanted->items[0].values);
}

// The same sequences padded to the longest, and stored as long as they are, in another order of rows.
TEST(Trainer, SequencesThatAreNotPaddedTrainToTheSameBits) {
  for (const Readout readout : {Readout::every_step, Readout::last_step})
    for (const char* text :
         {R"({"type":"CfC","input_size":2,"units":8,"backbone_units":[12],"proj_size":1,"mixed_memory":true})",
          R"({"type":"LTC","input_size":2,"wiring":{"type":"AutoNCP","units":8,"output_size":1}})",
          R"({"type":"LTC","input_size":2,"units":3,"solver":"rk4"})"}) {
      const bool wide = std::string_view(text).find("rk4") != std::string_view::npos;
      const std::size_t outputs = wide ? 3 : 1;
      const std::vector<std::int32_t> lengths{3, 1, 9, 4, 2, 9, 7};
      Dataset padded{.samples = 7, .steps = 9, .inputs = 2, .lengths = lengths}, dense = padded;
      for (const bool even : {true, false})
        for (std::size_t s = even ? 0 : 1; s < lengths.size(); s += 2) {
          dense.begins.resize(lengths.size());
          dense.begins[s] = static_cast<std::int64_t>(dense.timespans.size());
          for (int t = 0; t < lengths[s]; ++t) {
            for (int k = 0; k < 2; ++k) dense.input.push_back(std::sin(static_cast<float>(7 * s) + 0.5f * t + k));
            dense.timespans.push_back(0.5f + 0.1f * static_cast<float>(t));
            if (readout == Readout::every_step)
              for (std::size_t k = 0; k < outputs; ++k)
                dense.targets.push_back(std::cos(0.3f * t + static_cast<float>(s)));
          }
        }
      if (readout == Readout::last_step)
        for (std::size_t i = 0; i < lengths.size() * outputs; ++i)
          dense.targets.push_back(0.1f * static_cast<float>(i));
      const auto at = [&](const std::vector<float>& from, std::int64_t s, std::int64_t t, std::int64_t width, float pad,
                          std::vector<float>& to) {
        for (std::int64_t k = 0; k < width; ++k)
          to.push_back(t < dense.length(s) ? from[static_cast<std::size_t>((dense.begin(s) + t) * width + k)] : pad);
      };
      for (std::int64_t s = 0; s < 7; ++s)
        for (std::int64_t t = 0; t < 9; ++t) {
          at(dense.input, s, t, 2, 5, padded.input);
          at(dense.timespans, s, t, 1, 3, padded.timespans);
          if (readout == Readout::every_step)
            at(dense.targets, s, t, static_cast<std::int64_t>(outputs), 9, padded.targets);
        }
      if (readout == Readout::last_step) padded.targets = dense.targets;
      const TrainingOptions options{.epochs = 2, .batch = 3, .readout = readout};
      Trainer one = make_trainer(text, options), other = make_trainer(text, options);
      while (!one.finished()) {
        const EpochReport a = *one.run_epoch(padded, &padded), b = *other.run_epoch(dense, &dense);
        EXPECT_EQ(a.training.loss, b.training.loss);
        EXPECT_EQ(a.validation.loss, b.validation.loss);
      }
      expect_same(one.parameters(), other.parameters());
      const std::int64_t some[] = {5, 0, 2};
      check_dataset(subset(dense, some, readout), one.layer(), Loss::mean_squared_error, readout);
      const LossSums wanted = evaluate(one.layer(), one.parameters(), subset(padded, some, readout),
                                       Loss::mean_squared_error, readout),
                     found = evaluate(one.layer(), one.parameters(), subset(dense, some, readout),
                                      Loss::mean_squared_error, readout);
      EXPECT_EQ(found.loss, wanted.loss);
      Gradient gradient(evaluated(one.layer()));
      gradient.set_parameters(one.parameters());
      const LossSums by_runner = evaluate(
          one.layer(), dense, Loss::mean_squared_error, readout, 2,
          [&](const Sequence<float>& sequence, SequenceResult<float>& result) { gradient.forward(sequence, result); });
      const LossSums whole = evaluate(one.layer(), one.parameters(), dense, Loss::mean_squared_error, readout);
      EXPECT_NEAR(by_runner.loss, whole.loss, 1e-12 * whole.loss);
    }
}

TEST(Trainer, DropoutChangesWhatIsLearnt) {
  const Task task = xor_task({.training = 32, .validation = 1, .test = 1});
  std::vector<ParameterSet<float>> learnt;
  for (const char* rate : {"0", "0.5"}) {
    Trainer trainer = make_trainer(fmt::format(R"({{"type":"CfC","input_size":1,"units":8,"backbone_units":[12,10],
      "backbone_dropout":{},"proj_size":2}})",
                                               rate)
                                       .c_str(),
                                   xor_options(1));
    trainer.run_epoch(task.training);
    learnt.push_back(trainer.parameters());
  }
  EXPECT_NE(learnt[0].items[0].values, learnt[1].items[0].values);
}

TEST(Trainer, StoppedAnywhereItGoesOnAsIfItHadNot) {
  const Task task = xor_task({.training = 100, .validation = 20, .test = 1});
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::rmsprop, OptimizerKind::adam}) {
    TrainingOptions options = xor_options(3);
    options.optimizer = {.kind = kind, .momentum = 0.5};
    Trainer whole = make_trainer(kSmall, options);
    std::vector<EpochReport> wanted;
    while (!whole.finished()) wanted.push_back(*whole.run_epoch(task.training, &task.validation));
    TrainingState state = make_trainer(kSmall, options).state();
    std::vector<EpochReport> found;
    for (int stops = 0; found.size() < 3; ++stops) {
      Trainer part = make_trainer(kSmall, options);
      part.restore(state);
      int batches = 0;
      const auto report =
          part.run_epoch(task.training, &task.validation, [&](const BatchReport&) { return ++batches < 3; });
      if (report) found.push_back(*report);
      state = part.state();
      ASSERT_LT(stops, 30);
    }
    expect_same(state.parameters, whole.parameters());
    expect_same(state.best_parameters, whole.state().best_parameters);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(found[i].training.loss, wanted[i].training.loss);
      EXPECT_EQ(found[i].validation.loss, wanted[i].validation.loss);
      EXPECT_EQ(found[i].gradient_norm, wanted[i].gradient_norm);
      EXPECT_EQ(found[i].best, wanted[i].best);
    }
  }
}

TEST(Trainer, ALossThatIsNotFiniteStopsItWithTheStepAndTheParameter) {
  Task task = xor_task({.training = 40, .validation = 0, .test = 1});
  task.training.input[0] = NAN;
  Trainer trainer = make_trainer(kSmall, xor_options());
  const std::string error = error_of([&] {
    trainer.run_epoch(task.training, nullptr, [](const BatchReport&) { return true; }, "run/checkpoint.safetensors");
  });
  EXPECT_THAT(error, HasSubstr("the loss is not finite at step "));
  EXPECT_THAT(error, HasSubstr("epoch 1, batch "));
  EXPECT_THAT(error, HasSubstr("first in rnn_cell."));
  EXPECT_THAT(error, HasSubstr("the last good checkpoint is run/checkpoint.safetensors"));
  for (const auto& item : trainer.parameters().items)
    for (const float value : item.values) EXPECT_TRUE(std::isfinite(value));
}

TEST(Trainer, PatienceEndsIt) {
  const Task task = xor_task({.training = 40, .validation = 20, .test = 1});
  TrainingOptions options = xor_options(100);
  options.patience = 3;
  options.learning_rate = 1e-12;  // nothing gets better than roundings
  options.optimizer.kind = OptimizerKind::sgd;
  Trainer trainer = make_trainer(kSmall, options);
  while (!trainer.finished()) trainer.run_epoch(task.training, &task.validation);
  EXPECT_LT(trainer.state().epoch, 100);
  EXPECT_EQ(trainer.state().epoch - trainer.state().best_epoch, 3);
}

TEST(Trainer, ExplicitConstraintsAreKept) {
  const Task task = sine_task(12);
  Trainer trainer = make_trainer(R"({"type":"LTC","input_size":2,"wiring":{"type":"AutoNCP","units":8,"output_size":1},
    "implicit_param_constraints":false})",
                                 {.epochs = 20, .batch = 1, .learning_rate = 0.02});
  while (!trainer.finished()) trainer.run_epoch(task.training);
  std::int64_t zeros_found = 0;
  for (const char* constrained : {"w", "sensory_w", "cm", "gleak"}) {
    const int at = trainer.parameters().find(std::string("rnn_cell.") + constrained);
    for (const float value : trainer.parameters().items[static_cast<std::size_t>(at)].values) {
      EXPECT_GE(value, 0);
      zeros_found += value == 0;
    }
  }
  EXPECT_GT(zeros_found, 0) << "nothing was at the border, so the test shows nothing";
}

TEST(Trainer, Float16LeavesStepsOutUntilItsScaleFits) {
  const Task task = xor_task({.training = 64, .validation = 0, .test = 1});
  TrainingOptions options = xor_options(3);
  options.precision = Precision::float16;
  Trainer trainer = make_trainer(kSmall, options);
  TrainingState state = trainer.state();
  state.loss_scale.scale = 0x1p24;
  trainer.restore(state);
  const auto report = *trainer.run_epoch(task.training);
  EXPECT_GT(report.steps_left_out, 0);
  EXPECT_LT(trainer.state().loss_scale.scale, 0x1p24);
  while (!trainer.finished()) trainer.run_epoch(task.training);
  EXPECT_THAT(std::string(trainer.kernel()), HasSubstr("f16"));
}

TEST(Trainer, ShorterTypesLearnAsWell) {
  const Task task = sine_task();
  for (const Precision precision : {Precision::bfloat16, Precision::float16}) {
    Trainer trainer = make_trainer(R"({"type":"CfC","input_size":2,"units":16,"backbone_units":[32],"proj_size":1})",
                                   {.epochs = 150, .batch = 1, .learning_rate = 0.01, .precision = precision});
    std::optional<EpochReport> report;
    while (!trainer.finished()) report = trainer.run_epoch(task.training);
    EXPECT_LT(report->training.mean_loss(), 0.05) << name(precision);
  }
}

TEST(Trainer, EvaluationDoesNotDependOnTheBatch) {
  const Task task = xor_task({.training = 1, .validation = 0, .test = 77});
  const Layer layer = layer_from_json(kSmall);
  const ParameterSet<float> parameters = converted<float>(initial_parameters(layer, 3));
  const LossSums whole = evaluate(layer, parameters, task.test, task.loss, task.readout);
  EXPECT_EQ(whole.rows, 77);
  for (const std::int64_t batch : {1, 10}) {
    const LossSums parts = evaluate(layer, parameters, task.test, task.loss, task.readout, Precision::float32, batch);
    EXPECT_NEAR(parts.loss, whole.loss, 77 * 1e-6);
    EXPECT_EQ(parts.correct, whole.correct);
  }
}

TEST(Trainer, OptionsAreReadBackFromJson) {
  TrainingOptions options = xor_options(7);
  options.optimizer = {.kind = OptimizerKind::adamw, .beta1 = 0.8, .weight_decay = 0.1};
  options.precision = Precision::bfloat16;
  options.seed = 0xffffffffffffffffu;
  options.patience = 4;
  EXPECT_EQ(training_options_from_json(training_options_to_json(options)), options);
  EXPECT_THAT(error_of([] { training_options_from_json(R"({"epoch":1})"); }), HasSubstr("did you mean"));
  EXPECT_THAT(error_of([] { training_options_from_json(R"({"loss":"x"})"); }), HasSubstr("'loss' is 'x'"));
}

TEST(Trainer, DataThatDoesNotFitIsRefused) {
  const Task task = xor_task({.training = 4, .validation = 0, .test = 1});
  const auto with = [&](const auto& change) {
    Dataset data = task.training;
    change(data);
    return error_of([&] { make_trainer(kSmall, xor_options()).run_epoch(data); });
  };
  EXPECT_THAT(with([](Dataset& d) { d.inputs = 2; }), HasSubstr("the data has 2 inputs, the layer 1"));
  EXPECT_THAT(with([](Dataset& d) { d.input.pop_back(); }), HasSubstr("the input has 127 values"));
  EXPECT_THAT(with([](Dataset& d) { d.targets[1] = 2; }), HasSubstr("target 1 is 2: no class from 0 to 1"));
  EXPECT_THAT(with([](Dataset& d) { d.lengths[2] = 33; }), HasSubstr("sample 2 has 33 of 32 steps"));
  EXPECT_THAT(with([](Dataset& d) { d.begins = {0, 32, 64}; }), HasSubstr("begins has 3 values"));
  EXPECT_THAT(with([](Dataset& d) { d.begins = {0, 32, 64, 127}; }), HasSubstr("from row 127 on, of 128 rows"));
  EXPECT_THAT(error_of([] { make_trainer(kSmall, {.epochs = 0}); }), HasSubstr("0 epochs"));
  EXPECT_THAT(error_of([] { make_trainer(kSmall, {.learning_rate = NAN}); }), HasSubstr("learning rate is nan"));
}

}  // namespace
}  // namespace tessera::ncp
