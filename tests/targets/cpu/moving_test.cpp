// Kernels that move elements: Concat, Split, Transpose, Slice, Expand, Tile, DepthToSpace, SpaceToDepth, Pad, Gather.

#include "tessera/core/error.h"
#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace tessera::cpu {
namespace {

using testing::Contains;

constexpr ElementType kTypes[] = {ElementType::uint8, ElementType::bfloat16, ElementType::float32, ElementType::int64};
constexpr Order kOrders[] = {Order::row_major, Order::channels_last};

Order order_for(const Shape& shape, Order order) { return shape.rank() < 3 ? Order::row_major : order; }

// Elements are to arrive as they were.
void run(const Op& op, std::vector<Operand> operands, const std::string& kernel, int outputs = 1) {
  for (Operand& operand : operands) operand.order = order_for(operand.array->shape(), operand.order);
  KernelCase test = one_node(op, std::move(operands), outputs);
  test.ulps = 0;
  test.reduction = 0;
  EXPECT_THAT(expect_kernels_agree(test), Contains(kernel)) << name(op);
}

Array some(ElementType type, const Shape& shape, std::mt19937_64& random) {
  Array x = nasty_array(type, shape, random);
  if (type == ElementType::uint8)
    for (std::uint8_t& v : x.as<std::uint8_t>()) v = static_cast<std::uint8_t>(random());
  return x;
}

Shape random_shape(std::mt19937_64& random, int low, int high, std::int64_t extent) {
  std::vector<std::int64_t> dims;
  for (std::int64_t i = between(random, low, high); i > 0; --i)
    dims.push_back(between(random, random() % 20 == 0 ? 0 : 1, extent));
  return Shape(dims);
}

TEST(Moving, ConcatAgreesAlongEveryAxisInBothOrders) {
  std::mt19937_64 random(1);
  for (const ElementType type : kTypes)
    for (const Order order : kOrders)
      for (const Shape& shape : {Shape{2, 17, 5, 3}, Shape{1, 3, 4}, Shape{4, 33}, Shape{7}})
        for (int axis = 0; axis < shape.rank(); ++axis) {
          std::vector<Operand> operands;
          for (const std::int64_t extent : {3, 0, 5, 1}) {
            std::vector<std::int64_t> dims = shape.dims();
            dims[static_cast<std::size_t>(axis)] = extent;
            operands.push_back(input(some(type, Shape(dims), random), order));
          }
          operands[2].constant = true;
          operands[2].order = Order::row_major;
          run(Concat{axis - (axis & 1 ? shape.rank() : 0)}, operands, "concat");
        }
}

TEST(Moving, ConcatTakesInputsThatLieInDifferentOrders) {
  std::mt19937_64 random(2);
  const Array a = some(ElementType::float32, Shape{1, 3, 4, 5}, random),
              b = some(ElementType::float32, Shape{1, 9, 4, 5}, random);
  run(Concat{1}, {input(a), input(b, Order::channels_last)}, "concat");
  run(Concat{1}, {input(b), input(a, Order::channels_last)}, "concat");
}

TEST(Moving, SplitAgreesAlongEveryAxisInBothOrders) {
  std::mt19937_64 random(3);
  for (const ElementType type : kTypes)
    for (const Order order : kOrders)
      for (int axis = 0; axis < 4; ++axis) {
        const Array x = some(type, Shape{6, 6, 6, 6}, random);
        run(Split{axis, {1, 3, 2}, 3}, {input(x, order)}, "split", 3);
        run(Split{axis, {}, 2}, {input(x, order)}, "split", 2);
      }
}

TEST(Moving, TransposeAgreesForEveryPermutation) {
  std::mt19937_64 random(4);
  for (const ElementType type : kTypes)
    for (const Order order : kOrders)
      for (const Shape& shape :
           {Shape{2, 3, 17, 5}, Shape{19, 33, 18}, Shape{40, 35}, Shape{1, 8, 1, 9}, Shape{3, 2, 2, 3, 2}}) {
        Transpose op;
        op.perm.resize(static_cast<std::size_t>(shape.rank()));
        std::iota(op.perm.begin(), op.perm.end(), 0);
        const Array x = some(type, shape, random);
        do {
          run(op, {input(x, order)}, "transpose");
        } while (std::next_permutation(op.perm.begin(), op.perm.end()));
        run(Transpose{}, {input(x, order)}, "transpose");
      }
}

TEST(Moving, ATransposeThatOnlyNamesTheOrderIsAView) {
  std::mt19937_64 random(5);
  const KernelMachine machine;
  for (const auto& [perm, order] : {std::pair{std::vector<std::int64_t>{0, 2, 3, 1}, Order::channels_last},
                                    std::pair{std::vector<std::int64_t>{0, 3, 1, 2}, Order::row_major}}) {
    const KernelCase test =
        one_node(Transpose{perm}, {input(some(ElementType::float32, Shape{2, 3, 4, 5}, random), order)});
    const Problem problem{test.graph, test.graph.nodes[0], infer_node(test.graph, test.graph.nodes[0]), test.orders,
                          machine};
    for (const CpuKernel& kernel : kernels()) {
      if (kernel.info.name != "transpose") continue;
      const Offer offer = std::get<Offer>(kernel.info.consider(kernel.info, problem));
      EXPECT_EQ(offer.view_of, 0);
      EXPECT_NE(offer.outputs[0], order);
    }
  }
}

TEST(Moving, SliceAgreesForStepsOfBothSigns) {
  std::mt19937_64 random(6);
  for (const ElementType type : kTypes)
    for (const Order order : kOrders) {
      const Array x = some(type, Shape{3, 20, 9, 7}, random);
      run(Slice{}, {input(x, order), integers({1, 2}), integers({19, 100}), integers({1, 2})}, "slice");
      run(Slice{}, {input(x, order), integers({-1, 0}), integers({-100, 5}), integers({3, 1}), integers({-2, 3})},
          "slice");
      run(Slice{}, {input(x, order), integers({0, -7}), integers({2, INT64_MAX})}, "slice");
      run(Slice{}, {input(x, order), integers({5}), integers({5}), integers({2})}, "slice");
      run(Slice{}, {input(x, order), integers({4}), integers({INT64_MIN}), integers({1}), integers({INT64_MIN})},
          "slice");
    }
}

TEST(Moving, ExpandAndTileAgree) {
  std::mt19937_64 random(7);
  for (const ElementType type : kTypes)
    for (const Order order : kOrders) {
      run(Expand{}, {input(some(type, Shape{1, 17, 1, 3}, random), order), integers({2, 1, 5, 3})}, "expand");
      run(Expand{}, {input(some(type, Shape{2, 1, 4}, random), order), integers({3, 1, 7, 4})}, "expand");
      run(Expand{}, {input(some(type, Shape{1}, random), order), integers({2, 3, 100})}, "expand");
      run(TileRepeat{}, {input(some(type, Shape{1, 5, 3, 2}, random), order), integers({2, 3, 1, 4})}, "tile_repeat");
      run(TileRepeat{}, {input(some(type, Shape{3, 1, 4}, random), order), integers({1, 5, 0})}, "tile_repeat");
    }
}

TEST(Moving, BlocksOfPixelsBecomeChannelsAndBack) {
  std::mt19937_64 random(8);
  for (const ElementType type : kTypes)
    for (const Order order : kOrders)
      for (const std::int64_t block : {1, 2, 3}) {
        for (const bool crd : {false, true})
          run(DepthToSpace{block, crd}, {input(some(type, Shape{2, 5 * block * block, 3, 4}, random), order)},
              "depth_to_space");
        run(SpaceToDepth{block}, {input(some(type, Shape{2, 5, 3 * block, 4 * block}, random), order)},
            "space_to_depth");
      }
}

TEST(Moving, PadAgreesInEveryModeWithPadsOfBothSigns) {
  std::mt19937_64 random(9);
  for (const ElementType type : kTypes)
    for (const Order order : kOrders)
      for (const Pad::Mode mode : {Pad::Mode::constant, Pad::Mode::reflect, Pad::Mode::edge, Pad::Mode::wrap}) {
        const Array x = some(type, Shape{2, 5, 4, 7}, random);
        run(Pad{mode}, {input(x, order), integers({0, 0, 1, 2, 0, 0, 3, 4})}, "pad");
        run(Pad{mode}, {input(x, order), integers({1, 2, 3, 4, 0, 1, 2, 3})}, "pad");
        run(Pad{mode}, {input(x, order), integers({0, 0, -1, 2, 0, -2, 3, -4})}, "pad");
        run(Pad{mode}, {input(x, order), integers({0, 0, 0, 0, 0, 0, 0, 0})}, "pad");
        run(Pad{mode}, {input(some(type, Shape{9}, random), order), integers({2, 20})}, "pad");
        if (mode != Pad::Mode::constant) continue;
        run(Pad{mode},
            {input(x, order), integers({1, -5, 2, 6}), constant(some(type, Shape{}, random)), integers({-1, 1})},
            "pad");
        run(Pad{mode}, {input(x, order), integers({0, 0, 1, 1, 0, 0, 1, 1}), input(some(type, Shape{}, random))},
            "pad");
        run(Pad{mode}, {input(x, order), integers({0, 0, -9, 3, 0, 0, 12, -5})}, "pad");
      }
}

TEST(Moving, GatherAgreesAlongEveryAxisForConstantAndComputedIndices) {
  std::mt19937_64 random(10);
  for (const ElementType type : kTypes)
    for (const Order order : kOrders)
      for (int axis = 0; axis < 4; ++axis) {
        const Array x = some(type, Shape{6, 9, 6, 7}, random);
        run(Gather{axis}, {input(x, order), integers({5, 0, -6, -1, 0})}, "gather");
        run(Gather{axis},
            {input(x, order), input(Array::of<std::int32_t>(Shape{2, 2}, std::vector<std::int32_t>{1, -1, 0, 5}))},
            "gather");
        run(Gather{axis}, {input(x, order), input(Array::scalar<std::int64_t>(-2))}, "gather");
      }
}

TEST(Moving, AnIndexOutsideIsAnErrorWithItsValue) {
  std::mt19937_64 random(11);
  const KernelCase test =
      one_node(Gather{1}, {input(some(ElementType::float32, Shape{2, 4}, random)),
                           input(Array::of<std::int64_t>(Shape{2}, std::vector<std::int64_t>{3, 4}))});
  for (const CpuKernel& kernel : kernels()) {
    if (kernel.info.name != "gather") continue;
    try {
      run_kernel(kernel, test);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("index 4 is outside a dimension of 4 elements"));
    }
  }
}

TEST(Moving, AgreesForRandomProblems) {
  fuzz([](std::mt19937_64& random) {
    const ElementType type = pick(random, kTypes);
    const Order order = pick(random, kOrders);
    const Shape shape = random_shape(random, 1, 5, 12);
    const Array x = some(type, shape, random);
    std::vector<std::int64_t> list;
    switch (random() % 5) {
      case 0: {
        for (int d = 0; d < shape.rank(); ++d) list.push_back(d);
        std::shuffle(list.begin(), list.end(), random);
        return run(Transpose{list}, {input(x, order)}, "transpose");
      }
      case 1: {
        std::vector<std::int64_t> ends, steps, axes;
        for (int d = 0; d < shape.rank(); ++d) {
          list.push_back(between(random, -15, 15));
          ends.push_back(between(random, -15, 15));
          steps.push_back(between(random, 1, 3) * (coin(random) ? 1 : -1));
          axes.push_back(d);
        }
        return run(Slice{}, {input(x, order), integers(list), integers(ends), integers(axes), integers(steps)},
                   "slice");
      }
      case 2: {
        for (int d = 0; d < shape.rank(); ++d) list.push_back(between(random, 0, 3));
        return run(TileRepeat{}, {input(x, order), integers(list)}, "tile_repeat");
      }
      case 3: {
        const int axis = static_cast<int>(between(random, 0, shape.rank() - 1));
        std::vector<Operand> operands(3, input(x, order));
        return run(Concat{axis}, operands, "concat");
      }
      default: {
        for (int d = 0; d < 2 * shape.rank(); ++d) list.push_back(between(random, 0, 3));
        const Pad::Mode mode = shape.volume() == 0
                                   ? Pad::Mode::constant
                                   : pick(random, {Pad::Mode::constant, Pad::Mode::reflect, Pad::Mode::edge});
        return run(Pad{mode}, {input(x, order), integers(list)}, "pad");
      }
    }
  });
}

}  // namespace
}  // namespace tessera::cpu
