#include "tessera/scale/rank_exchange.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/ncp/tasks/task.h"
#include "tessera/ncp/trainer.h"
#include "thread_world.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

namespace tessera {
namespace {

using for_tests::Threads;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr const char* kDropping = R"({"type":"CfC","input_size":1,"units":8,"backbone_units":[12,10],
  "backbone_dropout":0.2,"activation":"relu","proj_size":2})";
constexpr const char* kLtc = R"({"type":"LTC","input_size":1,"wiring":{"type":"AutoNCP","units":9,"output_size":2}})";

ncp::TrainingOptions options_of(std::int64_t epochs, std::int64_t batch) {
  return {.epochs = epochs,
          .batch = batch,
          .learning_rate = 0.01,
          .optimizer = {.kind = ncp::OptimizerKind::rmsprop},
          .clipping = {.norm = 1},
          .loss = ncp::Loss::softmax_cross_entropy,
          .readout = ncp::Readout::last_step};
}

ncp::Task small_task() { return ncp::xor_task({.training = 110, .validation = 50, .test = 30}); }

struct Outcome {
  ncp::TrainingState state;
  std::vector<ncp::EpochReport> reports;
  ncp::LossSums test;
};

ncp::Trainer make_trainer(const char* text, const ncp::TrainingOptions& options, ncp::GradientExchange* exchange) {
  const ncp::Layer layer = ncp::layer_from_json(text);
  return ncp::Trainer(layer, ncp::converted<float>(initial_parameters(layer, 3)), options, exchange);
}

// One process, without an exchange.
Outcome alone(const char* text, const ncp::TrainingOptions& options, const ncp::Task& task) {
  ncp::Trainer trainer = make_trainer(text, options, nullptr);
  Outcome out;
  while (!trainer.finished()) out.reports.push_back(*trainer.run_epoch(task.training, &task.validation));
  out.state = trainer.state();
  out.test = evaluate(trainer.layer(), trainer.parameters(), task.test, task.loss, task.readout, options.precision);
  return out;
}

std::vector<Outcome> trained_by(int ranks, SumOrder order, const char* text, const ncp::TrainingOptions& options,
                                const ncp::Task& task) {
  std::vector<Outcome> out(static_cast<std::size_t>(ranks));
  const auto thrown = Threads(ranks).run([&](Communicator& world) {
    const ThreadLimit limit(1);
    RankExchange exchange(world, order);
    ncp::Trainer trainer = make_trainer(text, options, &exchange);
    Outcome& own = out[static_cast<std::size_t>(world.rank())];
    while (!trainer.finished()) own.reports.push_back(*trainer.run_epoch(task.training, &task.validation));
    own.state = trainer.state();
    own.test = evaluate(trainer.layer(), trainer.parameters(), task.test, task.loss, task.readout, options.precision,
                        256, &exchange);
  });
  EXPECT_THAT(thrown, Each(""));
  return out;
}

void expect_same_bits(const ncp::ParameterSet<float>& found, const ncp::ParameterSet<float>& wanted) {
  ASSERT_EQ(found.items.size(), wanted.items.size());
  for (std::size_t i = 0; i < found.items.size(); ++i)
    EXPECT_EQ(found.items[i].values, wanted.items[i].values) << wanted.items[i].info.name;
}

void expect_same_bits(const Outcome& found, const Outcome& wanted) {
  expect_same_bits(found.state.parameters, wanted.state.parameters);
  expect_same_bits(found.state.best_parameters, wanted.state.best_parameters);
  EXPECT_EQ(found.state.best_epoch, wanted.state.best_epoch);
  ASSERT_EQ(found.reports.size(), wanted.reports.size());
  for (std::size_t i = 0; i < found.reports.size(); ++i) {
    EXPECT_EQ(found.reports[i].training.loss, wanted.reports[i].training.loss);
    EXPECT_EQ(found.reports[i].training.rows, wanted.reports[i].training.rows);
    EXPECT_EQ(found.reports[i].validation.loss, wanted.reports[i].validation.loss);
    EXPECT_EQ(found.reports[i].validation.correct, wanted.reports[i].validation.correct);
    EXPECT_EQ(found.reports[i].gradient_norm, wanted.reports[i].gradient_norm);
  }
  EXPECT_EQ(found.test.loss, wanted.test.loss);
  EXPECT_EQ(found.test.correct, wanted.test.correct);
}

TEST(RankExchange, InOrderAnyNumberOfRanksTrainsToTheBitsOfOneProcess) {
  const ncp::Task task = small_task();
  for (const char* text :
       {kDropping, kLtc, R"({"type":"CfC","input_size":1,"units":5,"mode":"pure","backbone_units":[6],"proj_size":2})",
        R"({"type":"CfC","input_size":1,"units":9,"mixed_memory":true,"backbone_units":[],"proj_size":2})",
        R"({"type":"CfC","input_size":1,"wiring":{"type":"AutoNCP","units":12,"output_size":2},"proj_size":2})"}) {
    // Batches of 50 are cut in four at most: some ranks have nothing to do in the last one, of 10.
    const ncp::TrainingOptions options = options_of(2, 50);
    const Outcome wanted = alone(text, options, task);
    for (const int ranks : {1, 2, 3, 4, 5})
      for (const Outcome& found : trained_by(ranks, SumOrder::as_one_rank, text, options, task)) {
        SCOPED_TRACE(fmt::format("{} by {}", text, ranks));
        expect_same_bits(found, wanted);
      }
  }
}

TEST(RankExchange, InOrderTheReferenceAndShorterTypesDoSoAsWell) {
  ncp::Task task = ncp::xor_task({.training = 13, .validation = 5, .test = 3});
  constexpr const char* kReference =
      R"({"type":"LTC","input_size":1,"wiring":{"type":"AutoNCP","units":7,"output_size":2},"solver":"rk4"})";
  ncp::TrainingOptions options = options_of(1, 5);
  const Outcome wanted = alone(kReference, options, task);
  for (const Outcome& found : trained_by(3, SumOrder::as_one_rank, kReference, options, task))
    expect_same_bits(found, wanted);
  task = small_task();
  options = options_of(1, 50);
  options.precision = ncp::Precision::float16;
  const Outcome half = alone(kDropping, options, task);
  for (const Outcome& found : trained_by(3, SumOrder::as_one_rank, kDropping, options, task))
    expect_same_bits(found, half);
}

// Gradients of several buckets take another way, with products left for after the steps.
TEST(RankExchange, LargeLayersAreTheSameInOrderAndCloseOtherwise) {
  constexpr const char* kLarge =
      R"({"type":"CfC","input_size":1,"units":320,"backbone_units":[800],"mixed_memory":true,"proj_size":2})";
  const ncp::Task task = ncp::xor_task({.training = 18, .validation = 1, .test = 1});
  ncp::TrainingOptions options = options_of(1, 18);
  options.optimizer = {.kind = ncp::OptimizerKind::sgd};
  options.clipping = {};
  const Outcome wanted = alone(kLarge, options, task);
  for (const Outcome& found : trained_by(2, SumOrder::as_one_rank, kLarge, options, task))
    expect_same_bits(found, wanted);
  const std::vector<Outcome> any = trained_by(2, SumOrder::any, kLarge, options, task);
  expect_same_bits(any[1].state.parameters, any[0].state.parameters);
  // One step from the same place: gradients are sums over 18 samples of 32 steps, and differ in the order of additions.
  const double tolerance = 18 * 32 * std::numeric_limits<float>::epsilon();
  EXPECT_NEAR(any[0].reports[0].training.loss, wanted.reports[0].training.loss,
              tolerance * wanted.reports[0].training.loss);
  EXPECT_NEAR(any[0].reports[0].gradient_norm, wanted.reports[0].gradient_norm,
              tolerance * wanted.reports[0].gradient_norm);
  EXPECT_NE(any[0].state.parameters.items[0].values,
            make_trainer(kLarge, options, nullptr).parameters().items[0].values);
}

TEST(RankExchange, InAnyOrderTheFirstStepIsThatOfOneProcessButForRounding) {
  const ncp::Task task = ncp::xor_task({.training = 10, .validation = 7, .test = 5});
  for (const char* text : {kDropping, kLtc}) {
    ncp::TrainingOptions options = options_of(1, 10);  // ten samples for three: 4, 3 and 3
    options.optimizer = {.kind = ncp::OptimizerKind::sgd};
    options.clipping = {};
    options.learning_rate = 1;
    const Outcome wanted = alone(text, options, task);
    const std::vector<Outcome> found = trained_by(3, SumOrder::any, text, options, task);
    const ncp::Trainer start = make_trainer(text, options, nullptr);
    double largest = 0;
    for (std::size_t i = 0; i < start.parameters().items.size(); ++i)
      for (std::size_t k = 0; k < start.parameters().items[i].values.size(); ++k)
        largest = std::max(largest, std::abs(double(wanted.state.parameters.items[i].values[k]) -
                                             start.parameters().items[i].values[k]));
    EXPECT_GT(largest, 0);
    for (const Outcome& one : found) {
      expect_same_bits(one.state.parameters, found[0].state.parameters);
      EXPECT_EQ(one.reports[0].validation.loss, found[0].reports[0].validation.loss);
      EXPECT_EQ(one.reports[0].validation.rows, 7);
      EXPECT_EQ(one.test.rows, 5);
      for (std::size_t i = 0; i < start.parameters().items.size(); ++i)
        for (std::size_t k = 0; k < start.parameters().items[i].values.size(); ++k) {
          const double is = one.state.parameters.items[i].values[k], was = wanted.state.parameters.items[i].values[k];
          EXPECT_NEAR(is, was, std::numeric_limits<float>::epsilon() * (10 * 32 * largest + 2 * std::abs(was)))
              << text << ' ' << start.parameters().items[i].info.name << ' ' << k;
        }
    }
  }
}

TEST(RankExchange, AStateGoesOnWithAnotherNumberOfRanks) {
  const ncp::Task task = small_task();
  const ncp::TrainingOptions options = options_of(3, 50);
  const Outcome wanted = alone(kDropping, options, task);
  ncp::TrainingState state = make_trainer(kDropping, options, nullptr).state();
  for (const int ranks : {2, 3, 1}) {
    std::vector<ncp::TrainingState> found(static_cast<std::size_t>(ranks));
    const auto thrown = Threads(ranks).run([&](Communicator& world) {
      const ThreadLimit limit(1);
      RankExchange exchange(world, SumOrder::as_one_rank);
      ncp::Trainer trainer = make_trainer(kDropping, options, &exchange);
      trainer.restore(state);
      int batches = 0;  // four, the last of them in the middle of an epoch of three
      while (!trainer.finished() && (ranks == 1 || batches < 4))
        trainer.run_epoch(task.training, &task.validation,
                          [&](const ncp::BatchReport&) { return ++batches < 4 || ranks == 1; });
      found[static_cast<std::size_t>(world.rank())] = trainer.state();
    });
    EXPECT_THAT(thrown, Each(""));
    state = found.back();
  }
  EXPECT_EQ(state.epoch, 3);
  expect_same_bits(state.parameters, wanted.state.parameters);
  expect_same_bits(state.best_parameters, wanted.state.best_parameters);
}

TEST(RankExchange, ALossThatIsNotFiniteStopsAllRanksAlikeAndSaysWhere) {
  ncp::Task task = small_task();
  task.training.input[0] = NAN;
  for (const SumOrder order : {SumOrder::any, SumOrder::as_one_rank}) {
    const auto thrown = Threads(3).run([&](Communicator& world) {
      const ThreadLimit limit(1);
      RankExchange exchange(world, order);
      ncp::Trainer trainer = make_trainer(kDropping, options_of(2, 50), &exchange);
      trainer.run_epoch(task.training, nullptr, [](const ncp::BatchReport&) { return true; }, "run/checkpoint");
    });
    EXPECT_THAT(thrown, Each(thrown[0]));
    EXPECT_THAT(thrown[0], AllOf(HasSubstr("the loss is not finite at step "), HasSubstr("first in rnn_cell."),
                                 HasSubstr("in what rank "), HasSubstr("of 3 on here computed"),
                                 HasSubstr("the last good checkpoint is run/checkpoint")));
  }
}

TEST(RankExchange, PatienceEndsAllRanksAtTheSameEpoch) {
  const ncp::Task task = small_task();
  ncp::TrainingOptions options = options_of(100, 50);
  options.patience = 2;
  options.learning_rate = 1e-12;
  options.optimizer.kind = ncp::OptimizerKind::sgd;
  const Outcome wanted = alone(kDropping, options, task);
  EXPECT_LT(wanted.reports.size(), 100u);
  for (const Outcome& found : trained_by(2, SumOrder::as_one_rank, kDropping, options, task))
    expect_same_bits(found, wanted);
}

TEST(RankExchange, ParametersThatDriftApartAreFound) {
  const ncp::Task task = small_task();
  const auto thrown = Threads(2).run([&](Communicator& world) {
    const ThreadLimit limit(1);
    RankExchange exchange(world, SumOrder::any);
    ncp::Trainer trainer = make_trainer(kDropping, options_of(1, 50), &exchange);
    ncp::TrainingState state = trainer.state();
    if (world.rank() == 1) state.parameters.items.back().values[0] += 1;
    trainer.restore(state);
    trainer.run_epoch(task.training);
  });
  EXPECT_THAT(thrown, Each(HasSubstr("after epoch 1 rank 1 of 2 on here has other parameters than rank 0 of 2")));
}

TEST(RankExchange, BucketsOfAnyNumberAndLengthAreAddedUp) {
  for (const SumOrder order : {SumOrder::any, SumOrder::as_one_rank}) {
    const auto thrown = Threads(4).run([&](Communicator& world) {
      const ThreadLimit limit(1);
      RankExchange exchange(world, order);
      for (int round = 0; round < 3; ++round) {
        std::vector<std::vector<float>> parts, sums;
        for (const std::size_t length : {1, 1000, 7}) {
          parts.emplace_back(length, static_cast<float>(world.rank() + 1));
          sums.emplace_back(length, NAN);  // what was there does not count
        }
        for (std::size_t i = 0; i < parts.size(); ++i) {
          // Rank 2 has nothing to add, rank 3 has it twice.
          std::vector<const float*> rows(world.rank() == 2 ? 0 : world.rank() == 3 ? 2 : 1, parts[i].data());
          exchange.begin(rows, sums[i]);
        }
        exchange.wait();
        for (const std::vector<float>& sum : sums) EXPECT_THAT(sum, Each(1 + 2 + 2 * 4));
      }
    });
    EXPECT_THAT(thrown, Each(""));
  }
}

}  // namespace
}  // namespace tessera
