// Accesses that meet without order, and memory that is read before it is written.

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/neuron/language/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tessera::neuron {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr ElementType kF32 = ElementType::float32, kF16 = ElementType::float16;

const NeuronSpec& trainium2() {
  static const Machine machine = load_machine(TESSERA_MACHINES_DIR "/trainium2.toml");
  return neuron_of(machine);
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

class HazardTest : public testing::TestWithParam<bool> {
 protected:
  View written(std::string name, std::vector<std::int64_t> shape, ElementType type = kF32) {
    View view = k.sbuf(std::move(name), type, std::move(shape));
    k.memset(view, 1);
    return view;
  }
  Kernel k{trainium2(), {.values = false, .time = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(TimedAndNot, HazardTest, testing::Bool());

TEST_P(HazardTest, HbmIsReadOnlyWhereItWasWritten) {
  const View y = k.output("y", kF32, {128, 100}), x = written("x", {128, 60});
  EXPECT_THAT(error_of([&] { k.dma_copy(x, y.slice(1, 0, 60)); }), HasSubstr("nothing has written 'y' yet"));
  k.dma_copy(y.slice(1, 0, 60), x);
  k.dma_copy(x, y.slice(1, 0, 60));
  EXPECT_THAT(error_of([&] { k.dma_copy(x, y.slice(1, 10, 60)); }),
              AllOf(HasSubstr("y[128, 60] is read, but 5120 of its 30720 bytes of 'y' in hbm have not been written"),
                    HasSubstr("hazards_test.cpp:")));
  k.dma_copy(y.slice(1, 60, 40), x.slice(1, 0, 40));
  k.dma_copy(x, y.slice(1, 10, 60));
}

// Columns one by one, in any order, and every second one: bits must be those of the elements and of no others.
TEST_P(HazardTest, EveryElementOfHbmCountsForItself) {
  constexpr std::int64_t kColumns = 131;
  const View y = k.output("y", kF16, {3, 1, kColumns}), x = written("x", {3, 1, kColumns}, kF16);
  std::vector<bool> there(kColumns);
  std::mt19937 random(5);
  for (int i = 0; i < 40; ++i) {
    const auto step = static_cast<std::int64_t>(random() % 3 + 1), begin = static_cast<std::int64_t>(random() % 60);
    const auto count = static_cast<std::int64_t>(random() % 20 + 1);
    bool all = i > 0;
    for (std::int64_t c = 0; c < count; ++c) all = all && there[static_cast<std::size_t>(begin + c * step)];
    const auto read = [&] { k.dma_copy(x.slice(2, 0, count), y.slice(2, begin, count, step)); };
    EXPECT_EQ(error_of(read) == "nothing", all) << begin << " + " << count << " x " << step;
    k.dma_copy(y.slice(2, begin, count, step), x.slice(2, 0, count));
    for (std::int64_t c = 0; c < count; ++c) there[static_cast<std::size_t>(begin + c * step)] = true;
    EXPECT_EQ(error_of(read), "nothing");
  }
}

TEST_P(HazardTest, TurnsMayNotWriteTheSamePartOfATile) {
  const View x = written("x", {128, 64}), shared = k.sbuf("shared", kF32, {128, 4, 64});
  EXPECT_THAT(error_of([&] { k.affine_range(4, [&](std::int64_t) { k.tensor_copy(shared.at(1, 0), x); }); }),
              AllOf(HasSubstr("copy writes shared[128, 64] in turn 1 of the affine_range at "),
                    HasSubstr("and turn 0 wrote 32768 bytes of the same ('shared', in sbuf) at "),
                    HasSubstr("hazards_test.cpp:"), HasSubstr("use sequential_range")));
  k.affine_range(4, [&](std::int64_t i) { k.tensor_copy(shared.at(1, i), x); });
  // A loop that was begun anew has an order to the one before, and so have plain loops.
  for (int twice = 0; twice < 2; ++twice) k.affine_range(4, [&](std::int64_t i) { k.tensor_copy(shared.at(1, i), x); });
  for (int i = 0; i < 4; ++i) k.tensor_copy(shared.at(1, 0), x);
}

TEST_P(HazardTest, TurnsMayNotCarryValuesToEachOther) {
  const View sum = written("sum", {128, 64}), x = written("x", {128, 64});
  EXPECT_THAT(error_of([&] { k.affine_range(3, [&](std::int64_t) { k.tensor_tensor(sum, sum, x, MathOp::add); }); }),
              AllOf(HasSubstr("add reads sum[128, 64] in turn 1"), HasSubstr("turn 0 wrote 32768 bytes of the same")));
  const View a = written("a", {128, 8});
  EXPECT_THAT(error_of([&] {  // each reads what the next one writes
                k.affine_range(7, [&](std::int64_t i) { k.tensor_copy(a.slice(1, i, 1), a.slice(1, i + 1, 1)); });
              }),
              AllOf(HasSubstr("copy writes a[128, 1] in turn 1"), HasSubstr("turn 0 read 512 bytes")));
}

TEST_P(HazardTest, InterleavedPartsDoNotMeet) {
  const View x = written("x", {128, 32}), both = k.sbuf("both", kF32, {128, 64});
  k.affine_range(2, [&](std::int64_t i) { k.tensor_copy(both.slice(1, i, 32, 2), x); });
  EXPECT_THAT(error_of([&] {
                k.affine_range(2,
                               [&](std::int64_t i) { k.tensor_copy(both.slice(1, i, 31, 2 - i), x.slice(1, 0, 31)); });
              }),
              HasSubstr("turn 0 wrote 7680 bytes"));  // columns 2, 4 .. 30 of 128 partitions
}

TEST_P(HazardTest, TilesOfATurnAreItsOwn) {
  const View x = written("x", {128, 32}), y = k.output("y", kF32, {128, 4, 32});
  k.affine_range(4, [&](std::int64_t i) {
    const View mine = k.sbuf("mine", kF32, {128, 32});
    k.tensor_copy(mine, x);
    k.affine_range(2, [&](std::int64_t j) { k.tensor_copy(mine.slice(1, j * 16, 16), x.slice(1, 0, 16)); });
    k.tensor_tensor(mine, mine, x, MathOp::add);
    k.dma_copy(y.at(1, i), mine);
  });
  EXPECT_THAT(error_of([&] {
                k.affine_range(2, [&](std::int64_t) {
                  const View mine = k.sbuf("mine", kF32, {128, 32});
                  k.affine_range(2, [&](std::int64_t) { k.tensor_copy(mine, x); });
                });
              }),
              HasSubstr("copy writes mine[128, 32] in turn 1"));
}

TEST_P(HazardTest, ProductsMayBeAddedUpInAnyOrder) {
  const View w = written("w", {128, 128}), x = written("x", {128, 64});
  const View sums = k.psum("sums", kF32, {128, 64}), out = k.sbuf("out", kF32, {128, 64});
  k.zero(sums);
  k.affine_range(4, [&](std::int64_t) { k.nc_matmul(sums, w, x, Accumulate::add); });
  const View other = k.psum("other", kF32, {128, 64});
  k.affine_range(4, [&](std::int64_t) { k.nc_matmul(other, w, x, Accumulate::automatic); });
  k.tensor_copy(out, sums);
  EXPECT_THAT(error_of([&] {
                k.affine_range(2, [&](std::int64_t i) {
                  k.nc_matmul(sums, w, x, i == 0 ? Accumulate::overwrite : Accumulate::add);
                });
              }),
              HasSubstr("matmul adds to sums[128, 64] in turn 1"));
  EXPECT_THAT(error_of([&] {
                k.affine_range(2, [&](std::int64_t) {
                  k.nc_matmul(sums, w, x, Accumulate::add);
                  k.tensor_copy(out, sums);
                });
              }),
              HasSubstr("turn 0 read 32768 bytes"));
}

TEST_P(HazardTest, TurnsMayNotStoreToTheSamePlaceInHbm) {
  const View x = written("x", {128, 32}), y = k.output("y", kF32, {4, 128, 32});
  k.affine_range(4, [&](std::int64_t i) { k.dma_copy(y.at(0, i), x); });
  const View z = k.output("z", kF32, {128, 100});
  EXPECT_THAT(error_of([&] { k.affine_range(4, [&](std::int64_t i) { k.dma_copy(z.slice(1, 20 * i, 32), x); }); }),
              AllOf(HasSubstr("dma_copy writes z[128, 32] in turn 1"), HasSubstr("turn 0 wrote 6144 bytes"),
                    HasSubstr("('z', in hbm)")));
}

TEST(Hazard, CopiesToTheSamePlaceInHbmKeepTheirOrder) {
  const auto time = [](bool same) {
    Kernel k(trainium2(), {.values = false});
    const View x = k.sbuf("x", kF32, {128, 2000}), y = k.output("y", kF32, {128, 8000});
    k.memset(x, 1);
    for (int i = 0; i < 4; ++i) k.dma_copy(y.slice(1, same ? 0 : 2000 * i, 2000), x);
    return k.profile().total_ns;
  };
  // Each waits until the one before has landed.
  EXPECT_GT(time(true), time(false) + 3 * trainium2().dma_latency_ns);
}

TEST(Hazard, AWriteWaitsForThoseThatStillReadHbm) {
  Kernel k(trainium2(), {.values = false});
  const View x = k.input("x", kF32, {128, 4000}), tile = k.sbuf("tile", kF32, {128, 4000}),
             zeros = k.sbuf("zeros", kF32, {128, 4000});
  k.memset(zeros, 0);
  k.dma_copy(tile, x);
  k.dma_copy(x, zeros);
  const sim::Schedule schedule = k.schedule();
  std::int64_t loaded = 0, stored = 0;
  for (std::size_t i = 0; i < schedule.tasks.size(); ++i) {
    const std::string& label = k.timeline().label(static_cast<sim::TaskId>(i));
    if (label == "load") loaded = std::max(loaded, schedule.tasks[i].end_ps);
    if (label == "store")
      stored = stored == 0 ? schedule.tasks[i].start_ps : std::min(stored, schedule.tasks[i].start_ps);
  }
  EXPECT_GT(stored, loaded);
}

TEST(Hazard, AutomaticProductsOverwriteOnceAndThenAdd) {
  Kernel k(trainium2());
  const View w = k.sbuf("w", kF32, {64, 32}), x = k.sbuf("x", kF32, {64, 10});
  k.memset(w, 2);
  k.memset(x, 3);
  const View y = k.psum("y", kF32, {32, 20});
  for (int i = 0; i < 3; ++i) k.nc_matmul(y.slice(1, 0, 10), w, x, Accumulate::automatic);
  k.nc_matmul(y.slice(1, 10, 10), w, x, Accumulate::automatic);
  const std::vector<double> sums = k.read(y).to_double();
  EXPECT_EQ(sums[0], 3 * 64 * 6);
  EXPECT_EQ(sums[10], 64 * 6);
}

}  // namespace
}  // namespace tessera::neuron
