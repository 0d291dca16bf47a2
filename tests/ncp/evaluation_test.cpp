#include "tessera/ncp/evaluation.h"

#include "tessera/ncp/tasks/task.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::ncp {
namespace {

using tessera::for_tests::error_of;
using testing::HasSubstr;

constexpr const char* kCfc = R"({"type":"CfC","input_size":1,"units":8,"backbone_units":[12],"proj_size":2,
  "return_sequences":false})";

TEST(Evaluation, OfAnotherRunnerGivesTheSameLoss) {
  const Task task = xor_task({.training = 30, .validation = 1, .test = 70});
  const Layer layer = layer_from_json(kCfc);
  const ParameterSet<float> parameters = converted<float>(initial_parameters(layer, 3));
  const LossSums wanted = evaluate(layer, parameters, task.test, task.loss, task.readout);
  Gradient gradient(evaluated(layer));
  gradient.set_parameters(parameters);
  for (const std::int64_t batch : {1, 32, 70, 1000}) {
    const LossSums found = evaluate(
        layer, task.test, task.loss, task.readout, batch,
        [&](const Sequence<float>& sequence, SequenceResult<float>& result) { gradient.forward(sequence, result); });
    EXPECT_EQ(found.rows, wanted.rows);
    EXPECT_EQ(found.correct, wanted.correct);
    // The same float32 outputs; only the order of 70 additions in double precision may differ.
    EXPECT_NEAR(found.loss, wanted.loss, 70 * 0x1p-52 * wanted.loss);
  }
}

TEST(Evaluation, RefusesARunnerThatMakesTooLittle) {
  const Task task = xor_task({.training = 1, .validation = 1, .test = 3});
  const Layer layer = layer_from_json(kCfc);
  EXPECT_THAT(error_of([&] {
                evaluate(layer, task.test, task.loss, task.readout, 3,
                         [](const Sequence<float>&, SequenceResult<float>& result) { result.output.resize(5); });
              }),
              HasSubstr("made 5 outputs of 3 samples"));
}

}  // namespace
}  // namespace tessera::ncp
