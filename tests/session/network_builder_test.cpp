#include "tessera/session/network_builder.h"

#include "tessera/graph/evaluate.h"
#include "tessera/graph/graph.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

using for_tests::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

Array floats(Shape shape, std::vector<float> values) { return Array::of<float>(std::move(shape), values); }

TEST(NetworkBuilder, BuildsWhatItIsTold) {
  NetworkBuilder b("small");
  const NetworkValue x = b.input("x", TensorType(ElementType::float32, Shape{1, 1, 2, 2}));
  const NetworkValue c = b.conv("c", x, floats({2, 1, 1, 1}, {1, -1}), floats({2}, {0, 1}));
  const NetworkValue p = b.global_average_pool("p", b.relu("r", c));
  const NetworkValue y = b.dense("y", b.flatten("f", p), floats({1, 2}, {1, 10}));
  EXPECT_EQ(b.type(c).to_string(), "float32[1, 2, 2, 2]");
  const Network network = std::move(b).finish({y});
  EXPECT_EQ(network.name(), "small");
  ASSERT_EQ(network.inputs().size(), 1u);
  EXPECT_EQ(network.inputs()[0].name, "x");
  ASSERT_EQ(network.outputs().size(), 1u);
  EXPECT_EQ(network.outputs()[0].type.to_string(), "float32[1, 1]");
  const std::vector<Array> out = evaluate(network.graph(), {floats({1, 1, 2, 2}, {0, 1, 2, 3})});
  // The first channel has a mean of 1.5, the second, 1 - x rectified, one of 0.25.
  EXPECT_THAT(out[0].to_double(), ElementsAre(1.5 + 10 * 0.25));
}

TEST(NetworkBuilder, HasTheOperatorsOfImageNetworks) {
  NetworkBuilder b("all");
  const NetworkValue x = b.input("x", TensorType(ElementType::float32, Shape{1, 2, 4, 4}));
  const NetworkValue n =
      b.batch_norm("n", x, {floats({2}, {1, 1}), floats({2}, {0, 0}), floats({2}, {0, 0}), floats({2}, {1, 1})});
  const NetworkValue m = b.max_pool("m", b.silu("s", n), {.kernel = {2, 2}, .strides = {2, 2}});
  const NetworkValue a = b.average_pool("a", b.gelu("g", x), {.kernel = {2, 2}, .strides = {2, 2}});
  const NetworkValue j = b.concat("j", {b.add("p", m, a), b.subtract("q", m, a), b.multiply("t", m, a)}, 1);
  const NetworkValue d = b.divide("d", b.tanh("h", j), b.constant("two", Array::scalar(2.0f)));
  const NetworkValue rows = b.transpose("tr", b.reshape("rs", b.clip("cl", b.sigmoid("sg", d), 0, 1), {6, 4}), {1, 0});
  const NetworkValue y =
      b.softmax("y", b.matmul("mm", rows, b.constant("w", Array(ElementType::float32, Shape{6, 3}))));
  EXPECT_EQ(b.type(y).to_string(), "float32[4, 3]");
  const Network network = std::move(b).finish({y});
  const std::vector<Array> out = evaluate(network.graph(), {Array(ElementType::float32, Shape{1, 2, 4, 4})});
  for (const double share : out[0].to_double()) EXPECT_NEAR(share, 1.0 / 3, 1e-6);
}

TEST(NetworkBuilder, ErrorsNameTheOperator) {
  NetworkBuilder b("wrong");
  const NetworkValue x = b.input("x", TensorType(ElementType::float32, Shape{1, 3, 4, 4}));
  EXPECT_THAT(error_of([&] { b.conv("c1", x, Array(ElementType::float32, Shape{8, 4, 3, 3})); }), HasSubstr("c1"));
}

}  // namespace
}  // namespace tessera
