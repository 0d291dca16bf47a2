#include "tessera/graph/operands.h"

#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using Dims = std::vector<std::int64_t>;
using testing::HasSubstr;

constexpr std::int64_t kU = TensorType::kUnknown;

TensorType f32(Dims dims) { return {ElementType::float32, std::move(dims)}; }
const TensorType kRankless(ElementType::float32, std::nullopt);

template <class Body>
std::string refusal(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Knowns, CountLooksAtPresenceNotOnlyAtPositions) {
  const std::vector<Known> inputs{{f32({1}), nullptr, true}, {{}, nullptr, false}, {f32({2}), nullptr, true}};
  const Knowns knowns("Thing", inputs);
  EXPECT_TRUE(knowns.has(0));
  EXPECT_FALSE(knowns.has(1));
  EXPECT_FALSE(knowns.has(3));
  EXPECT_NO_THROW(knowns.expect_count(1, 3));
  EXPECT_THAT(refusal([&] { knowns.expect_count(2, 3); }),
              HasSubstr("Thing: input 1 is missing, at least 2 are needed"));
  EXPECT_THAT(refusal([&] { knowns.expect_count(1, 2); }), HasSubstr("Thing: 3 inputs are given, at most 2 are taken"));
  EXPECT_THAT(refusal([&] { (void)knowns[1]; }), HasSubstr("Thing: input 1 is missing"));
  EXPECT_THAT(refusal([&] { (void)knowns[7]; }), HasSubstr("Thing: input 7 is missing"));
}

TEST(Knowns, ConstantsAreThoseOfPresentInputs) {
  const Array value = Array::scalar<float>(3);
  const std::vector<Known> inputs{{f32({}), &value, true}, {f32({}), nullptr, true}, {f32({}), &value, false}};
  const Knowns knowns("Thing", inputs);
  EXPECT_EQ(knowns.constant(0), &value);
  EXPECT_EQ(knowns.constant(1), nullptr);
  EXPECT_EQ(knowns.constant(2), nullptr) << "a left out input has no value";
  EXPECT_EQ(knowns.constant(3), nullptr);
}

TEST(Knowns, RankIsCheckedIfItIsKnown) {
  const std::vector<Known> inputs{{f32({2, kU}), nullptr, true}, {kRankless, nullptr, true}};
  const Knowns knowns("Thing", inputs);
  EXPECT_NO_THROW(knowns.expect_rank(0, 2, 4));
  EXPECT_NO_THROW(knowns.expect_rank(1, 7, 7));
  EXPECT_THAT(refusal([&] { knowns.expect_rank(0, 3, 4); }),
              HasSubstr("Thing: input 0 is float32[2, ?] of rank 2, a rank of 3 to 4"));
  EXPECT_THROW(knowns.expect_rank(0, 0, 1), Error);
}

TEST(Knowns, OneElementTypeIsDemandedByName) {
  const std::vector<Known> inputs{
      {f32({}), nullptr, true}, {TensorType(ElementType::int8, Shape{}), nullptr, true}, {f32({3}), nullptr, true}};
  const Knowns knowns("Thing", inputs);
  EXPECT_NO_THROW(knowns.expect_same_type(0, 2));
  EXPECT_THAT(refusal([&] { knowns.expect_same_type(0, 1); }),
              HasSubstr("Thing: inputs 0 and 1 must have one element type, not float32 and int8"));
}

TEST(Arrays, RefuseAnAbsentInputByItsPosition) {
  const Array value = Array::scalar<float>(3);
  const std::vector<const Array*> inputs{&value, nullptr};
  const Arrays arrays("Thing", inputs);
  EXPECT_EQ(&arrays[0], &value);
  EXPECT_FALSE(arrays.has(1));
  EXPECT_FALSE(arrays.has(2));
  EXPECT_THAT(refusal([&] { (void)arrays[1]; }), HasSubstr("Thing: input 1 is missing"));
}

TEST(StreamingWork, CountsBytesOfWhatIsKnown) {
  const std::vector<TensorType> in{f32({2, 3}), f32({kU}), TensorType(ElementType::int64, Shape{4})},
      out{f32({5}), kRankless};
  const Work work = streaming_work(in, out, 2);
  EXPECT_EQ(work.read_bytes, 2 * 3 * 4 + 4 * 8);
  EXPECT_EQ(work.write_bytes, 5 * 4);
  EXPECT_EQ(work.flops, 10);
}

TEST(NormalizedAxis, CountsFromTheEndAndNamesTheOperator) {
  EXPECT_EQ(normalized_axis(1, 3, "Thing"), 1);
  EXPECT_EQ(normalized_axis(-1, 3, "Thing"), 2);
  EXPECT_EQ(normalized_axis(-3, 3, "Thing"), 0);
  EXPECT_THAT(refusal([] { normalized_axis(3, 3, "Thing"); }), HasSubstr("Thing: axis 3 is not in [-3, 3)"));
  EXPECT_THROW(normalized_axis(-4, 3, "Thing"), Error);
  EXPECT_THROW(normalized_axis(0, 0, "Thing"), Error);
  EXPECT_THROW(normalized_axis(std::int64_t{1} << 40, 3, "Thing"), Error);
}

TEST(BroadcastDims, FollowNumPy) {
  EXPECT_EQ(broadcast_dims(f32({2, 1, 4}), f32({3, 1}), "Thing"), (Dims{2, 3, 4}));
  EXPECT_EQ(broadcast_dims(f32({}), f32({5}), "Thing"), (Dims{5}));
  EXPECT_EQ(broadcast_dims(f32({0}), f32({1}), "Thing"), (Dims{0}));
  EXPECT_THROW(broadcast_dims(f32({0}), f32({2}), "Thing"), Error);
  EXPECT_THAT(refusal([] { broadcast_dims(f32({2, 3}), f32({2, 4}), "Thing"); }), HasSubstr("3 against 4"));
  EXPECT_EQ(broadcast_shape(Shape{4, 1}, Shape{3}, "Thing"), (Shape{4, 3}));
}

TEST(BroadcastDims, UnknownExtentsAreDecidedByTheOtherSideOnlyIfItIsNotOne) {
  EXPECT_EQ(broadcast_dims(f32({kU, kU, kU}), f32({7, 1, kU}), "Thing"), (Dims{7, kU, kU}));
  EXPECT_EQ(broadcast_dims(f32({7, 1}), f32({kU}), "Thing"), (Dims{7, kU}));
  EXPECT_EQ(broadcast_dims(kRankless, f32({7}), "Thing"), std::nullopt);
}

}  // namespace
}  // namespace tessera
