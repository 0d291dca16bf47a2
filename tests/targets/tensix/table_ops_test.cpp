// Operators that are lines of tables, and what is made of others: values, types, refusals.

#include "tests/targets/tensix/card.h"

#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/embedding/embedding.h"
#include "tessera/targets/tensix/ops/layer_norm/layer_norm.h"
#include "tessera/targets/tensix/ops/reduction/reduction.h"
#include "tessera/targets/tensix/ops/repeat/repeat.h"
#include "tessera/targets/tensix/ops/shape_ops/shape_ops.h"
#include "tessera/targets/tensix/ops/ternary/ternary.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace tessera::tensix {
namespace {

using testing::ElementsAre;

class TableOps : public testing::Test {
 protected:
  DeviceTensor put(const std::vector<float>& values, const Shape& shape, DType dtype = DType::float32) const {
    return on_card(device, values, shape, dtype);
  }
  DeviceTensor row(const std::vector<float>& values, DType dtype = DType::float32) const {
    return put(values, Shape{1, static_cast<std::int64_t>(values.size())}, dtype);
  }
  std::vector<float> of(std::string_view name, const std::vector<float>& x, DType dtype = DType::float32) const {
    const VectorFunction f = vector_function(name);
    return values_of(unary(name, {&f, 1}, row(x, dtype)));
  }
  std::vector<float> of(std::string_view name, const std::vector<float>& a, const std::vector<float>& b,
                        DType dtype = DType::float32) const {
    return values_of(binary(binary_function(name), row(a, dtype), row(b, dtype)));
  }

  std::shared_ptr<Device> device = open_card();
};

TEST_F(TableOps, EveryFunctionOfOneNumberHasAValueAndAPrice) {
  for (const VectorFunctionRow& f : vector_function_rows()) {
    const std::vector<float> parameters(f.parameters.size(), 0.5f);
    const VectorFunction function = vector_function(f.name, parameters);
    const float half[] = {0.5f};
    float got = half[0];
    apply(function, {&got, 1}, true);
    const auto expected = static_cast<float>(f.value(0.5, function.parameters.data()));
    EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected)))
        << f.name << " " << got << " " << expected;
  }
  EXPECT_GT(vector_function_rows().size(), 60u);
  EXPECT_THAT(of("floor", {-1.5f, 2.5f}), ElementsAre(-2, 2));
  EXPECT_THAT(of("erfinv", {0.5f}), ElementsAre(testing::FloatNear(0.47693628f, 1e-6f)));
  EXPECT_THAT(of("digamma", {1.0f}), ElementsAre(testing::FloatNear(-0.57721566f, 1e-6f)));
  EXPECT_THAT(of("i0", {2.0f}), ElementsAre(testing::FloatNear(2.2795853f, 1e-6f)));
}

TEST_F(TableOps, ZerosKeepTheirSignInTheVectorUnit) {
  EXPECT_TRUE(std::signbit(of("tanh", {-0.0f}, DType::bfloat16)[0]));
  EXPECT_TRUE(std::signbit(of("sin", {-0.0f})[0]));
}

TEST_F(TableOps, ClampWhoseBoundsAreCrossedGivesTheUpperOne) {
  std::vector<float> x{-5, 0, 5};
  apply(clamp_function(3, 1), x, true);
  EXPECT_THAT(x, ElementsAre(1, 1, 1));
}

TEST_F(TableOps, LargeIntegersAreNotRoundedToFloats) {
  const std::vector<std::int32_t> x{16777217, -3};
  const DeviceTensor t = to_device(
      Tensor::from_elements(std::as_bytes(std::span(x)), DType::int32, Shape{1, 2}, DType::int32, Layout::tile),
      device);
  for (const double bound : {2147483647.0, 16777217.0}) {
    const Bytes bytes = from_device(binary(Binary::Kind::max, t, bound)).to_elements(DType::int32);
    std::int32_t got[2];
    std::memcpy(got, bytes.data(), sizeof got);
    EXPECT_EQ(got[1], static_cast<std::int32_t>(bound));
  }
}

TEST_F(TableOps, FunctionsOfTwoNumbers) {
  EXPECT_THAT(of("ge", {1, 2, 3}, {2, 2, 2}), ElementsAre(0, 1, 1));
  EXPECT_THAT(of("logical_xor", {0, 2, 3}, {1, 0, 2}), ElementsAre(1, 1, 0));
  EXPECT_THAT(of("remainder", {-7, 7}, {3, -3}), ElementsAre(2, -2));
  EXPECT_THAT(of("fmod", {-7, 7}, {3, -3}), ElementsAre(-1, 1));
  EXPECT_THAT(of("pow", {2, 3}, {3, 2}), ElementsAre(8, 9));
  EXPECT_THAT(of("bitwise_xor", {6, 5}, {3, 1}, DType::int32), ElementsAre(5, 4));
  EXPECT_THAT(of("bitwise_left_shift", {1, 1}, {4, 40}, DType::int32), ElementsAre(16, 0));
  EXPECT_THAT(of("gcd", {12, 7}, {18, 21}, DType::int32), ElementsAre(6, 7));
  EXPECT_THAT(of("lt", {1, 9}, {2, 2}, DType::uint8), ElementsAre(1, 0));
}

TEST_F(TableOps, OperandsThatTtnnRefusesAreRefused) {
  const auto refused = [&](std::string_view name, DType a, DType b) {
    const DeviceTensor x = row({1, 2}, a), y = row({1, 2}, b);
    const CardState before(*device);
    EXPECT_THROW(binary(binary_function(name), x, y), Error) << name;
    EXPECT_EQ(CardState(*device), before);
  };
  refused("add", DType::uint8, DType::uint8);
  refused("divide", DType::uint16, DType::uint16);
  refused("maximum", DType::bfloat16, DType::bfloat8_b);
  refused("bitwise_and", DType::bfloat16, DType::bfloat16);
  refused("pow", DType::int32, DType::int32);
  EXPECT_THROW(of("sign", {1}, DType::int32), Error);
  EXPECT_THROW(of("lgamma", {1}, DType::bfloat8_b), Error);
}

TEST_F(TableOps, FunctionsOfThreeOperands) {
  const DeviceTensor a = row({0, 1, 2}), b = row({10, 20, 30}), c = row({1, 2, 3});
  EXPECT_THAT(values_of(ternary(ternary_function("where"), a, b, c)), ElementsAre(1, 20, 30));
  EXPECT_THAT(values_of(ternary(ternary_function("where"), a, 7.0, c)), ElementsAre(1, 7, 7));
  EXPECT_THAT(values_of(ternary(ternary_function("addcmul"), a, b, c, {.value = 0.5})), ElementsAre(5, 21, 47));
  EXPECT_THROW(ternary(ternary_function("where"), a, row({1}, DType::bfloat16), 1.0), Error);
}

TEST_F(TableOps, Float32BecomesBfloat16ByTiesToEven) {
  EXPECT_THAT(values_of(typecast(row({59.125f, 59.375f}), DType::bfloat16)), ElementsAre(59.0f, 59.5f));
}

TEST_F(TableOps, ReductionsTakeTheirDimensions) {
  const DeviceTensor x = put({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(values_of(reduce(reduction("sum"), x, {.dims = std::vector{0}})), ElementsAre(5, 7, 9));
  EXPECT_THAT(values_of(reduce(reduction("mean"), x, {.dims = std::vector{-1}})), ElementsAre(2, 5));
  EXPECT_THAT(values_of(reduce(reduction("max"), x)), ElementsAre(6));
  EXPECT_THAT(values_of(reduce(reduction("var"), x, {.dims = std::vector{1}})), ElementsAre(1, 1));
  EXPECT_EQ(reduce(reduction("min"), x, {.dims = std::vector{1}, .keep_dims = true}).spec().logical_shape(),
            (Shape{2, 1}));
  EXPECT_THAT(values_of(accumulate(Accumulation::sum, x, 1)), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(values_of(accumulate(Accumulation::product, x, 0, {.backwards = true})), ElementsAre(4, 10, 18, 4, 5, 6));
  const DeviceTensor where = argmax(put({1, 9, 9, 4, 2, 3}, {2, 3}), 1, false);
  EXPECT_EQ(where.spec().dtype(), DType::uint32);
  EXPECT_THAT(values_of(where), ElementsAre(1, 0));
  EXPECT_THROW(reduce(reduction("sum"), x, {.dims = std::vector{2}}), Error);
  EXPECT_THROW(reduce(reduction("sum"), x, {.dims = std::vector{0, -2}}), Error);
}

TEST_F(TableOps, ShapesAreViewsPiecesAndRepetitions) {
  const DeviceTensor x = put({1, 2, 3, 4, 5, 6}, {1, 2, 3});
  EXPECT_THAT(values_of(transpose(x, -1, -2)), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(squeeze(x).spec().logical_shape(), (Shape{2, 3}));
  EXPECT_EQ(squeeze(x, std::vector{1}).spec().logical_shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(unsqueeze(x, -1).spec().logical_shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(unsqueeze_to(x, 4).spec().logical_shape(), (Shape{1, 1, 2, 3}));
  const std::vector<DeviceTensor> pieces = split(x, std::int64_t{2}, -1);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_THAT(values_of(pieces[1]), ElementsAre(3, 6));
  EXPECT_EQ(chunk(x, 2, 1).size(), 2u);
  const DeviceTensor both[] = {x, x};
  EXPECT_EQ(stack(both, 0).spec().logical_shape(), (Shape{2, 1, 2, 3}));
  const std::int64_t counts[] = {2, 1}, wider[] = {2, -1, 3};
  EXPECT_THAT(values_of(repeat(x, counts)), ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(values_of(repeat_interleave(x, 2, 1)), ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
  EXPECT_EQ(expand(x, wider).spec().logical_shape(), (Shape{2, 2, 3}));
  const std::int64_t narrower[] = {1, 1, 3};
  EXPECT_THROW(expand(x, narrower), Error);
}

TEST_F(TableOps, NormsAndEmbeddings) {
  const DeviceTensor x = put({1, 3, 2, 6}, {2, 2});
  LayerNormOptions options;
  options.weight = row({2, 1});
  options.bias = row({0, 1});
  EXPECT_THAT(values_of(layer_norm(RowNorm::layer, x, options)), ElementsAre(-2, 2, -2, 2));
  const std::vector<float> rms = values_of(layer_norm(RowNorm::rms, x));
  EXPECT_FLOAT_EQ(rms[0], 1 / std::sqrt(5.0f));
  options.weight = row({1, 2, 3});
  EXPECT_THROW(layer_norm(RowNorm::layer, x, options), Error);

  const DeviceTensor table = on_card(device, {1, 2, 3, 4, 5, 6}, {3, 2}, DType::bfloat16, Layout::row_major);
  const DeviceTensor indices = on_card(device, {2, 0}, {1, 2}, DType::uint32, Layout::row_major);
  EXPECT_THAT(values_of(embedding(indices, table, {})), ElementsAre(5, 6, 1, 2));
  EXPECT_THROW(embedding(on_card(device, {3}, {1, 1}, DType::uint32, Layout::row_major), table, {}), Error);
}

}  // namespace
}  // namespace tessera::tensix
