#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include <gtest/gtest.h>

namespace tessera::cpu {
namespace {

TEST(WhereKernels, RandomBroadcastsAgree) {
  for (Fuzz fuzz; fuzz.next();) {
    const int rank = static_cast<int>(fuzz.pick(0, 4));
    std::vector<std::int64_t> to;
    for (int d = 0; d < rank; ++d) to.push_back(fuzz.one_of<std::int64_t>({1, 2, 3, 5, 17}));
    const auto operand = [&] {
      std::vector<std::int64_t> dims(to.begin() + fuzz.pick(0, rank), to.end());
      if (fuzz.pick(0, 1) == 0) dims = to;
      for (std::int64_t& d : dims)
        if (fuzz.pick(0, 3) == 0) d = 1;
      return Shape(dims);
    };
    const ElementType type = fuzz.one_of(
        {ElementType::float32, ElementType::bfloat16, ElementType::int64, ElementType::uint8, ElementType::boolean});
    Array condition(ElementType::boolean, operand());
    for (bool& v : condition.as<bool>()) v = fuzz.pick(0, 1) == 1;
    Array a = nasty_array(type, operand(), fuzz.random), b = nasty_array(type, operand(), fuzz.random);
    const std::string what = condition.shape().to_string() + " " + a.shape().to_string() + " " + b.shape().to_string();
    SCOPED_TRACE(what);
    std::vector<Order> orders;
    for (const Array* array : {&condition, &a, &b})
      orders.push_back(array->shape().rank() < 3 ? Order::row_major
                                                 : fuzz.one_of({Order::row_major, Order::channels_last}));
    KernelCase test = one_node(Where{}, {{std::move(condition)}, {std::move(a)}, {std::move(b)}});
    test.orders = orders;
    EXPECT_FALSE(expect_kernels_agree(test).empty());
  }
}

}  // namespace
}  // namespace tessera::cpu
