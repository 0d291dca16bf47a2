#include "tessera/graph/ops/reshape.h"

#include "op_testing.h"

#include <gmock/gmock.h>

#include <limits>

namespace tessera {
namespace {

using testing::HasSubstr;
constexpr std::int64_t kUnknown = TensorType::kUnknown;
using Dims = std::vector<std::int64_t>;

std::string reshaped(const TensorType& x, const Array& shape, Reshape op = {}) {
  const std::vector<Known> knowns{{x}, {TensorType(shape.type(), shape.shape()), &shape, true}};
  return infer(op, Knowns("Reshape", knowns)).front().to_string();
}

TEST(Reshape, FillsInTheOpenExtent) {
  EXPECT_EQ(run_one(Reshape{}, {counting({2, 3, 4}), int64s({4, -1})}).shape(), (Shape{4, 6}));
  EXPECT_EQ(run_one(Reshape{}, {counting({2, 3, 4}), int64s({0, -1})}), counting({2, 12}));
  EXPECT_EQ(run_one(Reshape{}, {counting({2, 3, 4}), int64s({2, 0, 1, -1})}).shape(), (Shape{2, 3, 1, 4}));
  EXPECT_EQ(run_one(Reshape{}, {counting({1, 1}), int64s({})}).shape(), Shape{});
  EXPECT_EQ(run_one(Reshape{}, {counting({0, 3}), int64s({3, -1})}).shape(), (Shape{3, 0}));
}

TEST(Reshape, TakesZeroLiterallyIfAllowed) {
  EXPECT_EQ(run_one(Reshape{true}, {counting({0, 3, 4}), int64s({3, 4, 0})}).shape(), (Shape{3, 4, 0}));
  EXPECT_THAT(error_of([] { run(Reshape{true}, {counting({0, 3}), int64s({0, -1})}); }),
              HasSubstr("could then be anything"));
  EXPECT_THAT(error_of([] { run(Reshape{}, {counting({0, 3}), int64s({0, -1, 0})}); }), HasSubstr("keeps dimension 2"));
}

TEST(Reshape, TellsTheOpenExtentWhenUnknownOnesAreKept) {
  const TensorType x(ElementType::float32, Dims{kUnknown, 512, 1, 2});
  EXPECT_EQ(reshaped(x, int64s({0, -1})), "float32[?, 1024]");
  EXPECT_EQ(reshaped(x, int64s({-1, 1024})), "float32[?, 1024]");
  EXPECT_EQ(reshaped(x, int64s({3, 1024})), "float32[3, 1024]");
  EXPECT_EQ(reshaped(TensorType(ElementType::float32, std::nullopt), int64s({0, -1, 7})), "float32[?, ?, 7]");
  EXPECT_THAT(error_of([&] { reshaped(x, int64s({0, 1023})); }), HasSubstr("cannot be seen as"));
  EXPECT_EQ(infer_types_only(Reshape{}, {x, TensorType(ElementType::int64, Shape{3})}).front().to_string(),
            "float32[?, ?, ?]");
  EXPECT_EQ(infer_types_only(Reshape{}, {x, TensorType(ElementType::int64, Dims{kUnknown})}).front().to_string(),
            "float32[...]");
}

// Nothing else would look at it again: the result's shape is known, too.
TEST(Reshape, AListOfNoNumbersIsKnownBeforeItComes) {
  const auto single = [](Shape x) {
    return infer_types_only(Reshape{},
                            {TensorType(ElementType::float32, std::move(x)), TensorType(ElementType::int64, Shape{0})});
  };
  EXPECT_EQ(single({1, 1}).front().to_string(), "float32[]");
  for (const Shape& x : {Shape{2, 3}, Shape{0, 3}})
    EXPECT_THAT(error_of([&] { single(x); }), HasSubstr("cannot be seen as []"));
}

TEST(Reshape, RefusesHostileShapes) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(),
                         kMax = std::numeric_limits<std::int64_t>::max();
  const Array x = counting({2, 3});
  EXPECT_THAT(error_of([&] { run(Reshape{}, {x, int64s({4, -1})}); }), HasSubstr("no extent makes"));
  EXPECT_THAT(error_of([&] { run(Reshape{}, {x, int64s({-1, -1})}); }), HasSubstr("more than one extent open"));
  EXPECT_THAT(error_of([&] { run(Reshape{}, {x, int64s({kMin})}); }), HasSubstr("has an extent of"));
  EXPECT_THAT(error_of([&] { run(Reshape{}, {x, int64s({kMax, kMax})}); }), HasSubstr("63 bits"));
  // 2^32 squared is 0 in 64 bits: the product must not wrap around to fit.
  EXPECT_THAT(error_of([&] { run(Reshape{}, {counting({0}), int64s({1L << 32, 1L << 32})}); }), HasSubstr("63 bits"));
  EXPECT_THAT(error_of([&] { run(Reshape{}, {x, int64s({1, 1, 1, 1, 1, 1, 1, 1, 6})}); }), HasSubstr("rank 9"));
  EXPECT_THAT(error_of([&] { run(Reshape{}, {x, int64s({5})}); }), HasSubstr("cannot be seen as [5]"));
  EXPECT_THAT(error_of([&] { run(Reshape{}, {counting({0, 2}), int64s({0, -1})}); }), HasSubstr("no extent makes"));
}

TEST(Flatten, CutsInTwoAtTheAxis) {
  EXPECT_EQ(run_one(Flatten{}, {counting({2, 3, 4})}).shape(), (Shape{2, 12}));
  EXPECT_EQ(run_one(Flatten{0}, {counting({2, 3})}).shape(), (Shape{1, 6}));
  EXPECT_EQ(run_one(Flatten{2}, {counting({2, 3})}).shape(), (Shape{6, 1}));
  EXPECT_EQ(run_one(Flatten{-1}, {counting({2, 3, 4})}).shape(), (Shape{6, 4}));
  EXPECT_EQ(run_one(Flatten{0}, {Array::scalar(1.0F)}).shape(), (Shape{1, 1}));
  EXPECT_THAT(error_of([] { run(Flatten{3}, {counting({2, 3})}); }), HasSubstr("axis 3"));
}

TEST(Squeeze, DropsNamedOrAllExtentsOfOne) {
  EXPECT_EQ(run_one(Squeeze{}, {counting({1, 2, 1})}).shape(), Shape{2});
  EXPECT_EQ(run_one(Squeeze{{-1}}, {counting({1, 2, 1})}).shape(), (Shape{1, 2}));
  EXPECT_EQ(run_one(Squeeze{}, {counting({1, 2, 1}), int64s({0})}).shape(), (Shape{2, 1}));
  EXPECT_THAT(error_of([] { run(Squeeze{{1}}, {counting({1, 2})}); }),
              HasSubstr("dimension 1 of float32[1, 2] has 2 elements"));
  const TensorType x(ElementType::float32, Dims{kUnknown, 1, 3});
  EXPECT_EQ(infer_types_only(Squeeze{{0}}, {x}).front().to_string(), "float32[1, 3]");
  EXPECT_EQ(infer_types_only(Squeeze{}, {x}).front().to_string(), "float32[...]");
}

TEST(Unsqueeze, InsertsExtentsOfOne) {
  EXPECT_EQ(run_one(Unsqueeze{{0, -1}}, {counting({2, 3})}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(run_one(Unsqueeze{}, {Array::scalar(1.0F), int64s({0})}).shape(), Shape{1});
  EXPECT_THAT(error_of([] { run(Unsqueeze{{1, 1}}, {counting({2})}); }), HasSubstr("given twice"));
  EXPECT_THAT(error_of([] { run(Unsqueeze{{2}}, {counting({2})}); }), HasSubstr("axis 2 is not in [-2, 2)"));
  const TensorType x(ElementType::float32, Dims{kUnknown, 3});
  EXPECT_EQ(infer_types_only(Unsqueeze{{1}}, {x}).front().to_string(), "float32[?, 1, 3]");
}

}  // namespace
}  // namespace tessera
