#include "tessera/targets/tensix/time/core_tracks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tessera::tensix {
namespace {

TimedProgram random_program(std::mt19937& rng) {
  std::uniform_real_distribution<double> some(0, 1e5);
  TimedProgram p;
  p.op = "conv2d";
  for (double StepTime::* part : {&StepTime::reader_ns, &StepTime::weights_ns, &StepTime::tilize_ns, &StepTime::math_ns,
                                  &StepTime::pack_ns, &StepTime::writer_ns})
    if (rng() % 4 != 0) p.time.*part = some(rng);
  p.time.math_ns += 1;
  p.time.ns = 1e5 + some(rng);
  p.blocks = 1 + static_cast<double>(rng() % 20);
  p.product = rng() % 2 == 0;
  p.activations_double_buffered = rng() % 2 == 0;
  p.weights_double_buffered = rng() % 2 == 0;
  return p;
}

TEST(CoreTracks, FillTheProgramAndNeverOverlapThemselves) {
  std::mt19937 rng(7);
  for (int round = 0; round < 200; ++round) {
    const TimedProgram p = random_program(rng);
    std::map<CoreTrack, double> free_at;
    double last = 0;
    for (const CoreSpan& span : core_tracks(p)) {
      EXPECT_GE(span.begin_ns, free_at[span.track] - 1e-3);
      EXPECT_GT(span.end_ns, span.begin_ns);
      free_at[span.track] = span.end_ns;
      last = std::max(last, span.end_ns);
    }
    EXPECT_NEAR(last, p.time.ns, 1e-6 * p.time.ns);
  }
}

TEST(CoreTracks, ShowEachPartInProportion) {
  std::mt19937 rng(8);
  for (int round = 0; round < 50; ++round) {
    const TimedProgram p = random_program(rng);
    std::map<std::string_view, double> busy;
    for (const CoreSpan& span : core_tracks(p)) busy[span.what] += span.end_ns - span.begin_ns;
    const double scale = busy["math"] / p.time.math_ns;
    const double rounding = 1e-3 * p.time.ns;  // the engine counts in picoseconds
    EXPECT_NEAR(busy["read"], p.time.reader_ns * scale, rounding);
    EXPECT_NEAR(busy["weights"], p.time.weights_ns * scale, rounding);
    EXPECT_NEAR(busy["tilize"], p.time.tilize_ns * scale, rounding);
    EXPECT_NEAR(busy["pack"], p.time.pack_ns * scale, rounding);
    EXPECT_NEAR(busy["write"], p.time.writer_ns * scale, rounding);
  }
}

TEST(CoreTracks, ASingleBufferMakesTheReaderWaitForCompute) {
  TimedProgram p;
  p.time.reader_ns = 400, p.time.math_ns = 400, p.time.ns = 1000;
  p.blocks = 4;
  const auto second_read = [](const TimedProgram& program) {
    std::vector<CoreSpan> reads;
    for (const CoreSpan& span : core_tracks(program))
      if (span.track == CoreTrack::reader) reads.push_back(span);
    return reads.at(1).begin_ns - reads.at(0).end_ns;
  };
  EXPECT_NEAR(second_read(p), 0, 1e-6);
  p.activations_double_buffered = false;
  EXPECT_GT(second_read(p), 0);
}

}  // namespace
}  // namespace tessera::tensix
