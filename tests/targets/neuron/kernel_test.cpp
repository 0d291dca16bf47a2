#include "tessera/targets/neuron/language/kernel.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/neuron/core/cost.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
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

using tessera::for_tests::error_of;

class KernelTest : public testing::Test {
 protected:
  View written(std::string name, ElementType type, std::vector<std::int64_t> shape, float value = 1) {
    View view = k.sbuf(std::move(name), type, std::move(shape));
    k.memset(view, value);
    return view;
  }
  Kernel k{trainium2()};
};

TEST_F(KernelTest, LimitsAreThoseOfTheMachine) {
  EXPECT_THAT(error_of([&] { k.sbuf("wide", kF32, {129, 4}); }), HasSubstr("'wide' has 129 partitions, sbuf has 128"));
  const View w = written("w", kF32, {128, 200}), x = written("x", kF32, {128, 600});
  const View y = k.psum("y", kF32, {128, 512});
  EXPECT_THAT(error_of([&] { k.nc_matmul(y, w, x.slice(1, 0, 512)); }), HasSubstr("has 200 columns, the limit is 128"));
  EXPECT_THAT(error_of([&] { k.nc_matmul(y, w.slice(1, 0, 128), x); }), HasSubstr("has 600 columns, the limit is 512"));
  const View two = k.psum("two", kF32, {128, 1024});
  EXPECT_THAT(error_of([&] { k.nc_matmul(two.slice(1, 300, 512), w.slice(1, 0, 128), x.slice(1, 0, 512)); }),
              HasSubstr("lies in more than one bank of PSUM: bytes 1200 to 3248"));
  EXPECT_THAT(error_of([&] { k.nc_matmul(x.slice(1, 0, 512), w.slice(1, 0, 128), x.slice(1, 0, 512)); }),
              HasSubstr("nc_matmul writes PSUM"));
}

TEST_F(KernelTest, StartPartitionsAreAligned) {
  const View x = written("x", kF32, {128, 4}), y = k.sbuf("y", kF32, {128, 4});
  k.tensor_copy(y.slice(0, 96, 32), x.slice(0, 32, 32));
  k.tensor_copy(y.slice(0, 64, 64), x.slice(0, 0, 64));
  EXPECT_THAT(error_of([&] { k.tensor_copy(y.slice(0, 16, 32), x.slice(0, 0, 32)); }),
              AllOf(HasSubstr("starts at partition 16"), HasSubstr("a multiple of 32")));
  EXPECT_THAT(error_of([&] { k.tensor_copy(y.slice(0, 32, 64), x.slice(0, 0, 64)); }), HasSubstr("a multiple of 64"));
}

TEST_F(KernelTest, Float32DoesNotMixWith16Bits) {
  const View w = written("w", kF16, {128, 128}), x = written("x", kF32, {128, 512});
  const View y = k.psum("y", kF32, {128, 512});
  EXPECT_THAT(
      error_of([&] { k.nc_matmul(y, w, x); }),
      AllOf(HasSubstr("w[128, 128] is float16 and x[128, 512] is float32"), HasSubstr("from both sides or from none")));
}

TEST_F(KernelTest, FreshMemoryIsNotANumberAndReadingItIsAnError) {
  const View x = k.sbuf("x", kF32, {128, 4}), y = k.sbuf("y", kF32, {128, 4});
  EXPECT_THAT(error_of([&] { k.tensor_copy(y, x); }), HasSubstr("nothing has written 'x' yet"));
  k.memset(x.slice(1, 0, 2), 3);
  k.tensor_copy(y, x);
  const std::vector<double> values = k.read(y).to_double();
  EXPECT_EQ(values[1], 3);
  EXPECT_TRUE(std::isnan(values[2]));
}

TEST_F(KernelTest, MemoriesHaveAnEnd) {
  const View large = k.sbuf("large", kF32, {128, 50000});
  EXPECT_THAT(error_of([&] { k.sbuf("next", kF32, {128, 10000}); }),
              AllOf(HasSubstr("tile 'next' takes 40000 bytes of each partition of SBUF, which has 229376"),
                    HasSubstr("'large' 200000"), HasSubstr("29376 bytes of a partition are free")));
  std::vector<View> banks;
  for (int i = 0; i < 8; ++i) banks.push_back(k.psum("bank", kF32, {128, 10}));
  EXPECT_THAT(error_of([&] { k.psum("ninth", kF32, {128, 10}); }), HasSubstr("in 8 banks of 2048"));
  banks.pop_back();
  EXPECT_EQ(error_of([&] { k.psum("ninth", kF32, {128, 10}); }), "no error");
}

TEST_F(KernelTest, AResultMayNotLiePartlyUponItsOperand) {
  const View x = written("x", kF32, {128, 10});
  k.tensor_copy(x, x);
  EXPECT_THAT(error_of([&] { k.tensor_copy(x.slice(1, 1, 8), x.slice(1, 0, 8)); }),
              HasSubstr("lies partly upon its operand x[128, 8] of the same tile"));
}

TEST_F(KernelTest, ErrorsTellTheLineOfTheKernel) {
  const View x = k.sbuf("x", kF32, {128, 4});
  EXPECT_THAT(error_of([&] { k.tensor_copy(x, x); }), HasSubstr("kernel_test.cpp:"));
  k.set_location("conv.py:12");
  EXPECT_THAT(error_of([&] { k.tensor_copy(x, x); }), HasSubstr("in the kernel, conv.py:12"));
}

TEST_F(KernelTest, EnginesRefuseWhatTheyCannotReach) {
  const View x = written("x", kF32, {128, 4}), hbm = k.output("y", kF32, {128, 4}),
             bank = k.psum("bank", kF32, {128, 4});
  EXPECT_THAT(error_of([&] { k.tensor_copy(hbm, x); }), HasSubstr("is in HBM, which engines do not reach"));
  EXPECT_THAT(error_of([&] { k.dma_copy(bank, x); }), HasSubstr("DMA does not reach PSUM"));
  EXPECT_THAT(error_of([&] { k.tensor_tensor(x, x, x, MathOp::add, Engine::scalar); }),
              HasSubstr("tensor_tensor runs on vector or gpsimd, not on scalar"));
  EXPECT_THAT(error_of([&] { k.tensor_copy(x.permuted({1, 0}), x.permuted({1, 0})); }),
              HasSubstr("is not its partition dimension"));
  EXPECT_THAT(error_of([&] { k.dma_copy(hbm.slice(1, 0, 2), x); }), HasSubstr("have different shapes"));
}

TEST_F(KernelTest, ViewsStayWithinTheirTile) {
  const View x = k.sbuf("x", kF32, {128, 10, 6});
  EXPECT_EQ(x.slice(1, 1, 5, 2).split(1, 5).merged(1).shape(), (std::vector<std::int64_t>{128, 5, 6}));
  const std::int64_t huge = std::int64_t{1} << 62;
  for (const auto& [begin, count, step] : std::vector<std::array<std::int64_t, 3>>{
           {0, 11, 1}, {0, 6, 2}, {-1, 1, 1}, {10, 1, 1}, {0, 0, 1}, {0, 1, 0}, {1, huge, huge}, {huge, 2, 1}})
    EXPECT_THAT(error_of([&, b = begin, c = count, s = step] { x.slice(1, b, c, s); }),
                HasSubstr("do not lie within dimension 1 of x[128, 10, 6]"));
  EXPECT_THAT(error_of([&] { x.split(1, 3); }), HasSubstr("cannot be split by 3"));
  EXPECT_THAT(error_of([&] { x.slice(2, 0, 5).merged(1); }), HasSubstr("have gaps between them"));
  EXPECT_THAT(error_of([&] { x.permuted({0, 1, 1}); }), HasSubstr("is no order of the 3 dimensions"));
}

TEST_F(KernelTest, InstructionsComputeWhatTheySay) {
  const View x = k.sbuf("x", kF32, {4, 2, 3});
  std::vector<float> numbers(24);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) - 10;
  k.dma_copy(x, k.input("in", Array::of<float>(Shape{4, 2, 3}, numbers)));
  const View largest = k.sbuf("largest", kF32, {4, 2});
  k.tensor_reduce(largest, x, MathOp::max, 1);
  EXPECT_EQ(k.read(largest).to_double(), (std::vector<double>{-8, -5, -2, 1, 4, 7, 10, 13}));
  const View both = k.sbuf("both", kF32, {4, 1});
  k.tensor_reduce(both, x, MathOp::add, 2);
  EXPECT_EQ(k.read(both).to_double()[0], -10 - 9 - 8 - 7 - 6 - 5);
  const View scaled = k.sbuf("scaled", kF32, {4, 2, 3});
  k.tensor_scalar(scaled, x, MathOp::multiply, 2.0F, MathOp::add, both);
  EXPECT_EQ(k.read(scaled).to_double()[0], 2 * -10 + -45);
  k.activation(scaled, Function::relu, x, both, -1);
  EXPECT_EQ(k.read(scaled).to_double()[0], 0);  // 10 - 45
  const View turned = k.sbuf("turned", kF32, {3, 4});
  k.nc_transpose(turned, x.at(1, 0), Engine::vector);
  EXPECT_EQ(k.read(turned).to_double(), (std::vector<double>{-10, -4, 2, 8, -9, -3, 3, 9, -8, -2, 4, 10}));
}

TEST_F(KernelTest, AccumulationAddsToWhatPsumHolds) {
  const View w = written("w", kF16, {64, 32}, 2), x = written("x", kF16, {64, 100}, 3);
  const View y = k.psum("y", kF32, {32, 100});
  EXPECT_THAT(error_of([&] { k.nc_matmul(y, w, x, Accumulate::add); }), HasSubstr("nothing has written 'y' yet"));
  k.nc_matmul(y, w, x);
  k.nc_matmul(y, w, x, Accumulate::add);
  for (const double each : k.read(y).to_double()) EXPECT_EQ(each, 2 * 64 * 6);
}

// Costs by hand, from the constants of the machine file.
TEST_F(KernelTest, CostsFollowTheRules) {
  const View w = k.sbuf("w", kF16, {128, 128}), x = k.sbuf("x", kF16, {128, 4, 224});
  EXPECT_NEAR(matmul_cost(trainium2(), w, x.slice(1, 0, 2)).busy_ns, 448 / 2.4, 1e-9);
  EXPECT_NEAR(matmul_cost(trainium2(), w, x.slice(1, 0, 2).slice(2, 1, 222)).busy_ns, (444 + 60) / 2.4, 1e-9);
  EXPECT_NEAR(matmul_cost(trainium2(), w, x.at(1, 0).slice(1, 0, 10)).busy_ns, 64 / 2.4, 1e-9);  // no less than 64
  const View x32 = k.sbuf("x32", kF32, {128, 4, 224}), w32 = k.sbuf("w32", kF32, {128, 128});
  EXPECT_NEAR(matmul_cost(trainium2(), w32, x32.slice(1, 0, 2)).busy_ns, 4 * 448 / 2.4, 1e-9);
  const View window = k.sbuf("window", kF16, {128, 2, 222});
  const View cut = x.slice(1, 0, 2).slice(2, 0, 222);
  EXPECT_NEAR(pass_cost(trainium2(), Engine::vector, window, std::span(&cut, 1)).busy_ns, 444 / 0.96 / 2, 1e-9);
  EXPECT_NEAR(pass_cost(trainium2(), Engine::scalar, window, std::span(&cut, 1)).busy_ns, 444 / 1.2, 1e-9);

  const View image = k.output("image", kF32, {1, 256, 224, 224});
  const DmaCost rows = dma_cost(trainium2(), x32, image.at(0, 0).slice(0, 0, 128).slice(1, 0, 4));
  EXPECT_EQ(rows.segments_per_partition, 1);
  EXPECT_NEAR(rows.engine_ns[0], 74 + 8 * (4 * 224 * 4 / 23.0), 1e-9);
  const View weights = k.output("weights", kF32, {256, 256, 9});
  const DmaCost slice = dma_cost(trainium2(), w32, weights.slice(0, 0, 128).slice(1, 0, 128).at(2, 0));
  EXPECT_TRUE(slice.separate_elements);
  EXPECT_NEAR(slice.engine_ns[15], 8 * (74 + 128 * 0.714), 1e-9);
}

// Copies in which partitions and free dimensions change places.
TEST_F(KernelTest, CopiesThatTurnPayForEveryElement) {
  const View square = k.output("square", kF32, {1024, 1024}), half = k.output("half", kF16, {1024, 1024});
  const View x32 = k.sbuf("x32", kF32, {128, 128}), x16 = k.sbuf("x16", kF16, {128, 128});
  const auto part = [](const View& of) { return of.slice(0, 0, 128).slice(1, 0, 128); };
  const DmaCost turned = dma_cost(trainium2(), x32, part(square).permuted({1, 0}));
  EXPECT_TRUE(turned.turned);
  EXPECT_NEAR(turned.engine_ns[15], 8 * 128 * 12.5, 1e-9);
  EXPECT_NEAR(dma_cost(trainium2(), part(square).permuted({1, 0}), x32).engine_ns[0], 8 * 128 * 12.5, 1e-9);
  EXPECT_FALSE(dma_cost(trainium2(), x32, part(square)).turned);
  // A column in each partition has nothing to change places with.
  EXPECT_FALSE(dma_cost(trainium2(), x32.slice(1, 0, 1), part(square).slice(0, 0, 1).permuted({1, 0})).turned);
  // Engines of NeuronCore-v3 turn two bytes at nine tenths of their rate, half of it from SBUF; those of v2 do not.
  EXPECT_NEAR(dma_cost(trainium2(), x16, part(half).permuted({1, 0})).engine_ns[0], 8 * 256 / 23.0 / 0.9, 1e-9);
  EXPECT_NEAR(dma_cost(trainium2(), x16, x16.permuted({1, 0})).engine_ns[0], 8 * 256 / 23.0 / 0.5, 1e-9);
  const NeuronSpec trainium1 = neuron_of(load_machine(TESSERA_MACHINES_DIR "/trainium1.toml"));
  EXPECT_NEAR(dma_cost(trainium1, x16, part(half).permuted({1, 0})).engine_ns[0], 8 * 128 * 12.5, 1e-9);
}

// One engine makes what another one needs, and then something that the next turn needs.
TEST_F(KernelTest, OrderedTurnsKeepEveryEngineInOrder) {
  const auto time = [](bool ordered) {
    Kernel loop(trainium2(), {.values = false});
    const View x = loop.sbuf("x", kF32, {128, 512});
    loop.memset(x, 1);
    if (ordered) loop.begin_sequential_range();
    for (int i = 0; i < 16; ++i) {
      if (ordered) loop.next_sequential_turn();
      const View a = loop.sbuf("a", kF32, {128, 512}), b = loop.sbuf("b", kF32, {128, 512});
      loop.tensor_copy(a, x, Engine::vector);
      loop.activation(b, Function::exp, a);
      loop.tensor_copy(a, b, Engine::vector);
    }
    if (ordered) loop.end_sequential_range();
    loop.tensor_copy(loop.sbuf("free", kF32, {128, 512}), x, Engine::vector);
    return loop.profile();
  };
  const Profile free = time(false), ordered = time(true);
  EXPECT_EQ(free.vector.instructions, ordered.vector.instructions);
  EXPECT_EQ(free.vector.active_ns, ordered.vector.active_ns);
  // VectorE never waits: a copy of a later turn is always ready. In order, each turn waits for ScalarE.
  EXPECT_LT(free.total_ns, 10'000 + 35 * 512 / 0.96 + 2'000);
  EXPECT_GT(ordered.total_ns, 10'000 + 16 * (2 * 512 / 0.96 + 512 / 1.2));
  EXPECT_LT(ordered.total_ns, 10'000 + 16 * (2 * 512 / 0.96 + 512 / 1.2 + 300) + 2'000);
}

// Memory that is given back is used again, by whoever comes once those before are through.
TEST_F(KernelTest, TilesInALoopOverlapAsFarAsMemoryGoes) {
  const auto time = [](std::int64_t columns) {
    Kernel loop(trainium2(), {.values = false});
    const View x = loop.input("x", kF32, {128, 16 * columns});
    const View y = loop.output("y", kF32, {128, 16 * columns});
    for (int i = 0; i < 16; ++i) {
      const View tile = loop.sbuf("tile", kF32, {128, columns});
      loop.dma_copy(tile, x.slice(1, i * columns, columns));
      loop.activation(tile, Function::relu, tile);
      loop.dma_copy(y.slice(1, i * columns, columns), tile);
    }
    return loop.profile();
  };
  const Profile many = time(1000), one = time(40000);  // 57 tiles fit, or one
  EXPECT_LT(many.total_ns - trainium2().kernel_overhead_ns, 1.15 * many.dma_active_ns);
  EXPECT_GT(one.total_ns, 1.3 * one.dma_active_ns);
}

TEST_F(KernelTest, SummaryHasTheProfilersKeys) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : summary(k.profile())) keys.push_back(key);
  for (const char* key : {"total_time", "dma_transfer_count", "dma_active_time", "tensor_engine_active_time_percent",
                          "mfu_estimated_percent", "mbu_estimated_percent", "hbm_read_bytes", "transpose_flops",
                          "peak_flops_bandwidth_ratio", "mm_arithmetic_intensity"})
    EXPECT_THAT(keys, testing::Contains(key));
}

TEST(KernelCopies, GoToTheEngineWithLessWork) {
  Kernel k(trainium2(), {.values = false});
  const View a = k.sbuf("a", ElementType::float32, {128, 512}), b = k.sbuf("b", ElementType::float32, {128, 512});
  k.memset(a, 1);  // VectorE has work now, ScalarE has none
  EXPECT_EQ(k.engine_for_copy(b, a), Engine::scalar);
  for (int i = 0; i < 9; ++i) k.tensor_copy(b, a, k.engine_for_copy(b, a));
  const Profile profile = k.profile();
  EXPECT_GE(profile.scalar.instructions, 4);
  EXPECT_GE(profile.vector.instructions, 4);
  for (int i = 0; i < 99; ++i) k.tensor_copy(b, a, Engine::scalar);
  EXPECT_EQ(k.engine_for_copy(b, a), Engine::vector);
}

}  // namespace
}  // namespace tessera::neuron
