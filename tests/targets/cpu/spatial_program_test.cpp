// Spatial and data-moving kernels one after the other, as a planner chooses and places them.

#include "tessera/core/isa.h"
#include "tessera/graph/evaluate.h"
#include "tessera/targets/cpu/program/program.h"
#include "tests/targets/cpu/kernel_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera::cpu {
namespace {

Graph network(std::mt19937_64& random) {
  Graph g;
  const auto floats = [&](const std::string& name, const Shape& shape) {
    return g.add_constant(name, random_array(ElementType::float32, shape, random));
  };
  const ValueId x = g.add_input("x", TensorType(ElementType::float32, Shape{2, 20, 24, 20}));
  const ValueId dw = g.add("dw", Conv{{{3, 3}, {2, 2}, {}, {1, 1, 1, 1}}, 20}, {x, floats("w", Shape{20, 1, 3, 3})});
  const ValueId max = g.add("max", MaxPool{{{3, 3}, {1, 1}, {}, {1, 1, 1, 1}}}, {dw});
  const ValueId last = g.add("last", Transpose{{0, 2, 3, 1}}, {max});
  const ValueId soft = g.add("soft", Softmax{}, {last});
  const ValueId first = g.add("first", Transpose{{0, 3, 1, 2}}, {soft});
  const ValueId both = g.add("both", Concat{1}, {first, dw});
  const std::vector<ValueId> halves = g.add_node("halves", Split{1, {}, 2}, {both}, 2);
  const ValueId none = g.add_constant("none", Array(ElementType::float32, Shape{0}));
  const ValueId twice = g.add_constant("twice", Array::of<float>(Shape{4}, std::vector<float>{1, 1, 2, 2}));
  const ValueId near = g.add("near", Resize{}, {halves[0], none, twice});
  const ValueId linear = g.add("linear", Resize{.mode = Resize::Mode::linear}, {halves[1], none, twice});
  const ValueId mean = g.add("mean", Reduce{Reduce::Kind::mean, {2, 3}}, {linear});
  const ValueId pads =
      g.add_constant("pads", Array::of<std::int64_t>(Shape{8}, std::vector<std::int64_t>{0, 0, 1, 2, 0, 0, 3, 0}));
  const ValueId padded = g.add("padded", Pad{}, {near, pads});
  const ValueId pool = g.add("pool", GlobalPool{}, {padded});
  g.outputs = {near, linear, mean, padded, pool, last, first};
  return g;
}

TEST(SpatialProgram, AgreesWithTheDefinitionWithAndWithoutOrders) {
  std::mt19937_64 random(1);
  const Graph g = network(random);
  const std::vector<Array> inputs{random_array(ElementType::float32, Shape{2, 20, 24, 20}, random)};
  const std::vector<Array> wanted = evaluate(g, inputs);
  std::vector<const KernelInfo*> infos;
  for (const CpuKernel& kernel : kernels()) infos.push_back(&kernel.info);
  for (const Isa isa : usable_isas())
    for (const bool orders : {true, false}) {
      PlanOptions options;
      options.isa = isa;
      options.orders = orders;
      options.machine.cpu().vector_bits = 512;
      options.machine.cpu().f32_flop_per_s = options.machine.cpu().f32_all_flop_per_s = 1e11;
      options.machine.cpu().dram_read_bytes_per_s = options.machine.cpu().dram_read_all_bytes_per_s = 1e10;
      Plan plan = make_plan(g, infos, options);
      for (const Step& step : plan.steps)
        if (step.kernel != nullptr) {
          EXPECT_NE(step.kernel->name, "reference") << name(g.nodes[static_cast<std::size_t>(step.node)].op);
        }
      WeightCache weights;
      const Program program(std::move(plan), weights);
      Memory memory(program);
      std::vector<Array> results;
      for (const Array& array : wanted) results.emplace_back(array.type(), array.shape());
      std::vector<std::byte*> out;
      for (Array& array : results) out.push_back(array.bytes().data());
      const std::byte* in = inputs[0].bytes().data();
      program.run({&in, 1}, out, memory);
      KernelCase scale;
      scale.reduction = 9 * 4;
      scale.magnitude = 10;  // of the sums under a window
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::vector<double> a = results[i].to_double(), b = wanted[i].to_double();
        for (std::size_t k = 0; k < a.size(); ++k)
          ASSERT_NEAR(a[k], b[k], tolerance(ElementType::float32, scale, b[k]))
              << g.value(g.outputs[i]).name << "[" << k << "], " << name(isa);
      }
    }
}

}  // namespace
}  // namespace tessera::cpu
