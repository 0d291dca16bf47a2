#include "tessera/graph/tensor_type.h"

#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using Dims = std::vector<std::int64_t>;

TEST(TensorType, PrintsWhatIsKnown) {
  EXPECT_EQ(TensorType(ElementType::float32, Dims{1, TensorType::kUnknown, 224, 224}).to_string(),
            "float32[1, ?, 224, 224]");
  EXPECT_EQ(TensorType(ElementType::int64, std::nullopt).to_string(), "int64[...]");
  EXPECT_EQ(TensorType(ElementType::boolean, Shape{}).to_string(), "bool[]");
}

TEST(TensorType, IsStaticOnceEveryExtentIsKnown) {
  EXPECT_TRUE(TensorType(ElementType::float32, Shape{2, 0, 3}).is_static());
  EXPECT_TRUE(TensorType(ElementType::float32, Shape{}).is_static());
  EXPECT_FALSE(TensorType(ElementType::float32, Dims{2, TensorType::kUnknown}).is_static());
  EXPECT_FALSE(TensorType(ElementType::float32, std::nullopt).is_static());
}

TEST(TensorType, GivesShapeAndRankOnlyIfKnown) {
  const TensorType whole(ElementType::int8, Shape{2, 3}), part(ElementType::int8, Dims{2, -1}),
      none(ElementType::int8, std::nullopt);
  EXPECT_EQ(whole.shape(), (Shape{2, 3}));
  EXPECT_EQ(part.rank(), 2);
  EXPECT_THROW(part.shape(), Error);
  EXPECT_THROW(none.shape(), Error);
  EXPECT_THROW(none.rank(), Error);
}

TEST(TensorType, SayingWhatIsMissingNamesTheType) {
  try {
    TensorType(ElementType::int8, Dims{2, -1}).shape();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("int8[2, ?]"));
  }
}

TEST(TensorType, DiffersByElementTypeAndByEveryExtent) {
  const TensorType a(ElementType::float32, Dims{2, -1});
  EXPECT_EQ(a, TensorType(ElementType::float32, Dims{2, -1}));
  EXPECT_NE(a, TensorType(ElementType::float16, Dims{2, -1}));
  EXPECT_NE(a, TensorType(ElementType::float32, Dims{2, 4}));
  EXPECT_NE(a, TensorType(ElementType::float32, std::nullopt));
}

}  // namespace
}  // namespace tessera
