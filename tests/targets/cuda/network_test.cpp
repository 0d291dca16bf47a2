// Networks on the device against the graph's definition.

#include "tests/targets/cuda/conv2d_case.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/session/session.h"
#include "tessera/targets/cuda/plan/cuda_plan.h"
#include "tessera/targets/cuda/plan/lower.h"
#include "tessera/targets/registry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace tessera::cuda {
namespace {

#define TSR_NEEDS_DEVICE() \
  if (const std::string why = no_device(); !why.empty()) GTEST_SKIP() << why

constexpr ElementType kStorages[] = {ElementType::float16, ElementType::bfloat16, ElementType::float32};

Machine h200() { return find_machine(TESSERA_MACHINES_DIR "/nvidia_h200.toml"); }

// Half of the distance from 1 to the next number.
double rounding_of(ElementType type) {
  return type == ElementType::float16    ? std::ldexp(1, -11)
         : type == ElementType::bfloat16 ? std::ldexp(1, -8)
                                         : std::ldexp(1, -24);
}

Array normal_array(const Shape& shape, std::mt19937& random, float scale = 1) {
  std::normal_distribution<float> normal;
  Array out(ElementType::float32, shape);
  for (float& value : out.as<float>()) value = normal(random) * scale;
  return out;
}

struct OpCase {
  std::string name;
  std::vector<Shape> inputs;
  std::function<ValueId(tessera::Graph&, const std::vector<ValueId>&, std::mt19937&)> build;
  double length = 1;  // numbers that a result is summed up of
  int inner = 0;      // results on the way that the definition rounds and a kernel may keep in a register
  float center = 0;   // of the inputs
};

// The graph as it is planned, evaluated by the definitions of its operators, which round where a kernel stores.
void check_op(const OpCase& test) {
  for (const ElementType storage : kStorages) {
    SCOPED_TRACE(test.name + " as " + std::string(name(storage)));
    std::mt19937 random(7);
    LoadedNetwork network{.model = test.name, .name = test.name, .graph = {}};
    std::vector<ValueId> ids;
    for (std::size_t i = 0; i < test.inputs.size(); ++i) {
      ids.push_back(network.graph.add_input("x" + std::to_string(i), {ElementType::float32, test.inputs[i]}));
      network.inputs.push_back(normal_array(test.inputs[i], random));
      for (float& value : network.inputs.back().as<float>()) value += test.center;
    }
    network.graph.outputs = {test.build(network.graph, ids, random)};
    const CudaPlan plan(network, h200(), {.storage = storage, .exact = true});
    std::vector<const Array*> inputs;
    for (const Array& input : network.inputs) inputs.push_back(&input);
    const std::vector<Array> outputs = plan.program().run(inputs), again = plan.program().run(inputs);
    const Array wanted = evaluate(plan.kernel_plan().graph, network.inputs).at(0);
    ASSERT_EQ(outputs.at(0).shape(), wanted.shape());
    const std::vector<double> found = outputs[0].to_double(), expected = wanted.to_double(),
                              repeated = again.at(0).to_double();
    double largest = 1;
    for (const double value : expected) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
    // Sums in float32 of terms no larger than 8 (numbers here are below 5 in size, weights below 1 but for few), fast
    // exponentials of 2^-21, and a result that falls on the other side of a rounding border.
    const double sums = (test.length + 4) * std::ldexp(1, -24) * 8 + std::ldexp(1, -20) * largest +
                        test.inner * 2 * rounding_of(storage) * largest;
    double worst = 0;
    std::size_t worst_at = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double allowed = sums + 2 * rounding_of(storage) * std::abs(expected[i]) +
                             (storage == ElementType::float16 ? std::ldexp(1, -24) : 0);
      const double error =
          std::isnan(expected[i]) && std::isnan(found[i]) ? 0 : std::abs(found[i] - expected[i]) / allowed;
      if (!(error <= worst)) worst = error, worst_at = i;
      ASSERT_TRUE(found[i] == repeated[i] || std::isnan(found[i])) << "two runs differ at " << i;
    }
    EXPECT_LE(worst, 1) << "element " << worst_at << " is " << found[worst_at] << ", the definition says "
                        << expected[worst_at];
  }
}

ValueId weights(tessera::Graph& g, const Shape& shape, std::mt19937& random, double fan_in) {
  return g.add_constant("w" + std::to_string(g.values.size()),
                        normal_array(shape, random, static_cast<float>(1 / std::sqrt(fan_in))));
}

Window window(std::vector<std::int64_t> kernel, std::int64_t stride, std::int64_t pad) {
  Window out;
  out.kernel = std::move(kernel);
  out.strides = {stride, stride};
  out.pads = {pad, pad, pad, pad};
  return out;
}

TEST(CudaNetwork, DepthwiseConvolutions) {
  TSR_NEEDS_DEVICE();
  for (const auto& [kernel, stride, pad] : {std::array{3, 1, 1}, std::array{3, 2, 1}, std::array{5, 1, 2},
                                            std::array{5, 2, 2}, std::array{7, 1, 3}, std::array{3, 3, 0}})
    for (const std::int64_t channels : {24, 32, 20})
      check_op({"depthwise",
                {Shape{2, channels, 17, 13}},
                [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
                  Conv op;
                  op.window = window({kernel, kernel}, stride, pad);
                  op.groups = channels;
                  const ValueId w = weights(g, Shape{channels, 1, kernel, kernel}, random, kernel * kernel);
                  const ValueId b = weights(g, Shape{channels}, random, 1);
                  return g.add("silu", Unary{Unary::Kind::silu}, {g.add("conv", op, {x[0], w, b})});
                },
                static_cast<double>(kernel * kernel),
                1});
}

TEST(CudaNetwork, Pools) {
  TSR_NEEDS_DEVICE();
  for (const std::int64_t channels : {16, 5}) {
    for (const bool ceil : {false, true}) {
      check_op({"max pool", {Shape{2, channels, 13, 15}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                  return g.add("pool", MaxPool{.window = window({3, 3}, 2, 1), .ceil_mode = ceil}, {x[0]});
                }});
      for (const bool border : {false, true})
        check_op({"average pool",
                  {Shape{2, channels, 13, 15}},
                  [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                    return g.add(
                        "pool",
                        AveragePool{.window = window({3, 2}, 2, 1), .ceil_mode = ceil, .count_include_pad = border},
                        {x[0]});
                  },
                  6});
    }
    for (const auto kind : {GlobalPool::Kind::average, GlobalPool::Kind::max})
      check_op({"global pool",
                {Shape{3, channels, 9, 11}},
                [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                  return g.add("pool", GlobalPool{.kind = kind}, {x[0]});
                },
                99});
  }
}

TEST(CudaNetwork, ElementwiseArithmeticAndActivations) {
  TSR_NEEDS_DEVICE();
  using Kind = tessera::Binary::Kind;
  for (const Kind kind : {Kind::add, Kind::sub, Kind::mul, Kind::min, Kind::max})
    for (const Shape& other : {Shape{2, 16, 7, 5}, Shape{2, 16, 1, 1}, Shape{1, 16, 1, 1}, Shape{2, 1, 7, 5}, Shape{5}})
      check_op({"binary", {Shape{2, 16, 7, 5}, other}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                  return g.add("binary", tessera::Binary{kind}, {x[0], x[1]});
                }});
  for (const auto kind : {Unary::Kind::relu, Unary::Kind::silu, Unary::Kind::sigmoid, Unary::Kind::tanh,
                          Unary::Kind::hard_swish, Unary::Kind::gelu, Unary::Kind::mish, Unary::Kind::abs})
    check_op({"unary", {Shape{2, 10, 7, 5}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                return g.add("unary", Unary{kind}, {x[0]});
              }});
  check_op({"clip", {Shape{3, 40}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
              return g.add("clip", Clip{},
                           {x[0], g.add_constant("low", Array::scalar<float>(-0.5f)),
                            g.add_constant("high", Array::scalar<float>(1))});
            }});
}

TEST(CudaNetwork, ProductsOfFewAndManyRows) {
  TSR_NEEDS_DEVICE();
  for (const std::int64_t rows : {1, 3, 4, 5, 33})
    for (const std::int64_t depth : {64, 1000, 25})
      for (const bool transposed : {false, true})
        check_op({"gemm",
                  {Shape{rows, depth}},
                  [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
                    const Shape shape = transposed ? Shape{70, depth} : Shape{depth, 70};
                    return g.add("gemm", Gemm{.transpose_b = transposed},
                                 {x[0], weights(g, shape, random, static_cast<double>(depth)),
                                  weights(g, Shape{70}, random, 1)});
                  },
                  static_cast<double>(depth)});
}

TEST(CudaNetwork, TransposedConvolutions) {
  TSR_NEEDS_DEVICE();
  struct Row {
    std::int64_t channels, outputs, kernel, stride, pad;
  };
  for (const Row& row : {Row{64, 32, 2, 2, 0}, Row{40, 24, 2, 2, 0}, Row{16, 8, 3, 3, 0}, Row{16, 5, 2, 2, 0},
                         Row{16, 8, 4, 2, 1}, Row{8, 8, 3, 1, 1}})
    check_op({"conv transpose",
              {Shape{2, row.channels, 9, 7}},
              [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
                ConvTranspose op;
                op.window = window({row.kernel, row.kernel}, row.stride, row.pad);
                const ValueId w = weights(g, Shape{row.channels, row.outputs, row.kernel, row.kernel}, random,
                                          static_cast<double>(row.channels));
                return g.add("relu", Unary{Unary::Kind::relu},
                             {g.add("up", op, {x[0], w, weights(g, Shape{row.outputs}, random, 1)})});
              },
              static_cast<double>(row.channels * row.kernel * row.kernel),
              1});
}

TEST(CudaNetwork, ConvolutionsOfAnyNumberOfOutputChannels) {
  TSR_NEEDS_DEVICE();
  for (const std::int64_t channels : {1, 2, 5, 10, 33, 100})
    for (const std::int64_t size : {4, 40})
      check_op({"conv",
                {Shape{2, 32, size, size}},
                [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
                  Conv op;
                  op.window = window({3, 3}, 1, 1);
                  return g.add("conv", op,
                               {x[0], weights(g, Shape{channels, 32, 3, 3}, random, 288),
                                weights(g, Shape{channels}, random, 1)});
                },
                288});
}

TEST(CudaNetwork, ResidualsOfAnyNumberOfChannels) {
  TSR_NEEDS_DEVICE();
  for (const std::int64_t channels : {8, 24, 33, 130, 256})
    for (const std::int64_t size : {3, 30})
      for (const auto kind : {Unary::Kind::relu, Unary::Kind::silu, Unary::Kind::sigmoid})
        check_op({"residual",
                  {Shape{2, 32, size, size}, Shape{2, channels, size, size}},
                  [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
                    const ValueId y = g.add("conv", Conv{}, {x[0], weights(g, Shape{channels, 32, 1, 1}, random, 32)});
                    const ValueId sum = g.add("sum", tessera::Binary{tessera::Binary::Kind::add}, {y, x[1]});
                    return g.add("act", Unary{kind}, {sum});
                  },
                  32,
                  2});
}

TEST(CudaNetwork, ConcatsSplitsAndTransposes) {
  TSR_NEEDS_DEVICE();
  const auto conv = [](tessera::Graph& g, const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                       std::mt19937& random) {
    return g.add(name, Conv{}, {x, weights(g, Shape{out, in, 1, 1}, random, static_cast<double>(in))});
  };
  for (const std::int64_t part : {16, 12})  // 12: not in whole 16 bytes, so that it is copied
    check_op({"concat",
              {Shape{2, 16, 6, 5}},
              [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
                const ValueId a = conv(g, "a", x[0], 16, part, random), b = conv(g, "b", x[0], 16, 24, random);
                const ValueId pooled = g.add("pool", MaxPool{.window = window({3, 3}, 1, 1)}, {a});
                return conv(g, "c", g.add("cat", Concat{1}, {a, b, pooled}), 2 * part + 24, 8, random);
              },
              64});
  check_op({"split",
            {Shape{2, 16, 6, 5}},
            [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
              const ValueId a = conv(g, "a", x[0], 16, 32, random);
              const auto parts = g.add_node("split", Split{1, {8, 24}, 2}, {a}, 2);
              const ValueId b = conv(g, "b", parts[1], 24, 8, random);
              return g.add("sum", tessera::Binary{tessera::Binary::Kind::add}, {parts[0], b});
            },
            24,
            1});
  check_op({"transpose", {Shape{2, 3, 4, 5}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
              const ValueId t = g.add("t", Transpose{{3, 0, 2, 1}}, {x[0]});
              return g.add("cat", Concat{2}, {t, t});
            }});
}

TEST(CudaNetwork, Resizes) {
  TSR_NEEDS_DEVICE();
  for (const auto mode : {Resize::Mode::nearest, Resize::Mode::linear, Resize::Mode::cubic})
    for (const std::int64_t channels : {16, 3})
      check_op({"resize",
                {Shape{2, channels, 6, 5}},
                [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                  const ValueId scales =
                      g.add_constant("scales", Array::of<float>(Shape{4}, std::vector<float>{1, 1, 2, 1.6f}));
                  return g.add("resize", Resize{.mode = mode}, {x[0], kNoValue, scales});
                },
                16});
}

TEST(CudaNetwork, SoftmaxAndLayerNorm) {
  TSR_NEEDS_DEVICE();
  for (const std::int64_t length : {7, 300, 5000}) {
    check_op({"softmax",
              {Shape{3, length}},
              [&](tessera::Graph& g, const auto& x, std::mt19937&) { return g.add("softmax", Softmax{}, {x[0]}); },
              static_cast<double>(length)});
    check_op({"layer norm",
              {Shape{2, 3, length}},
              [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
                return g.add("norm", LayerNorm{},
                             {x[0], weights(g, Shape{length}, random, 1), weights(g, Shape{length}, random, 1)});
              },
              static_cast<double>(length)});
  }
}

TEST(CudaNetwork, NormsOfChannels) {
  TSR_NEEDS_DEVICE();
  struct Row {
    Shape x;
    std::int64_t groups;
  };
  // Whole 16 bytes and not; groups smaller and larger than a warp; more channels than a block has threads; few pixels
  // and many, so that blocks of a cluster share them.
  for (const Row& row : {Row{Shape{2, 32, 7, 5}, 8}, Row{Shape{1, 30, 9, 3}, 5}, Row{Shape{2, 320, 4, 4}, 32},
                         Row{Shape{1, 600, 3, 2}, 1}, Row{Shape{3, 48, 1, 1}, 3}, Row{Shape{1, 16, 40, 30}, 2},
                         Row{Shape{2, 12, 50}, 4}, Row{Shape{1, 8, 3, 4, 5}, 2}}) {
    const std::int64_t channels = row.x[1], length = row.x.volume() / (row.x[0] * row.groups);
    for (const float center : {0.0f, 300.0f})
      for (const bool per_group : {false, true})
        check_op({"group norm",
                  {row.x},
                  [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
                    const Shape scales{per_group ? row.groups : channels};
                    const GroupNorm op{.groups = row.groups, .per_group_scale = per_group};
                    return g.add("norm", op, {x[0], weights(g, scales, random, 1), weights(g, scales, random, 1)});
                  },
                  // What is summed up is below 8, or as far from 0 as the inputs are.
                  static_cast<double>(length + 8) * (1 + static_cast<double>(center) / 8),
                  0,
                  center});
    if (length > row.x[1] / row.groups)  // one pixel has no deviation
      check_op({"instance norm",
                {row.x},
                [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
                  return g.add("norm", InstanceNorm{},
                               {x[0], weights(g, Shape{channels}, random, 1), weights(g, Shape{channels}, random, 1)});
                },
                static_cast<double>(length)});
    check_op({"batch norm",
              {row.x},
              [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
                Array variance = normal_array(Shape{channels}, random);
                for (float& value : variance.as<float>()) value = 0.5f + value * value;
                return g.add("norm", BatchNorm{},
                             {x[0], weights(g, Shape{channels}, random, 1), weights(g, Shape{channels}, random, 1),
                              weights(g, Shape{channels}, random, 1), g.add_constant("variance", std::move(variance))});
              },
              4});
  }
}

TEST(CudaNetwork, ComparisonsLogicAndChoices) {
  TSR_NEEDS_DEVICE();
  using Kind = tessera::Binary::Kind;
  const auto binary = [](tessera::Graph& g, Kind kind, ValueId a, ValueId b) {
    return g.add("binary" + std::to_string(g.values.size()), tessera::Binary{kind}, {a, b});
  };
  const auto unary = [](tessera::Graph& g, Unary op, ValueId a) {
    return g.add("unary" + std::to_string(g.values.size()), op, {a});
  };
  const auto cast = [](tessera::Graph& g, ElementType to, ValueId a) {
    return g.add("cast" + std::to_string(g.values.size()), Cast{.to = to}, {a});
  };
  const Shape shape{2, 10, 7, 5};
  for (const Kind kind : {Kind::equal, Kind::less, Kind::less_equal, Kind::greater, Kind::greater_equal})
    for (const Shape& other : {shape, Shape{2, 10, 1, 1}, Shape{1, 10, 1, 1}, Shape{5}, Shape{}})
      check_op({"comparison", {shape, other}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                  // Equal where x is the larger.
                  return binary(g, kind, x[0], binary(g, Kind::max, x[0], x[1]));
                }});
  for (const ElementType type : {ElementType::int32, ElementType::int64})
    check_op({"comparison of integers", {shape, Shape{10, 1, 5}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                return binary(g, Kind::less, cast(g, type, x[0]), cast(g, type, x[1]));
              }});
  for (const Kind kind : {Kind::logical_and, Kind::logical_or, Kind::logical_xor})
    check_op({"logic", {shape, Shape{7, 1}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                const ValueId zero = g.add_constant("zero", Array::scalar<float>(0));
                return unary(g, {Unary::Kind::logical_not},
                             binary(g, kind, binary(g, Kind::less, x[0], zero), binary(g, Kind::less, x[1], zero)));
              }});
  check_op({"what are no numbers", {shape}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
              return unary(g, {Unary::Kind::is_nan}, unary(g, {Unary::Kind::log}, x[0]));
            }});
  for (const float negative : {0.0f, 1.0f})
    check_op({"infinities", {shape}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                const ValueId low = g.add_constant("low", Array::scalar<float>(0)),
                              high = g.add_constant("high", Array::scalar<float>(0.25f));
                const ValueId few = g.add("few", Clip{}, {x[0], low, high});
                return unary(g, {Unary::Kind::is_inf, negative, 1 - negative}, unary(g, {Unary::Kind::log}, few));
              }});
  for (const auto& [a, b] : {std::pair{shape, shape}, {Shape{}, shape}, {Shape{1, 10, 1, 1}, Shape{7, 5}}})
    check_op({"where", {shape, a, b}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                const ValueId zero = g.add_constant("zero", Array::scalar<float>(0));
                return g.add("where", Where{}, {binary(g, Kind::greater, x[0], zero), x[1], x[2]});
              }});
  check_op({"a mask of attention",
            {Shape{2, 4, 9, 9}},
            [&](tessera::Graph& g, const auto& x, std::mt19937&) {
              Array mask(ElementType::boolean, Shape{9, 9});
              for (std::size_t i = 0; i < 81; ++i) mask.as<bool>()[i] = i % 9 <= i / 9;
              const ValueId never = g.add_constant("never", Array::scalar<float>(-INFINITY));
              return g.add("weights", Softmax{},
                           {g.add("where", Where{}, {g.add_constant("mask", std::move(mask)), x[0], never})});
            },
            9,
            1});
}

TEST(CudaNetwork, CastsToAndFromWholeNumbers) {
  TSR_NEEDS_DEVICE();
  for (const ElementType type : {ElementType::boolean, ElementType::uint8, ElementType::int8, ElementType::int32,
                                 ElementType::int64, ElementType::float16, ElementType::bfloat16})
    for (const float scale : {0.4f, 100.0f, 3e9f, 1e19f})  // inside every type, and beyond each
      check_op({"cast", {Shape{2, 10, 7, 5}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                  const ValueId by = g.add_constant("by", Array::scalar<float>(scale));
                  const ValueId y = g.add("scaled", tessera::Binary{tessera::Binary::Kind::mul}, {x[0], by});
                  const ValueId odd = g.add("odd", Unary{Unary::Kind::log}, {x[0]});  // NaN below 0
                  const ValueId all = g.add("all", Concat{1}, {y, odd});
                  return g.add("back", Cast{.to = ElementType::float32}, {g.add("cast", Cast{.to = type}, {all})});
                }});
  for (const auto& [from, to] : {std::pair{ElementType::int64, ElementType::int32},
                                 {ElementType::int32, ElementType::int64},
                                 {ElementType::uint8, ElementType::int64},
                                 {ElementType::uint8, ElementType::int32},
                                 {ElementType::boolean, ElementType::int64},
                                 {ElementType::int64, ElementType::boolean}})
    check_op({"cast", {Shape{3, 50}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                const ValueId by = g.add_constant("by", Array::scalar<float>(3e9f));
                const ValueId y = g.add("scaled", tessera::Binary{tessera::Binary::Kind::mul}, {x[0], by});
                return g.add("to", Cast{.to = to}, {g.add("from", Cast{.to = from}, {y})});
              }});
}

TEST(CudaNetwork, Attention) {
  TSR_NEEDS_DEVICE();
  struct Row {
    std::int64_t batch, tokens, heads, size, bias_batch;  // bias_batch 0: no bias
  };
  // Tiles of 64 keys and 16 queries, whole and not; channels of a head in eights and not; all kernels.
  for (const Row& row :
       {Row{1, 197, 12, 64, 0}, Row{4, 49, 3, 32, 1}, Row{8, 49, 3, 32, 4}, Row{2, 64, 2, 128, 0},
        Row{1, 130, 1, 96, 1}, Row{3, 1, 2, 40, 0}, Row{1, 17, 2, 24, 1}, Row{2, 33, 2, 12, 1}, Row{1, 20, 1, 160, 0}})
    check_op({"attention",
              {Shape{row.batch, row.tokens, 3 * row.heads * row.size}},
              [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
                std::vector<ValueId> inputs{x[0], kNoValue, kNoValue};
                if (row.bias_batch > 0)
                  inputs.push_back(g.add_constant(
                      "bias", normal_array(Shape{row.bias_batch, row.heads, row.tokens, row.tokens}, random)));
                else
                  inputs.resize(1);
                return g.add("attention",
                             Attention{.heads = row.heads,
                                       .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(row.size)))},
                             inputs);
              },
              // Scores are sums of `size` products each, and the weights that they give are rounded once.
              static_cast<double>(row.size * 4 + row.tokens),
              1});
}

TEST(CudaNetwork, AttentionAsNetworksSpellItOut) {
  TSR_NEEDS_DEVICE();
  check_op({"q k v",
            {Shape{2, 3, 40, 16}, Shape{2, 3, 70, 16}, Shape{2, 3, 70, 24}},
            [&](tessera::Graph& g, const auto& x, std::mt19937&) {
              const ValueId k = g.add("k", Transpose{{0, 1, 3, 2}}, {x[1]});
              const ValueId scores = g.add("scores", MatMul{}, {x[0], k});
              const ValueId scale = g.add_constant("scale", Array::scalar<float>(0.25f));
              const ValueId scaled = g.add("scaled", tessera::Binary{tessera::Binary::Kind::mul}, {scores, scale});
              return g.add("y", MatMul{}, {g.add("weights", Softmax{}, {scaled}), x[2]});
            },
            134,
            1});
}

TEST(CudaNetwork, ProductsOfTwoValues) {
  TSR_NEEDS_DEVICE();
  for (const auto& [a, b] : {std::pair{Shape{70, 40}, Shape{40, 50}},
                             {Shape{3, 5, 33}, Shape{3, 33, 65}},
                             {Shape{2, 3, 64, 32}, Shape{3, 32, 64}},
                             {Shape{2, 1, 10, 7}, Shape{5, 7, 3}}})
    check_op({"matmul",
              {a, b},
              [&](tessera::Graph& g, const auto& x, std::mt19937&) { return g.add("y", MatMul{}, {x[0], x[1]}); },
              // Products of two numbers below 5 where the bound counts on weights.
              static_cast<double>(4 * a[a.rank() - 1])});
  for (const bool first : {false, true})
    for (const bool second : {false, true})
      check_op({"gemm",
                {first ? Shape{40, 70} : Shape{70, 40}, second ? Shape{50, 40} : Shape{40, 50}, Shape{70, 1}},
                [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                  const ValueId y =
                      g.add("y", Gemm{.alpha = 0.5f, .beta = 2, .transpose_a = first, .transpose_b = second},
                            {x[0], x[1], x[2]});
                  return g.add("relu", Unary{Unary::Kind::relu}, {y});
                },
                160,
                1});
}

TEST(CudaNetwork, ProductsOfTokens) {
  TSR_NEEDS_DEVICE();
  for (const Shape& shape : {Shape{2, 19, 48}, Shape{2, 5, 7, 48}})
    for (const auto kind : {Unary::Kind::gelu, Unary::Kind::silu, Unary::Kind::tanh})
      check_op(
          {"tokens",
           {shape},
           [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
             ValueId y = g.add("first", MatMul{}, {x[0], weights(g, Shape{48, 64}, random, 48)});
             y = g.add("biased", tessera::Binary{tessera::Binary::Kind::add}, {y, weights(g, Shape{64}, random, 1)});
             y = g.add("second", MatMul{}, {g.add("act", Unary{kind}, {y}), weights(g, Shape{64, 48}, random, 64)});
             return g.add("sum", tessera::Binary{tessera::Binary::Kind::add}, {x[0], y});
           },
           112,
           3});
}

TEST(CudaNetwork, ReductionsSlicesAndChoices) {
  TSR_NEEDS_DEVICE();
  using Kind = Reduce::Kind;
  for (const Kind kind : {Kind::mean, Kind::sum, Kind::max, Kind::min, Kind::l2, Kind::sum_square, Kind::log_sum_exp})
    for (const std::vector<std::int64_t>& axes : std::vector<std::vector<std::int64_t>>{{1}, {-1}, {0, 2}, {}})
      check_op({"reduce",
                {Shape{3, 20, 37}},
                [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                  return g.add("y", Reduce{.kind = kind, .axes = axes, .keep_dims = false}, {x[0]});
                },
                // Squares are below 25, and of them there may be all.
                3 * 20 * 37 * 4});
  const auto list = [](tessera::Graph& g, std::vector<std::int64_t> values) {
    return g.add_constant("list" + std::to_string(g.values.size()),
                          Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
  };
  for (const auto& [begin, end, step] : {std::array{0, 100, 2}, std::array{1, 100, 2}, std::array{-3, 100, 1},
                                         std::array{8, -100, -1}, std::array{3, 7, 1}})
    check_op({"slice", {Shape{2, 9, 16}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                const ValueId doubled = g.add("doubled", tessera::Binary{tessera::Binary::Kind::add}, {x[0], x[0]});
                return g.add("y", Slice{}, {doubled, list(g, {begin}), list(g, {end}), list(g, {1}), list(g, {step})});
              }});
  check_op({"expand", {Shape{2, 1, 16}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
              return g.add("y", Expand{}, {x[0], list(g, {3, 2, 5, 16})});
            }});
  check_op({"tile", {Shape{2, 3, 5}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
              return g.add("y", TileRepeat{}, {x[0], list(g, {2, 1, 3})});
            }});
  for (const bool columns : {false, true})
    check_op({"depth to space", {Shape{2, 12, 3, 5}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                return g.add("y", DepthToSpace{.block = 2, .column_row_depth = columns}, {x[0]});
              }});
  check_op({"space to depth", {Shape{2, 3, 6, 9}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
              return g.add("y", SpaceToDepth{.block = 3}, {x[0]});
            }});
  for (const std::int64_t axis : {0, 1, 2})
    for (const std::int64_t width : {16, 7})
      check_op({"gather", {Shape{4, 5, width}}, [&](tessera::Graph& g, const auto& x, std::mt19937&) {
                  return g.add("y", Gather{axis}, {x[0], list(g, {3, 0, -1, 3})});
                }});
}

TEST(CudaNetwork, ImagesAsTokensAndBack) {
  TSR_NEEDS_DEVICE();
  check_op({"convnext",
            {Shape{2, 16, 9, 7}},
            [&](tessera::Graph& g, const auto& x, std::mt19937& random) {
              Conv depthwise;
              depthwise.window = window({7, 7}, 1, 3);
              depthwise.groups = 16;
              ValueId y = g.add("dw", depthwise, {x[0], weights(g, Shape{16, 1, 7, 7}, random, 49)});
              y = g.add("tokens", Transpose{{0, 2, 3, 1}}, {y});
              y = g.add("norm", LayerNorm{}, {y, weights(g, Shape{16}, random, 1), weights(g, Shape{16}, random, 1)});
              y = g.add("up", MatMul{}, {y, weights(g, Shape{16, 32}, random, 16)});
              y = g.add("down", MatMul{},
                        {g.add("gelu", Unary{Unary::Kind::gelu}, {y}), weights(g, Shape{32, 16}, random, 32)});
              y = g.add("image", Transpose{{0, 3, 1, 2}}, {y});
              return g.add("sum", tessera::Binary{tessera::Binary::Kind::add}, {x[0], y});
            },
            97,
            // The norm divides by what may be small: roundings before it grow by up to four times.
            12});
}

double distance(const std::vector<Array>& a, const std::vector<Array>& b) {
  double sum = 0;
  for (std::size_t o = 0; o < a.size(); ++o) {
    const std::vector<double> x = a[o].to_double(), y = b[o].to_double();
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  }
  return std::sqrt(sum);
}

// Storing values as bfloat16 moves a network's outputs by so much on the processor; bfloat16 on the device may move
// them twice as far, float16 with a rounding an eighth as large a quarter, float32 a thousandth.
TEST(CudaNetwork, ZooNetworksAreAsAccurateAsTheirTypes) {
  TSR_NEEDS_DEVICE();
  for (const std::string name : {"resnet18", "resnet50", "mobilenet_v2", "efficientnet_like", "unet", "shallow_unet",
                                 "vgg16", "yolo_like", "vit_b_16", "swin_t", "convnext_tiny"}) {
    std::mt19937 random(3);
    LoadedNetwork network{.model = name, .name = name, .graph = make_zoo_model(name, 2)};
    for (const ValueId id : network.graph.inputs)
      network.inputs.push_back(normal_array(network.graph.value(id).type.shape(), random));
    const std::vector<Array> wanted = Session(network.graph).run(network.inputs);
    SessionOptions narrow;
    narrow.storage = ElementType::bfloat16;
    const double moved = distance(Session(network.graph, narrow).run(network.inputs), wanted);
    for (const auto& [storage, factor] : {std::pair{ElementType::float16, 0.25}, std::pair{ElementType::bfloat16, 2.0},
                                          std::pair{ElementType::float32, 1e-3}}) {
      const CudaPlan plan(network, h200(), {.storage = storage, .exact = true});
      const double off = distance(plan.run(network.inputs).outputs, wanted);
      EXPECT_LE(off, factor * moved) << name << " as " << tessera::name(storage);
      EXPECT_GT(off, 0) << name;
    }
  }
}

TEST(CudaNetwork, RunsForSeveralBatchesAndInputs) {
  TSR_NEEDS_DEVICE();
  std::mt19937 random(5);
  for (const std::int64_t batch : {1, 3}) {
    LoadedNetwork network{.model = "resnet18", .name = "resnet18", .graph = make_zoo_model("resnet18", batch)};
    const Shape shape = network.graph.value(network.graph.inputs[0]).type.shape();
    network.inputs.push_back(normal_array(shape, random));
    const CudaPlan plan(network, h200(), {});
    const std::vector<Array> first = plan.run(network.inputs).outputs;
    const std::vector<Array> other = plan.run({normal_array(shape, random)}).outputs;
    EXPECT_GT(distance(first, other), 0);
    EXPECT_EQ(distance(plan.run(network.inputs).outputs, first), 0);
    EXPECT_THROW(plan.program().run({}), Error);
  }
}

}  // namespace
}  // namespace tessera::cuda
