#include "tessera/vision/resample.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tessera {
namespace {

// Weights are multiples of 2^-22: with pixels of 8 bits and two bits for sums beyond 1, an int32 takes the sum.
constexpr int kFractionBits = 32 - 8 - 2;

// The pixels along one direction that make a new one, and their weights.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

double cubic(double x) {
  constexpr double kSharpness = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kSharpness + 2) * x - (kSharpness + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kSharpness;
  return 0;
}

std::vector<Taps> filter_taps(std::int64_t from, std::int64_t to, double (*filter)(double), double radius) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(1.0, scale), reach = radius * stretch;
  std::vector<Taps> all(static_cast<std::size_t>(to));
  std::vector<double> exact;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const std::int64_t first = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - reach + 0.5));
    const std::int64_t end = std::min(from, static_cast<std::int64_t>(centre + reach + 0.5));
    exact.clear();
    double sum = 0;
    for (std::int64_t x = first; x < end; ++x) {
      exact.push_back(filter((static_cast<double>(x) - centre + 0.5) * (1 / stretch)));
      sum += exact.back();
    }
    Taps& taps = all[static_cast<std::size_t>(i)];
    taps.first = first;
    for (const double weight : exact) {
      const double scaled = (sum == 0 ? weight : weight / sum) * (1 << kFractionBits);
      taps.weights.push_back(static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
    }
  }
  return all;
}

std::vector<Taps> nearest_taps(std::int64_t from, std::int64_t to) {
  std::vector<Taps> all(static_cast<std::size_t>(to));
  // Added up, as Pillow does: where a centre lies between two pixels, rounding decides.
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  double centre = scale * 0.5;
  for (std::int64_t i = 0; i < to; ++i, centre += scale)
    all[static_cast<std::size_t>(i)] = {std::min(from - 1, static_cast<std::int64_t>(centre)), {1 << kFractionBits}};
  return all;
}

std::vector<Taps> taps_of(std::int64_t from, std::int64_t to, Filter filter) {
  switch (filter) {
    case Filter::nearest: return nearest_taps(from, to);
    case Filter::bilinear: return filter_taps(from, to, triangle, 1);
    case Filter::bicubic: return filter_taps(from, to, cubic, 2);
  }
  fail(Code::internal, "a filter that is none");
}

// One new pixel out of those that lie `step` bytes apart.
void mix(const Taps& taps, const std::uint8_t* from, std::int64_t step, std::uint8_t* to) {
  for (int c = 0; c < 3; ++c) {
    std::int32_t sum = 1 << (kFractionBits - 1);
    const std::uint8_t* at = from + taps.first * step + c;
    for (const std::int32_t weight : taps.weights) {
      sum += *at * weight;
      at += step;
    }
    to[c] = static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
  }
}

}  // namespace

Image resample(const Image& image, std::int64_t width, std::int64_t height, Filter filter) {
  check(!image.empty() && width > 0 && height > 0, Code::invalid_argument,
        "a picture of {} x {} pixels cannot become one of {} x {}", image.width, image.height, width, height);
  Image narrow;
  const Image* rows = &image;
  if (width != image.width) {
    narrow = Image(width, image.height);
    const std::vector<Taps> taps = taps_of(image.width, width, filter);
    for (std::int64_t y = 0; y < image.height; ++y)
      for (std::int64_t x = 0; x < width; ++x)
        mix(taps[static_cast<std::size_t>(x)], image.pixel(0, y), 3, narrow.pixel(x, y));
    rows = &narrow;
  }
  if (height == image.height) return *rows;
  Image out(width, height);
  const std::vector<Taps> taps = taps_of(image.height, height, filter);
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      mix(taps[static_cast<std::size_t>(y)], rows->pixel(x, 0), width * 3, out.pixel(x, y));
  return out;
}

}  // namespace tessera
