#include "tessera/report/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace tessera {
namespace {

TEST(Units, SizesCountIn1024) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(1499136), "1.43 MiB");
  EXPECT_EQ(format_bytes(1072693184), "1023 MiB");
  EXPECT_EQ(format_bytes(-2048), "-2 KiB");
}

TEST(Units, WhatRoundsUpToAStepTakesTheNextOne) {
  EXPECT_EQ(format_bytes(1024.0 * 1024 - 1), "1 MiB");
  EXPECT_EQ(format_byte_rate(999.9e9), "1 TB/s");
  EXPECT_EQ(format_time(999.6), "1 us");
}

TEST(Units, HalvesAndThreeDigits) {
  EXPECT_EQ(format_time(9.994), "9.99 ns");
  EXPECT_EQ(format_time(9.996), "10 ns");
  EXPECT_EQ(format_time(99.94), "99.9 ns");
  EXPECT_EQ(format_time(99.96), "100 ns");
  EXPECT_EQ(format_time(123.4), "123 ns");
  EXPECT_EQ(format_time(123.6), "124 ns");
  EXPECT_EQ(format_time(999.4), "999 ns");
  EXPECT_EQ(format_time(12.34), "12.3 ns");
  EXPECT_EQ(format_bytes(1023.4), "1023 B");
  EXPECT_EQ(format_bytes(1023.6), "1 KiB");
}

TEST(Units, RatesAndTimesCountIn1000) {
  EXPECT_EQ(format_byte_rate(288e9), "288 GB/s");
  EXPECT_EQ(format_flop_rate(262.144e12), "262 TFLOP/s");
  EXPECT_EQ(format_flop_rate(9.996e9), "10 GFLOP/s");
  EXPECT_EQ(format_frequency(1.35e9), "1.35 GHz");
  EXPECT_EQ(format_time(2050), "2.05 us");
  EXPECT_EQ(format_time(0.25), "0.25 ns");
  EXPECT_EQ(format_time(90e9), "90 s");
  EXPECT_EQ(format_time(4000e9), "4000 s");
  EXPECT_EQ(format_time(-0.001), "0 ns");
}

TEST(Units, NumbersThatAreNoneSaySo) {
  EXPECT_EQ(format_bytes(std::numeric_limits<double>::infinity()), "inf B");
  EXPECT_EQ(format_byte_rate(std::numeric_limits<double>::quiet_NaN()), "nan B/s");
}

TEST(Units, CountsAreGroupedByThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1499136), "1,499,136");
  EXPECT_EQ(format_count(-123456), "-123,456");
  EXPECT_EQ(format_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Units, QuantitiesGoByTheSymbol) {
  EXPECT_EQ(format_quantity(2048, "B"), "2 KiB");
  EXPECT_EQ(format_quantity(11e12, "OP/s"), "11 TOP/s");
  EXPECT_EQ(format_quantity(23.6, "B/cycle"), "23.6 B/cycle");
  EXPECT_EQ(format_quantity(8, ""), "8");
}

}  // namespace
}  // namespace tessera
