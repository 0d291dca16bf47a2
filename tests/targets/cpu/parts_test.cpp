// Concats and Splits that copy nothing (plan/parts.h): the same bits as with copies, and what the definition gives.

#include "tessera/kernel_plan/parts.h"

#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/targets/cpu/program/program.h"
#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/kernel_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace tessera::cpu {
namespace {

PlanOptions plan_options(Isa isa, int threads, bool parts) {
  PlanOptions options;
  options.isa = isa;
  options.threads = threads;
  options.parts = parts;
  options.machine.cpu().vector_bits = 512;
  options.machine.cpu().l2_bytes = 1 << 20;
  options.machine.cpu().f32_flop_per_s = options.machine.cpu().f32_all_flop_per_s = 1e11;
  options.machine.cpu().dram_read_bytes_per_s = options.machine.cpu().dram_read_all_bytes_per_s = 1e10;
  return options;
}

Plan plan_of(const Graph& graph, const PlanOptions& options) {
  std::vector<const KernelInfo*> infos;
  for (const CpuKernel& kernel : kernels()) infos.push_back(&kernel.info);
  return make_plan(graph, infos, options);
}

std::vector<Array> run(const Graph& graph, const std::vector<Array>& inputs, const PlanOptions& options) {
  WeightCache weights;
  const Program program(plan_of(graph, options), weights);
  Memory memory(program);
  std::vector<const std::byte*> in;
  for (const Array& array : inputs) in.push_back(array.bytes().data());
  std::vector<Array> results;
  std::vector<std::byte*> out;
  for (const ValueId id : graph.outputs) results.emplace_back(graph.value(id).type.type, graph.value(id).type.shape());
  for (Array& array : results) out.push_back(array.bytes().data());
  set_max_threads(options.threads);
  for (int twice = 0; twice < 2; ++twice) program.run(in, out, memory);
  set_max_threads(0);
  return results;
}

bool same_bits(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::ranges::equal(a, b,
                            [](const Array& x, const Array& y) { return std::ranges::equal(x.bytes(), y.bytes()); });
}

// A random network of all that takes or makes parts.
class RandomNetwork {
 public:
  explicit RandomNetwork(std::mt19937_64& random) : random_(random) {
    const Shape shape{between(random, 1, 2), channels(), between(random, 6, 13), between(random, 6, 13)};
    values_.push_back(graph.add_input("x", TensorType(ElementType::float32, shape)));
    inputs.push_back(random_array(ElementType::float32, shape, random));
    values_.push_back(conv(values_[0]));
    for (std::int64_t count = between(random, 4, 14); count > 0; --count) grow();
    // What nobody has read goes out, through a convolution mostly: an output's own buffer is no part.
    for (const ValueId id : values_)
      if (std::ranges::none_of(graph.nodes, [&](const Node& n) { return std::ranges::count(n.inputs, id) > 0; }))
        graph.outputs.push_back(coin(random) || coin(random) ? conv(id) : id);
  }

  Graph graph;
  std::vector<Array> inputs;
  std::int64_t reduction = 1;  // the longest

 private:
  std::int64_t channels() {
    constexpr std::int64_t kChannels[] = {1, 2, 3, 5, 8, 16, 17, 32, 33, 48, 64};
    return pick(random_, kChannels);
  }
  const Shape shape(ValueId id) const { return graph.value(id).type.shape(); }
  std::string next() { return fmt::format("n{}", graph.nodes.size()); }
  // One made of late, so that networks become deep.
  ValueId some() {
    const std::int64_t count = std::ssize(values_);
    return values_[static_cast<std::size_t>(count - 1 - between(random_, 0, std::min<std::int64_t>(count - 1, 4)))];
  }
  ValueId weights(const Shape& shape, std::int64_t products) {
    Array w = random_array(ElementType::float32, shape, random_);
    for (float& value : w.as<float>()) value /= std::sqrt(static_cast<float>(products));
    reduction = std::max(reduction, products);
    return graph.add_constant(fmt::format("w{}", graph.values.size()), std::move(w));
  }

  ValueId conv(ValueId x, std::int64_t stride = 1) {
    const std::int64_t in = shape(x)[1], k = coin(random_) ? 3 : 1, groups = in % 2 == 0 && coin(random_) ? 2 : 1;
    const std::int64_t out = groups == 2 ? channels() * 2 : channels();
    const ValueId w = weights(Shape{out, in / groups, k, k}, in / groups * k * k);
    const ValueId y = graph.add(next(), Conv{{{}, {stride, stride}, {}, {k / 2, k / 2, k / 2, k / 2}}, groups},
                                {x, w, weights(Shape{out}, 1)});
    switch (between(random_, 0, 3)) {
      case 0: return graph.add(next(), Unary{Unary::Kind::relu}, {y});
      case 1:
        return graph.add(next(), Binary{Binary::Kind::mul}, {y, graph.add(next(), Unary{Unary::Kind::sigmoid}, {y})});
      default: return y;
    }
  }
  // One that has the shape of x.
  ValueId residual(ValueId x) {
    const std::int64_t c = shape(x)[1];
    const ValueId y = graph.add(next(), Conv{{{}, {}, {}, {1, 1, 1, 1}}}, {x, weights(Shape{c, c, 3, 3}, c * 9)});
    return graph.add(next(), Binary{Binary::Kind::add}, {x, y});
  }
  ValueId resize(ValueId x) {
    const ValueId none = graph.add_constant(next() + ".roi", Array(ElementType::float32, Shape{0}));
    const ValueId twice =
        graph.add_constant(next() + ".scales", Array::of<float>(Shape{4}, std::vector<float>{1, 1, 2, 2}));
    Resize op;
    if (coin(random_)) op.mode = Resize::Mode::linear;
    return graph.add(next(), op, {x, none, twice});
  }

  void grow() {
    const ValueId x = some();
    const bool large = shape(x)[2] > 16, small = shape(x)[2] < 4 || shape(x)[3] < 4;
    switch (between(random_, 0, 9)) {
      case 0:
      case 1: values_.push_back(conv(x, !small && coin(random_) ? 2 : 1)); break;
      case 2: values_.push_back(residual(x)); break;
      case 3: values_.push_back(graph.add(next(), MaxPool{{{3, 3}, {1, 1}, {}, {1, 1, 1, 1}}}, {x})); break;
      case 4: values_.push_back(graph.add(next(), AveragePool{{{2, 2}, {1, 1}, {}, {0, 1, 1, 0}}}, {x})); break;
      case 5:
        if (large) return;
        if (coin(random_)) {
          const std::int64_t in = shape(x)[1], out = channels();
          values_.push_back(graph.add(next(), ConvTranspose{{{}, {2, 2}}}, {x, weights(Shape{in, out, 2, 2}, in)}));
        } else {
          values_.push_back(resize(x));
        }
        break;
      case 6:
      case 7: {
        const std::int64_t c = shape(x)[1];
        if (c < 2) return;
        const std::int64_t first = coin(random_) ? c / 2 : between(random_, 1, c - 1);
        for (const ValueId part : graph.add_node(next(), Split{1, {first, c - first}, 2}, {x}, 2))
          values_.push_back(part);
        break;
      }
      default: {
        // Neighbours, in order or not, one of them twice now and then.
        std::vector<ValueId> parts;
        for (const ValueId id : values_)
          if (shape(id)[2] == shape(x)[2] && shape(id)[3] == shape(x)[3]) parts.push_back(id);
        while (parts.size() > 4) parts.erase(parts.begin());
        if (coin(random_) && coin(random_)) std::ranges::shuffle(parts, random_);
        if (between(random_, 0, 7) == 0) parts.push_back(parts[0]);
        std::int64_t total = 0;
        for (const ValueId id : parts) total += shape(id)[1];
        if (parts.size() > 1 && total < 300) values_.push_back(graph.add(next(), Concat{1}, parts));
      }
    }
  }

  std::mt19937_64& random_;
  std::vector<ValueId> values_;
};

// A step that copies nothing costs nothing, so that another way through a network may be the best one.
std::vector<std::string> steps_of(const Plan& plan) {
  std::vector<std::string> steps;
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    steps.push_back(fmt::format("{} {}", plan.step_name(s), plan.steps[s].kernel ? plan.steps[s].kernel->name : ""));
  return steps;
}

TEST(PartsProgram, GivesTheBitsOfCopiesInRandomNetworks) {
  std::int64_t parts = 0;
  fuzz([&](std::mt19937_64& random) {
    RandomNetwork network(random);
    Graph graph = network.graph;
    run_passes(graph);
    if (coin(random) && coin(random)) store_narrow(graph, ElementType::bfloat16);
    const Isa isa = usable_isas()[static_cast<std::size_t>(between(random, 0, std::ssize(usable_isas()) - 1))];
    PlanOptions options = plan_options(isa, 1, true), copying = plan_options(isa, 1, false);
    options.exact = copying.exact = coin(random);
    const Plan plan = plan_of(graph, options);
    if (steps_of(plan) != steps_of(plan_of(graph, copying))) return;
    for (const PlanBuffer& buffer : plan.buffers) parts += buffer.part_of >= 0 ? 1 : 0;
    const std::vector<Array> copied = run(graph, network.inputs, copying);
    for (options.threads = 1; options.threads <= 3; ++options.threads)
      ASSERT_TRUE(same_bits(run(graph, network.inputs, options), copied))
          << name(isa) << ", " << options.threads << " threads";
  });
  EXPECT_GT(parts, 0);
}

TEST(PartsProgram, GivesWhatTheDefinitionGives) {
  fuzz([&](std::mt19937_64& random) {
    RandomNetwork network(random);
    Graph graph = network.graph;
    run_passes(graph);
    const std::vector<Array> wanted = evaluate(network.graph, network.inputs);
    PlanOptions options = plan_options(host_isa(), 2, true);
    options.exact = true;
    const std::vector<Array> results = run(graph, network.inputs, options);
    KernelCase scale;
    scale.reduction =
        network.reduction * std::ssize(graph.nodes) * std::ssize(graph.nodes);  // errors add up on the way
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::vector<double> a = results[i].to_double(), b = wanted[i].to_double();
      for (const double value : b) scale.magnitude = std::max(scale.magnitude, std::abs(value));
      for (std::size_t k = 0; k < a.size(); ++k)
        ASSERT_NEAR(a[k], b[k], tolerance(ElementType::float32, scale, b[k])) << "output " << i << " [" << k << "]";
    }
  });
}

// As in YOLO's blocks, with channels that fill no vector.
TEST(PartsProgram, CopiesNothingWhereEverythingIsMadeInPlace) {
  std::mt19937_64 random(3);
  for (const std::int64_t half : {1, 3, 17, 33, 64}) {
    Graph g;
    const Shape shape{1, 2 * half, 9, 11};
    const ValueId x = g.add_input("x", TensorType(ElementType::float32, shape));
    const auto weights = [&](const std::string& name, std::int64_t out, std::int64_t in, std::int64_t k) {
      return g.add_constant(name, random_array(ElementType::float32, Shape{out, in, k, k}, random));
    };
    const ValueId first = g.add("first", Conv{}, {x, weights("w0", 2 * half, 2 * half, 1)});
    const std::vector<ValueId> halves = g.add_node("cut", Split{1, {}, 2}, {first}, 2);
    const ValueId pool = g.add("pool", MaxPool{{{3, 3}, {1, 1}, {}, {1, 1, 1, 1}}}, {halves[1]});
    const ValueId m = g.add("m", Conv{}, {pool, weights("w1", half, half, 1)});
    const ValueId cat = g.add("cat", Concat{1}, {halves[0], halves[1], m});
    g.outputs = {g.add("y", Conv{}, {cat, weights("w2", 5, 3 * half, 1)})};
    const std::vector<Array> inputs{random_array(ElementType::float32, shape, random)};
    for (const Isa isa : usable_isas()) {
      const PlanOptions options = plan_options(isa, 2, true);
      const Plan plan = plan_of(g, options);
      for (const Step& step : plan.steps)
        if (step.node != Step::kConversion && step.offer.side_by_side && half > 1) {
          EXPECT_TRUE(step.in_place) << half;
        }
      EXPECT_TRUE(same_bits(run(g, inputs, options), run(g, inputs, plan_options(isa, 2, false)))) << half;
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
