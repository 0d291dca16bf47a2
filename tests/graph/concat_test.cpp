#include "tessera/graph/ops/concat.h"

#include "op_testing.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::HasSubstr;
constexpr std::int64_t kUnknown = TensorType::kUnknown;

TEST(Concat, JoinsAlongAnyAxis) {
  const Array a = counting({2, 2}), b = floats({2, 1}, {10, 11});
  EXPECT_EQ(run_one(Concat{1}, {a, b}), floats({2, 3}, {0, 1, 10, 2, 3, 11}));
  EXPECT_EQ(run_one(Concat{-2}, {a, floats({1, 2}, {7, 8})}), floats({3, 2}, {0, 1, 2, 3, 7, 8}));
}

TEST(Concat, TakesEmptyPartsAndOneInput) {
  EXPECT_EQ(run_one(Concat{0}, {int64s({}), int64s({1, 2}), int64s({})}), int64s({1, 2}));
  EXPECT_EQ(run_one(Concat{0}, {array_of<bool>({2}, {true, false})}), array_of<bool>({2}, {true, false}));
}

TEST(Concat, LearnsExtentsFromWhicheverInputKnowsThem) {
  const TensorType a(ElementType::float32, std::vector<std::int64_t>{kUnknown, 3}),
      b(ElementType::float32, std::vector<std::int64_t>{4, 5});
  EXPECT_EQ(infer_types_only(Concat{1}, {a, b}).front().to_string(), "float32[4, 8]");
  EXPECT_EQ(infer_types_only(Concat{0}, {a, TensorType(ElementType::float32, std::nullopt)}).front().to_string(),
            "float32[?, 3]");
}

TEST(Concat, RefusesWhatDoesNotFit) {
  EXPECT_THAT(error_of([] { run(Concat{0}, {counting({2, 2}), counting({2, 3})}); }),
              HasSubstr("extents 2 and 3 of dimension 1 must agree"));
  EXPECT_THAT(error_of([] { run(Concat{2}, {counting({2, 2})}); }), HasSubstr("axis 2 is not in [-2, 2)"));
  EXPECT_THAT(error_of([] { run(Concat{0}, {counting({2}), int64s({1})}); }), HasSubstr("one element type"));
  EXPECT_THAT(error_of([] { run(Concat{0}, {Array::scalar(1.0F)}); }), HasSubstr("axis 0"));
  const TensorType huge(ElementType::int8, std::vector<std::int64_t>{std::int64_t{1} << 62});
  EXPECT_THAT(error_of([&] { infer_types_only(Concat{0}, {huge, huge}); }), HasSubstr("63 bits"));
}

}  // namespace
}  // namespace tessera
