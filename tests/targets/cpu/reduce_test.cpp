#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cpu {
namespace {

using testing::Contains;
using testing::StartsWith;

constexpr ElementType kTypes[] = {ElementType::float32, ElementType::bfloat16};
constexpr Reduce::Kind kKinds[] = {Reduce::Kind::sum, Reduce::Kind::mean,       Reduce::Kind::max,
                                   Reduce::Kind::min, Reduce::Kind::prod,       Reduce::Kind::l1,
                                   Reduce::Kind::l2,  Reduce::Kind::sum_square, Reduce::Kind::log_sum};
constexpr Order kOrders[] = {Order::row_major, Order::channels_last};

// Kernels sum in double, as the definition does: only the order of the terms differs.
std::vector<std::string> run(const Op& op, const Array& x, Order order) {
  KernelCase test = one_node(op, {input(x, x.shape().rank() < 3 ? Order::row_major : order)});
  return expect_kernels_agree(test);
}

TEST(Reduce, EveryKindAgreesOverEverySetOfAxesInBothOrders) {
  std::mt19937_64 random(1);
  for (const ElementType type : kTypes)
    for (const std::int64_t channels : {3, 17, 100}) {
      const Array x = random_array(type, Shape{2, channels, 5, 7}, random);
      for (const Reduce::Kind kind : {Reduce::Kind::mean, Reduce::Kind::max})
        for (int set = 0; set < 16; ++set)
          for (const Order order : kOrders)
            for (const bool keep : {true, false}) {
              Reduce op{kind, {}, keep};
              for (int axis = 0; axis < 4; ++axis)
                if (set >> axis & 1) op.axes.push_back(axis);
              EXPECT_THAT(run(op, x, order), Contains(StartsWith("reduce"))) << set;
            }
    }
}

TEST(Reduce, NastyNumbersGoThroughAsInTheDefinition) {
  std::mt19937_64 random(2);
  for (const ElementType type : kTypes)
    for (const Shape& shape : {Shape{3, 17, 5}, Shape{2, 40, 33}, Shape{5, 1, 70}})
      for (const Reduce::Kind kind : kKinds)
        for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{1}, {2}, {0, 2}, {}})
          for (const Order order : kOrders) {
            // The order of terms decides between a large sum and infinity minus infinity.
            const bool huge = kind == Reduce::Kind::max || kind == Reduce::Kind::min || kind == Reduce::Kind::l2;
            run(Reduce{kind, axes}, huge ? nasty_array(type, shape, random) : random_array(type, shape, random), order);
          }
}

TEST(Reduce, GlobalPoolsAgreeInBothOrders) {
  std::mt19937_64 random(3);
  for (const ElementType type : kTypes)
    for (const Shape& shape :
         {Shape{2, 33, 7, 7}, Shape{1, 300, 3, 3}, Shape{3, 5, 40}, Shape{1, 1, 1, 1}, Shape{2, 3}})
      for (const Order order : kOrders)
        for (const GlobalPool& op : {GlobalPool{GlobalPool::Kind::average}, GlobalPool{GlobalPool::Kind::max},
                                     GlobalPool{GlobalPool::Kind::lp, 2}}) {
          EXPECT_THAT(run(op, random_array(type, shape, random), order), Contains(StartsWith("global_pool")));
          if (op.kind == GlobalPool::Kind::max) run(op, nasty_array(type, shape, random), order);
        }
}

TEST(Reduce, ArgReduceAgreesWithTiesAndNaN) {
  std::mt19937_64 random(4);
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16, ElementType::int32, ElementType::int64})
    for (const Shape& shape : {Shape{3, 17, 5, 4}, Shape{1, 3, 70}, Shape{100, 3}, Shape{9}})
      for (std::int64_t axis = 0; axis < shape.rank(); ++axis)
        for (const Order order : kOrders)
          for (int flags = 0; flags < 8; ++flags)
            EXPECT_THAT(run(ArgReduce{(flags & 1) != 0, axis, (flags & 2) != 0, (flags & 4) != 0},
                            nasty_array(type, shape, random), order),
                        Contains("arg_reduce"));
}

TEST(Reduce, AgreesForRandomProblems) {
  fuzz([](std::mt19937_64& random) {
    std::vector<std::int64_t> dims;
    for (std::int64_t i = between(random, 1, 5); i > 0; --i) dims.push_back(between(random, 1, dims.empty() ? 40 : 12));
    Reduce op{pick(random, kKinds), {}, coin(random)};
    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(dims.size()); ++axis)
      if (coin(random)) op.axes.push_back(axis);
    run(op, random_array(pick(random, kTypes), Shape(dims), random), pick(random, kOrders));
  });
}

}  // namespace
}  // namespace tessera::cpu
