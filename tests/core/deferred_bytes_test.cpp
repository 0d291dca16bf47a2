#include "tessera/core/deferred_bytes.h"

#include "tessera/core/array.h"
#include "tessera/core/error.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

namespace tessera {
namespace {

// 0, 1, 2, ... and how often they were made.
class Counting : public DeferredBytes {
 public:
  explicit Counting(std::size_t floats) : DeferredBytes(floats * sizeof(float)), floats_(floats) {}
  void write(std::byte* to) const override {
    ++written;
    std::vector<float> values(floats_);
    std::iota(values.begin(), values.end(), 0.0f);
    std::memcpy(to, values.data(), size());
  }

  mutable std::atomic<int> written = 0;

 private:
  std::size_t floats_;
};

TEST(DeferredBytes, AreMadeOnceForAllWhoAskAndThenKept) {
  const auto bytes = std::make_shared<const Counting>(1000);
  const Array array(ElementType::float32, Shape{10, 100}, bytes);
  EXPECT_EQ(array.count(), 1000);
  EXPECT_EQ(bytes->written, 0);
  EXPECT_FALSE(bytes->is_kept());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(array.as<float>()[999], 999.0f); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bytes->written, 1);
  const Array copy = array;
  EXPECT_EQ(copy.as<float>().data(), array.as<float>().data());
}

TEST(DeferredBytes, LoadedForAWhileLeaveNothingBehind) {
  const auto bytes = std::make_shared<const Counting>(100);
  const Array array(ElementType::float32, Shape{100}, bytes);
  {
    const Array loaded = array.loaded();
    EXPECT_EQ(loaded.as<float>()[42], 42.0f);
    EXPECT_EQ(loaded.as<float>()[42], 42.0f);
    Array changed = loaded;
    changed.as<float>()[0] = -1;
    EXPECT_EQ(loaded.as<float>()[0], 0.0f);
    EXPECT_EQ(changed.as<float>()[99], 99.0f);
  }
  EXPECT_EQ(bytes->written, 1);
  EXPECT_FALSE(bytes->is_kept());
  EXPECT_EQ(array, array.loaded());  // asks for the bytes, and so they are kept
  EXPECT_TRUE(bytes->is_kept());
  const Array again = array.loaded();
  EXPECT_EQ(again.bytes().data(), array.bytes().data());
}

TEST(DeferredBytes, WritingGoesToACopyOfOnesOwn) {
  const Array array(ElementType::float32, Shape{4}, std::make_shared<const Counting>(4));
  Array mine = array.reshaped(Shape{2, 2});
  mine.as<float>()[3] = -3;
  EXPECT_EQ(mine.deferred(), nullptr);
  EXPECT_EQ(array.as<float>()[3], 3.0f);
  EXPECT_EQ(mine.as<float>()[2], 2.0f);
  EXPECT_NE(mine, array);
}

TEST(DeferredBytes, ASizeThatDoesNotFitTheShapeIsRefused) {
  EXPECT_THROW(Array(ElementType::float32, Shape{5}, std::make_shared<const Counting>(4)), Error);
}

}  // namespace
}  // namespace tessera
