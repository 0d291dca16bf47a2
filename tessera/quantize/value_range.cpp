#include "tessera/quantize/value_range.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"min-max", "percentile", "entropy", "mse"};
constexpr int kLevels = 256;
// Ends of ranges are tried in so many steps, down to a twentieth of what was seen.
constexpr int kSteps = 96;
constexpr double kSmallest = 0.05;

// The part of the range between `low` and `high` fractions of its ends.
ValueRange part(const ValueRange& range, double low, double high) { return {range.low * low, range.high * high}; }

double fraction_at(int step) { return 1 - (1 - kSmallest) * step / kSteps; }

double squared_error(const Histogram& histogram, const ValueRange& range) {
  const ByteForm form = byte_form(range);
  double sum = 0;
  for (std::size_t bin = 0; bin < Histogram::kBins; ++bin) {
    const auto count = static_cast<double>(histogram.counts()[bin]);
    if (count == 0) continue;
    const double value = histogram.center(bin);
    const double byte = std::clamp(std::nearbyint(value / form.scale) + form.zero, 0.0, 255.0);
    const double error = (byte - form.zero) * form.scale - value;
    // Inside a bin values are spread evenly, which the distance of its centre does not show where steps are small.
    sum += count * (error * error + histogram.width() * histogram.width() / 12);
  }
  return sum;
}

// Of the distribution in the range, with what lies outside at its ends, from the same in 256 steps.
double divergence(const Histogram& histogram, const ValueRange& range) {
  const auto bin_of = [&](double value) {
    const double at = histogram.width() > 0 ? (value - histogram.range().low) / histogram.width() : 0;
    return static_cast<std::size_t>(std::clamp(std::floor(at), 0.0, double{Histogram::kBins - 1}));
  };
  const std::size_t first = bin_of(range.low), last = std::max(first, bin_of(range.high));
  const std::size_t bins = last - first + 1;
  if (bins < kLevels) return std::numeric_limits<double>::infinity();
  const auto counts = histogram.counts();
  std::vector<double> seen(bins), inside(bins);
  for (std::size_t bin = 0; bin < Histogram::kBins; ++bin) {
    const auto count = static_cast<double>(counts[bin]);
    const std::size_t to = std::clamp(bin, first, last) - first;
    seen[to] += count;
    if (bin >= first && bin <= last) inside[to] += count;
  }
  // Each step's count is spread over those of its bins that are not empty.
  std::vector<double> stepped(bins);
  for (std::size_t level = 0; level < kLevels; ++level) {
    const std::size_t begin = level * bins / kLevels, end = (level + 1) * bins / kLevels;
    double sum = 0;
    std::size_t filled = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += inside[i];
      filled += inside[i] > 0 ? 1 : 0;
    }
    for (std::size_t i = begin; i < end; ++i)
      if (inside[i] > 0) stepped[i] = sum / static_cast<double>(filled);
  }
  const double all_seen = std::accumulate(seen.begin(), seen.end(), 0.0);
  const double all_stepped = std::accumulate(stepped.begin(), stepped.end(), 0.0);
  if (all_seen == 0 || all_stepped == 0) return std::numeric_limits<double>::infinity();
  constexpr double kNothing = 1e-9;  // where the steps have nothing and the values something
  double sum = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    if (seen[i] == 0) continue;
    const double p = seen[i] / all_seen, q = std::max(stepped[i] / all_stepped, kNothing);
    sum += p * std::log(p / q);
  }
  return sum;
}

// The best of a number of parts: both ends together first, then each by itself.
template <class Cost>
ValueRange least(const Histogram& histogram, const Cost& cost) {
  double low = 1, high = 1, best = std::numeric_limits<double>::infinity();
  const auto attempt = [&](double new_low, double new_high) {
    const double found = cost(part(histogram.range(), new_low, new_high));
    if (found >= best) return;
    best = found;
    low = new_low;
    high = new_high;
  };
  for (int step = 0; step <= kSteps; ++step) attempt(fraction_at(step), fraction_at(step));
  if (histogram.range().low < 0 && histogram.range().high > 0) {
    const double both_low = low, both_high = high;
    for (int step = 0; step <= kSteps; ++step) attempt(fraction_at(step), both_high);
    for (int step = 0; step <= kSteps; ++step) attempt(both_low, fraction_at(step));
  }
  return part(histogram.range(), low, high);
}

ValueRange without_tails(const Histogram& histogram, double percentile) {
  const auto tail = static_cast<double>(histogram.total()) * (1 - percentile / 100);
  ValueRange range = histogram.range();
  double passed = 0;
  for (std::size_t bin = 0; bin < Histogram::kBins; ++bin) {
    passed += static_cast<double>(histogram.counts()[bin]);
    if (passed <= tail) continue;
    range.low = histogram.range().low + static_cast<double>(bin) * histogram.width();
    break;
  }
  passed = 0;
  for (std::size_t bin = Histogram::kBins; bin-- > 0;) {
    passed += static_cast<double>(histogram.counts()[bin]);
    if (passed <= tail) continue;
    range.high = histogram.range().low + static_cast<double>(bin + 1) * histogram.width();
    break;
  }
  return {std::min(range.low, 0.0), std::max(range.high, 0.0)};
}

}  // namespace

std::string_view name(RangeMethod method) { return kNames[static_cast<std::size_t>(method)]; }

std::optional<RangeMethod> parse_range_method(std::string_view text) {
  const auto* const found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<RangeMethod>(found - kNames.begin());
}

ByteForm byte_form(const ValueRange& range) {
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  // A value that is always 0, or nearly so: any scale does, and products of scales have to stay normal numbers.
  constexpr double kLeastScale = 1e-15;
  const auto scale = static_cast<float>(std::max((high - low) / (kLevels - 1), kLeastScale));
  const double zero = std::clamp(std::nearbyint(-low / scale), 0.0, 255.0);
  return {high == low ? 1.0F : scale, static_cast<std::uint8_t>(high == low ? 0 : zero)};
}

void Histogram::add(std::span<const float> values) {
  const double step = width() > 0 ? 1 / width() : 0;
  for (const float value : values) {
    const double at = (static_cast<double>(value) - range_.low) * step;
    ++counts_[static_cast<std::size_t>(std::clamp(at, 0.0, double{kBins - 1}))];
  }
}

std::uint64_t Histogram::total() const { return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}); }

ValueRange choose_range(const Histogram& histogram, RangeMethod method, double percentile) {
  check(percentile >= 50 && percentile <= 100, Code::invalid_argument, "a percentile of {}; it is from 50 to 100",
        percentile);
  if (histogram.total() == 0 || histogram.width() == 0) return histogram.range();
  switch (method) {
    case RangeMethod::min_max: return histogram.range();
    case RangeMethod::percentile: return without_tails(histogram, percentile);
    case RangeMethod::entropy:
      return least(histogram, [&](const ValueRange& range) { return divergence(histogram, range); });
    case RangeMethod::mse:
      return least(histogram, [&](const ValueRange& range) { return squared_error(histogram, range); });
  }
  fail(Code::internal, "a method {} of ranges", static_cast<int>(method));
}

}  // namespace tessera
