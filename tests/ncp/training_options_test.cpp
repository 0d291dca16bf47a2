#include "tessera/ncp/trainer.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::ncp {
namespace {

using tessera::for_tests::error_of;
using testing::HasSubstr;

TEST(TrainingOptions, ComeBackAsTheyWere) {
  TrainingOptions o{.epochs = 3,
                    .batch = 7,
                    .learning_rate = 0.125,
                    .optimizer = {OptimizerKind::rmsprop, 0.5, 0.75, 0.875, 0.25, 0.0625, 0.375},
                    .schedule = {ScheduleKind::cosine, 0.5, 4, 0.25},
                    .clipping = {1.5, 2.5, 3.5},
                    .loss = Loss::binary_cross_entropy,
                    .readout = Readout::every_step,
                    .precision = Precision::float16,
                    .seed = 9,
                    .patience = 2};
  EXPECT_EQ(training_options_from_json(training_options_to_json(o)), o);
  o.readout = Readout::last_step;
  EXPECT_EQ(training_options_from_json(training_options_to_json(o)), o);
  EXPECT_EQ(training_options_from_json("{}"), TrainingOptions{});
}

TEST(TrainingOptions, WordsThatDoNotExistAreRefused) {
  EXPECT_THAT(error_of([] { training_options_from_json(R"({"readout":"some_step"})"); }),
              HasSubstr("'readout' is 'some_step', which does not exist"));
  EXPECT_THAT(error_of([] { training_options_from_json(R"({"optimizer":"sgdd"})"); }), HasSubstr("'sgdd'"));
  EXPECT_THAT(error_of([] { training_options_from_json(R"({"epoch":1})"); }), HasSubstr("epoch"));
}

}  // namespace
}  // namespace tessera::ncp
