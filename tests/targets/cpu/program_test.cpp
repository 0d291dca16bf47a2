#include "tessera/targets/cpu/program/program.h"

#include "tessera/graph/evaluate.h"
#include "tests/targets/cpu/kernel_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

namespace tessera::cpu {
namespace {

std::vector<Array> run(const Graph& graph, const std::vector<Array>& inputs) {
  std::vector<const KernelInfo*> infos;
  for (const CpuKernel& kernel : kernels()) infos.push_back(&kernel.info);
  WeightCache weights;
  PlanOptions options;
  options.isa = host_isa();
  const Program program(make_plan(graph, infos, options), weights);
  Memory memory(program);
  std::vector<const std::byte*> in;
  for (const Array& array : inputs) in.push_back(array.bytes().data());
  std::vector<Array> results;
  std::vector<std::byte*> out;
  for (const ValueId id : graph.outputs) results.emplace_back(graph.value(id).type.type, graph.value(id).type.shape());
  for (Array& array : results) out.push_back(array.bytes().data());
  program.run(in, out, memory);
  return results;
}

TensorType f32(Shape shape) { return {ElementType::float32, std::move(shape)}; }

TEST(Program, ViewsOfInputsConstantsAndResultsAreOutputsToo) {
  Graph g;
  const ValueId x = g.add_input("x", f32({2, 3}));
  const ValueId c = g.add_constant("c", Array::of<float>(Shape{2}, std::vector<float>{7, 8}));
  const ValueId flat = g.add("flat", Flatten{0}, {x});
  const ValueId neg = g.add("neg", Unary{Unary::Kind::neg}, {x});
  const ValueId flat_neg = g.add("flat_neg", Flatten{0}, {neg});
  const ValueId same = g.add("same", Unary{Unary::Kind::identity}, {c});
  g.outputs = {flat, flat_neg, same, x, c, flat_neg, neg};
  const std::vector<Array> inputs{Array::of<float>(Shape{2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})};
  EXPECT_TRUE(run(g, inputs) == evaluate(g, inputs));
}

// A few hundred million operations a second: what a plan says of a node that has no other kernel is not far off.
TEST(Program, DefinitionsAreEstimatedAsSlowAsTheyAre) {
  Graph g;
  const ValueId x = g.add_input("x", f32({1, 16, 20, 20}));
  const ValueId w = g.add_constant("w", Array(ElementType::float32, Shape{16, 16, 3, 3}));
  g.outputs = {g.add("y", Conv{}, {x, w})};
  PlanOptions options;
  for (const CpuKernel& kernel : kernels())
    if (kernel.info.role != KernelRole::definition) options.without.emplace_back(kernel.info.name);
  std::vector<const KernelInfo*> infos;
  for (const CpuKernel& kernel : kernels()) infos.push_back(&kernel.info);
  const Plan plan = make_plan(g, infos, options);
  ASSERT_EQ(plan.steps.size(), 1u);
  const double flops = 2.0 * 16 * 18 * 18 * 16 * 9;
  EXPECT_EQ(plan.steps[0].work.flops, flops);
  EXPECT_GT(plan.steps[0].offer.estimate.seconds, flops / 1e9);
  EXPECT_LT(plan.steps[0].offer.estimate.seconds, flops / 1e8);
}

TEST(Program, ValuesThatLiveTogetherDoNotShareMemory) {
  // A ladder where each value is read at once and again at the end.
  Graph g;
  const ValueId x = g.add_input("x", f32({1, 4, 3, 3}));
  std::vector<ValueId> rungs{x};
  for (int i = 0; i < 6; ++i)
    rungs.push_back(g.add(fmt::format("up{}", i), Binary{Binary::Kind::add}, {rungs.back(), rungs[rungs.size() / 2]}));
  ValueId sum = rungs.back();
  for (const ValueId rung : rungs) sum = g.add(fmt::format("sum{}", rung), Binary{Binary::Kind::sub}, {sum, rung});
  g.outputs = {sum};
  std::mt19937_64 random(5);
  const std::vector<Array> inputs{random_array(ElementType::float32, Shape{1, 4, 3, 3}, random)};
  EXPECT_TRUE(run(g, inputs) == evaluate(g, inputs));
}

TEST(Program, MakesResultsInTheCallersMemoryHoweverThatIsAligned) {
  Graph g;
  const ValueId x = g.add_input("x", f32({3, 5}));
  const ValueId neg = g.add("neg", Unary{Unary::Kind::neg}, {x});
  const ValueId twice = g.add("twice", Binary{Binary::Kind::add}, {neg, neg});
  g.outputs = {neg, twice};
  std::mt19937_64 random(6);
  const std::vector<Array> inputs{random_array(ElementType::float32, Shape{3, 5}, random)};
  const std::vector<Array> wanted = evaluate(g, inputs);
  std::vector<const KernelInfo*> infos;
  for (const CpuKernel& kernel : kernels()) infos.push_back(&kernel.info);
  WeightCache weights;
  PlanOptions options;
  options.isa = host_isa();
  const Program program(make_plan(g, infos, options), weights);
  Memory memory(program);
  for (const std::size_t off : {0, 4, 16, 20, 0}) {
    PackedWeights first(256), second(256);
    std::byte* out[] = {first.data() + off, second.data() + off};
    const std::byte* in = inputs[0].bytes().data();
    program.run({&in, 1}, out, memory);
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_EQ(std::memcmp(out[i], wanted[i].bytes().data(), wanted[i].bytes().size()), 0) << off << " bytes off";
  }
}

}  // namespace
}  // namespace tessera::cpu
