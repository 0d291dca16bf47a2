#pragma once

// Which numbers a value takes while a network runs over samples, and which of them bytes should tell apart.

#include "tessera/core/export.h"
#include "tessera/quantize/quantize.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

// Always with 0 in it: padding and relu make zeros, and these are to be exact.
struct ValueRange {
  double low = 0, high = 0;

  bool operator==(const ValueRange&) const = default;
};

// A float32 value as a byte: (byte - zero) * scale.
struct ByteForm {
  float scale = 1;
  std::uint8_t zero = 0;

  bool operator==(const ByteForm&) const = default;
};
TSR_API ByteForm byte_form(const ValueRange& range);

// How often a value was where. The range comes first, from a run of its own; what lies outside of it later counts at
// the ends.
class TSR_API Histogram {
 public:
  static constexpr std::size_t kBins = 2048;

  explicit Histogram(const ValueRange& range) : range_(range), counts_(kBins) {}

  void add(std::span<const float> values);

  const ValueRange& range() const { return range_; }
  double width() const { return (range_.high - range_.low) / kBins; }
  double center(std::size_t bin) const { return range_.low + (static_cast<double>(bin) + 0.5) * width(); }
  std::span<const std::uint64_t> counts() const { return counts_; }
  std::uint64_t total() const;

 private:
  ValueRange range_;
  std::vector<std::uint64_t> counts_;
};

// `percentile`: of the values that stay inside, from 50 to 100, for the method of that name.
TSR_API ValueRange choose_range(const Histogram& histogram, RangeMethod method, double percentile);

}  // namespace tessera
