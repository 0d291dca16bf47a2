#include "tessera/ncp/gradient_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tessera::ncp {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Notes what it is given.
class Noted : public GradientExchange {
 public:
  explicit Noted(const std::vector<float>& part, const std::vector<float>& sum) : part_(part), sum_(sum) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string who(int) const override { return "me"; }
  bool in_order() const override { return true; }
  void begin(std::span<const float* const> parts, std::span<float> sum) override {
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0] - part_.data(), sum.data() - sum_.data());
    buckets.emplace_back(sum.data() - sum_.data(), sum.size());
  }
  void wait() override {}
  std::vector<std::vector<double>> gather(std::span<const double>) override { return {}; }

  std::vector<std::pair<std::ptrdiff_t, std::size_t>> buckets;

 private:
  const std::vector<float>&part_, &sum_;
};

TEST(GradientExchange, BucketsCoverTheRangeOnceAndEndWithIt) {
  const std::vector<float> part(2 * kBucket + 100);
  std::vector<float> sum(part.size());
  const float* row = part.data();
  const auto cut = [&](std::int64_t begin, std::int64_t end) {
    Noted exchange(part, sum);
    begin_buckets(exchange, std::span(&row, 1), begin, end, sum);
    return exchange.buckets;
  };
  EXPECT_THAT(cut(0, kBucket), ElementsAre(Pair(0, kBucket)));
  EXPECT_THAT(cut(0, kBucket + 7), ElementsAre(Pair(0, kBucket), Pair(kBucket, 7)));
  EXPECT_THAT(cut(50, 2 * kBucket + 60),
              ElementsAre(Pair(50, kBucket), Pair(50 + kBucket, kBucket), Pair(50 + 2 * kBucket, 10)));
  EXPECT_THAT(cut(5, 5), ElementsAre());
}

}  // namespace
}  // namespace tessera::ncp
