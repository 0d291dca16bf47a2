#include "tessera/scale/chunked_run.h"
#include "tessera/graph/graph.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/unary.h"
#include "tessera/scale/run_parts.h"
#include "thread_world.h"

#include <gmock/gmock.h>

#include <numeric>

namespace tessera {
namespace {

using for_tests::Threads;
using testing::Each;
using testing::HasSubstr;

// y = exp(x), `chunk` samples of three numbers at a time.
Session exponentials(std::int64_t chunk) {
  Graph g;
  const ValueId x = g.add_input("x", TensorType{ElementType::float32, Shape{chunk, 3}});
  g.outputs = {g.add("y", Unary{Unary::Kind::exp}, {x})};
  return Session(std::move(g), {.threads = 1});
}

Array samples(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count) * 3);
  std::iota(values.begin(), values.end(), 0.0f);
  for (float& value : values) value /= 16;
  return Array::of<float>(Shape{count, 3}, values);
}

struct Outcome {
  Array output;
  ChunkedRunReport report;
  std::vector<std::string> thrown;
};

Outcome run_on(int ranks, std::int64_t count, const ChunkedRunOptions& options) {
  Outcome out;
  out.thrown = Threads(ranks).run([&](Communicator& world) {
    const Session session = exponentials(options.chunk);
    const std::vector<Array> inputs = world.rank() == 0 ? std::vector{samples(count)} : std::vector<Array>();
    ChunkedRun done = run_chunks(world, session, inputs, options, [](std::int64_t) {});
    if (world.rank() != 0) return;
    out.output = std::move(done.outputs.at(0));
    out.report = std::move(done.report);
  });
  return out;
}

TEST(ChunkedRun, AnyNumberOfRanksGivesTheSameBits) {
  const Session all = exponentials(7);
  const Array wanted = all.run({samples(7)})[0];
  for (const std::int64_t chunk : {1, 2, 3, 7, 9})  // 7 samples: the last chunk is not full, or the only one
    for (const int ranks : {1, 2, 3, 5}) {
      const Outcome found = run_on(ranks, 7, {.chunk = chunk});
      EXPECT_THAT(found.thrown, Each(""));
      EXPECT_EQ(found.output, wanted) << chunk << " at a time on " << ranks;
      EXPECT_EQ(found.report.chunks, (7 + chunk - 1) / chunk);
      EXPECT_EQ(std::accumulate(found.report.rank_chunks.begin(), found.report.rank_chunks.end(), std::int64_t{0}),
                found.report.chunks);
    }
}

TEST(ChunkedRun, GoesOnFromWhatIsThere) {
  ChunkedRunOptions options{
      .chunk = 2, .parts = std::filesystem::path(testing::TempDir()) / "chunked", .resume = false, .identity = "f"};
  const Array wanted = run_on(1, 7, {.chunk = 2}).output;
  {
    RunParts parts(options.parts, "f", false);
    // Marked results, so that it shows who made them.
    const std::vector<float> marked(6, -1.0f);
    const auto bytes = std::as_bytes(std::span(marked));
    parts.add(1, Payload(bytes.begin(), bytes.end()));
    parts.flush();
  }
  EXPECT_THAT(run_on(2, 7, options).thrown, Each(HasSubstr("what an earlier run has finished")));
  options.resume = true;
  const Outcome found = run_on(2, 7, options);
  EXPECT_THAT(found.thrown, Each(""));
  EXPECT_EQ(found.report.resumed_chunks, 1);
  const auto y = found.output.as<float>(), w = wanted.as<float>();
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i >= 6 && i < 12 ? -1.0f : w[i]) << i;
}

TEST(ChunkedRun, WrongSamplesEndEveryRankWithTheCause) {
  const auto thrown = Threads(3).run([](Communicator& world) {
    const Session session = exponentials(1);
    run_chunks(world, session, {Array(ElementType::float32, Shape{4, 5})}, {.chunk = 1}, [](std::int64_t) {});
  });
  EXPECT_THAT(thrown, Each(HasSubstr("input 'x' is [4, 5], wanted are samples of [3]")));
  EXPECT_THAT(thrown[1], HasSubstr("rank 0 of 3 on here failed"));
}

TEST(ChunkedRun, ARankThatFailsIsNamedByAll) {
  const auto thrown = Threads(3).run([](Communicator& world) {
    // A rank whose network takes other inputs than those that arrive.
    const Session session = exponentials(1);
    const Session other = [] {
      Graph g;
      const ValueId x = g.add_input("x", TensorType{ElementType::float32, Shape{1, 30}});
      g.outputs = {g.add("y", Unary{Unary::Kind::exp}, {x})};
      return Session(std::move(g));
    }();
    run_chunks(world, world.rank() == 2 ? other : session, {samples(50)}, {.chunk = 1}, [](std::int64_t) {});
  });
  EXPECT_THAT(thrown[0], HasSubstr("rank 2 of 3 on here failed"));
  EXPECT_THAT(thrown[1], HasSubstr("rank 2 of 3 on here failed"));
  EXPECT_THAT(thrown[2], HasSubstr("a chunk is"));
}

}  // namespace
}  // namespace tessera
