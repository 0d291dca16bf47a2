#include "tessera/graph/ops/resize.h"

#include "op_testing.h"
#include "partly_known.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using Mode = Resize::Mode;
using Coordinates = Resize::Coordinates;
using Nearest = Resize::Nearest;

Array sizes(std::initializer_list<std::int64_t> values) {
  return array_of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}
Array scales(std::initializer_list<float> values) { return floats({static_cast<std::int64_t>(values.size())}, values); }

Array by_scales(const Resize& op, const Array& x, std::initializer_list<float> s) {
  return run(op, {x, std::nullopt, scales(s)})[0];
}
Array by_sizes(const Resize& op, const Array& x, std::initializer_list<std::int64_t> s) {
  return run(op, {x, std::nullopt, std::nullopt, sizes(s)})[0];
}

TEST(Resize, NearestRepeatsElementsOfAnyType) {
  const Resize op{.coordinates = Coordinates::asymmetric, .nearest = Nearest::floor};
  EXPECT_EQ(by_scales(op, array_of<std::int64_t>({1, 2}, {1, std::int64_t{1} << 60}), {2, 2}),
            array_of<std::int64_t>({2, 4}, {1, 1, std::int64_t{1} << 60, std::int64_t{1} << 60, 1, 1,
                                            std::int64_t{1} << 60, std::int64_t{1} << 60}));
}

TEST(Resize, NearestModesDecideTies) {
  // Four to two with half pixels: sources 0.5 and 2.5.
  const Array x = floats({4}, {0, 1, 2, 3});
  EXPECT_EQ(by_sizes(Resize{.nearest = Nearest::round_prefer_floor}, x, {2}), floats({2}, {0, 2}));
  EXPECT_EQ(by_sizes(Resize{.nearest = Nearest::round_prefer_ceil}, x, {2}), floats({2}, {1, 3}));
  EXPECT_EQ(by_sizes(Resize{.nearest = Nearest::floor}, x, {2}), floats({2}, {0, 2}));
  EXPECT_EQ(by_sizes(Resize{.nearest = Nearest::ceil}, x, {2}), floats({2}, {1, 3}));
}

TEST(Resize, LinearFollowsItsCoordinates) {
  const Array x = floats({2}, {0, 4});
  EXPECT_EQ(by_scales(Resize{.mode = Mode::linear}, x, {2}), floats({4}, {0, 1, 3, 4}));
  EXPECT_EQ(by_scales(Resize{.mode = Mode::linear, .coordinates = Coordinates::asymmetric}, x, {2}),
            floats({4}, {0, 2, 4, 4}));
  EXPECT_EQ(by_sizes(Resize{.mode = Mode::linear, .coordinates = Coordinates::align_corners}, x, {5}),
            floats({5}, {0, 1, 2, 3, 4}));
  EXPECT_EQ(by_sizes(Resize{.mode = Mode::linear, .coordinates = Coordinates::pytorch_half_pixel}, x, {1}),
            floats({1}, {0}));
  EXPECT_EQ(by_sizes(Resize{.mode = Mode::linear}, x, {1}), floats({1}, {2}));
}

TEST(Resize, HalfPixelSymmetricCentresAScaleThatDoesNotFit) {
  // 3 * 0.9 is cut to 2 elements, 1 / 0.9 apart and centred on the middle of the input.
  const Array y = by_scales(Resize{.mode = Mode::linear, .coordinates = Coordinates::half_pixel_symmetric},
                            floats({3}, {0, 1, 2}), {0.9f});
  EXPECT_THAT(y.as<float>(), ElementsAre(FloatNear(1 - 0.5f / 0.9f, 1e-6f), FloatNear(1 + 0.5f / 0.9f, 1e-6f)));
}

TEST(Resize, OnlyTheNamedAxesChange) {
  const Array x = floats({2, 2}, {0, 1, 2, 3});
  EXPECT_EQ(by_sizes(Resize{.axes = {-1}}, x, {4}), floats({2, 4}, {0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(by_sizes(Resize{.axes = {1, 0}}, x, {1, 2}), floats({2, 1}, {0, 2}));
}

TEST(Resize, CropsAndExtrapolates) {
  const Resize op{.mode = Mode::linear, .coordinates = Coordinates::tf_crop_and_resize, .extrapolation_value = 9};
  const Array x = floats({3}, {0, 10, 20});
  EXPECT_EQ(run(op, {x, scales({0, 0.5f}), std::nullopt, sizes({3})})[0], floats({3}, {0, 5, 10}));
  EXPECT_EQ(run(op, {x, scales({0.5f, 1.5f}), std::nullopt, sizes({3})})[0], floats({3}, {10, 20, 9}));
  EXPECT_EQ(run(op, {x, scales({0, 1}), std::nullopt, sizes({1})})[0], floats({1}, {10}));
}

TEST(Resize, CubicWeighsFourNeighbours) {
  // At ratio 0.5 and a = -0.75 the weights are -0.09375, 0.59375, 0.59375, -0.09375.
  const Resize op{.mode = Mode::cubic, .coordinates = Coordinates::asymmetric};
  const Array x = floats({4}, {1, 10, 100, 1000});
  EXPECT_FLOAT_EQ(by_scales(op, x, {2}).as<float>()[3], -0.09375f * 1001 + 0.59375f * 110);
  // The neighbour before the first is the first again, or nothing.
  EXPECT_FLOAT_EQ(by_scales(op, x, {2}).as<float>()[1], 0.5f * 1 + 0.59375f * 10 - 0.09375f * 100);
  Resize exclude = op;
  exclude.exclude_outside = true;
  EXPECT_FLOAT_EQ(by_scales(exclude, x, {2}).as<float>()[1], (0.59375f * 11 - 0.09375f * 100) / 1.09375f);
}

TEST(Resize, AntialiasWidensTheKernelWhenShrinking) {
  // A triangle of half width 2 around 1.5: weights 0.25, 0.75, 0.75, 0.25 of 2.
  const Array x = floats({8}, {0, 0, 8, 0, 0, 0, 0, 0});
  const Array y = by_sizes(Resize{.mode = Mode::linear, .antialias = true}, x, {4});
  EXPECT_THAT(y.as<float>(), ElementsAre(1, 3, 0, 0));
  EXPECT_EQ(by_sizes(Resize{.mode = Mode::linear, .antialias = true}, floats({2}, {0, 4}), {4}),
            floats({4}, {0, 1, 3, 4}));
}

TEST(Resize, AspectPoliciesPickOneScale) {
  const Array x(ElementType::float32, {4, 8});
  EXPECT_EQ(by_sizes(Resize{.aspect = Resize::Aspect::not_larger}, x, {2, 6}).shape(), (Shape{2, 4}));
  EXPECT_EQ(by_sizes(Resize{.aspect = Resize::Aspect::not_smaller}, x, {2, 6}).shape(), (Shape{3, 6}));
}

TEST(Resize, IntegersRoundAndSaturate) {
  const Resize op{.mode = Mode::cubic, .coordinates = Coordinates::asymmetric};
  const Array y = by_scales(op, array_of<std::uint8_t>({4}, {0, 0, 255, 255}), {2});
  EXPECT_THAT(y.as<std::uint8_t>(), ElementsAre(0, 0, 0, 128, 255, 255, 255, 255));  // -23.9 and 278.9 do not fit
}

TEST(Resize, AScaleMultipliesInFloat) {
  EXPECT_EQ(by_scales(Resize{}, Array(ElementType::float32, {10}), {0.7f}).shape(), (Shape{7}));
}

TEST(Resize, TellsWhatItCanOfPartlyKnownInputs) {
  const TensorType four = type_of({4}), none = type_of({0});
  EXPECT_EQ(inferred(Resize{}, {type_of({1, 3, 8, 8}), none, four}), "float32[?, ?, ?, ?]");
  EXPECT_EQ(inferred(Resize{.axes = {2, 3}}, {type_of({1, 3, 8, 8}), none, type_of({2})}), "float32[1, 3, ?, ?]");
  EXPECT_EQ(inferred(Resize{}, {any_rank(), none, four}), "float32[...]");
}

TEST(Resize, RefusesWhatMakesNoSense) {
  const Array x(ElementType::float32, {2, 2});
  EXPECT_THROW(by_scales(Resize{}, x, {1}), Error);
  EXPECT_THROW(by_scales(Resize{}, x, {1, 0}), Error);
  EXPECT_THROW(by_scales(Resize{}, x, {1, 1e30f}), Error);
  EXPECT_THROW(by_sizes(Resize{}, x, {-1, 2}), Error);
  EXPECT_THROW(by_sizes(Resize{.axes = {0, -2}}, x, {2, 2}), Error);
  EXPECT_THROW(by_sizes(Resize{.axes = {5}}, x, {2}), Error);
  EXPECT_THROW(by_sizes(Resize{}, Array(ElementType::float32, {0, 2}), {2, 2}), Error);
  EXPECT_THAT(refusal(Resize{}, {type_of({2, 2})}), HasSubstr("neither"));
  EXPECT_THAT(refusal(Resize{.antialias = true}, {type_of({2}), type_of({0}), type_of({1})}), HasSubstr("antialias"));
  EXPECT_THAT(
      refusal(Resize{.coordinates = Coordinates::tf_crop_and_resize}, {type_of({2}), type_of({0}), type_of({1})}),
      HasSubstr("roi"));
}

}  // namespace
}  // namespace tessera
