#include "tessera/fleet/availability.h"

#include "tests/error_of.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace tessera::fleet {
namespace {

constexpr double kRounding = 1e4 * std::numeric_limits<double>::epsilon();  // of logarithms of factorials

FleetSpec failing(double mtbf_hours, double repair_hours) {
  FleetSpec spec;
  spec.mtbf_hours = mtbf_hours;
  spec.repair_hours = repair_hours;
  return spec;
}

TEST(Availability, OneCardIsUpForItsShareOfTheTime) {
  const Availability a = availability(failing(900, 100), 1, 0);
  EXPECT_NEAR(a.full_share, 0.9, kRounding);
  EXPECT_NEAR(a.mean_share, 0.9, kRounding);
  EXPECT_EQ(a.cards_999, 0);
}

TEST(Availability, ASpareHelpsUnlessBothAreDown) {
  const Availability a = availability(failing(900, 100), 1, 1);
  EXPECT_NEAR(a.full_share, 0.99, kRounding);
  EXPECT_NEAR(a.mean_share, 0.99, kRounding);
}

TEST(Availability, ATakeoverCostsThePlaceItsTimeWhereASpareIsFree) {
  FleetSpec spec = failing(900, 100);
  spec.takeover_s = 9 * 3600;
  const double down = 0.1, full = 1 - down * down;
  EXPECT_NEAR(availability(spec, 1, 1).mean_share, full - (1 - down) * (9.0 / 900) * full, kRounding);
  EXPECT_NEAR(availability(spec, 1, 0).mean_share, 1 - down, kRounding);  // nobody takes over
}

TEST(Availability, CardsOf999AreThoseOfThatShareAndOfNoLess) {
  // Two cards, each down 1 % of the time: both are up 98.01 %, at least one 99.99 %.
  EXPECT_EQ(availability(failing(99, 1), 2, 0).cards_999, 1);
  // Down 0.9 %: both up 98.2 %, one 99.992 %. Down 0.04 %: both up 99.92 %.
  EXPECT_EQ(availability(failing(99.1, 0.9), 2, 0).cards_999, 1);
  EXPECT_EQ(availability(failing(99.96, 0.04), 2, 0).cards_999, 2);
  // 99.5 % is more than 99 and less than 99.9.
  EXPECT_EQ(availability(failing(99.5, 0.5), 1, 0).cards_999, 0);
}

TEST(Availability, WithoutSparesTheMeanDoesNotDependOnHowManyThereAre) {
  for (const std::int64_t cards : {10, 1'000, 100'000})
    EXPECT_NEAR(availability(failing(80'000, 24), cards, 0).mean_share, 80'000.0 / 80'024, 1e-9) << cards;
}

TEST(Availability, SparesBringAFleetCloseToFull) {
  double last = 0;
  for (const std::int64_t spares : {0, 1, 2, 4, 8, 16}) {
    const Availability a = availability(failing(80'000, 24), 10'000, spares);
    EXPECT_GT(a.full_share, last) << spares;
    last = a.full_share;
  }
  EXPECT_GT(last, 0.9999);
  EXPECT_EQ(availability(failing(80'000, 24), 10'000, 16).cards_999, 10'000);
  EXPECT_LT(availability(failing(80'000, 24), 10'000, 0).cards_999, 10'000);
}

TEST(Availability, CardsThatNeverBreakForLongAreAlwaysThere) {
  const Availability a = availability(failing(100, 0), 8, 0);
  EXPECT_EQ(a.full_share, 1);
  EXPECT_EQ(a.mean_share, 1);
  EXPECT_NE(for_tests::error_of([] { availability(failing(0, 0), 1, 0); }).find("every 0 hours"), std::string::npos);
}

}  // namespace
}  // namespace tessera::fleet
