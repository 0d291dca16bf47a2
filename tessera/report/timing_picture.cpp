#include "tessera/report/timing_picture.h"

#include "tessera/report/markup.h"
#include "tessera/report/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

constexpr double kTimingSide = 520, kTimingLeft = 80, kTimingTop = 24, kTimingLegend = 190;
constexpr std::array kTimingColours{"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999999"};

}  // namespace

std::string timing_picture(std::span<const TimingPoint> points) {
  // The most frequent kinds have a colour each, the others share the last.
  std::vector<std::pair<std::string, int>> kinds;
  double least = 1e300, most = 0;
  for (const TimingPoint& p : points) {
    const auto found = std::ranges::find(kinds, p.kind, &std::pair<std::string, int>::first);
    found == kinds.end() ? (void)kinds.emplace_back(p.kind, 1) : (void)++found->second;
    least = std::min({least, p.measured_ns, p.predicted_ns});
    most = std::max({most, p.measured_ns, p.predicted_ns});
  }
  std::ranges::stable_sort(kinds, std::greater{}, &std::pair<std::string, int>::second);
  const double low = points.empty() ? 0 : std::floor(std::log10(least)),
               high = points.empty() ? 1 : std::ceil(std::log10(most));
  const double scale = kTimingSide / std::max(high - low, 1.0);
  const auto x = [&](double ns) { return kTimingLeft + (std::log10(ns) - low) * scale; };
  const auto y = [&](double ns) { return kTimingTop + kTimingSide - (std::log10(ns) - low) * scale; };
  const auto colour = [&](const std::string& kind) {
    for (std::size_t i = 0; i < kinds.size(); ++i)
      if (kinds[i].first == kind) return kTimingColours[std::min(i, kTimingColours.size() - 1)];
    return kTimingColours.back();
  };
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      kTimingLeft + kTimingSide + kTimingLegend, kTimingTop + kTimingSide + 60);
  for (double decade = low; decade <= high; ++decade) {
    const double ns = std::pow(10, decade);
    out += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {4:.1f}H{5:.1f}\" stroke=\"#dddddd\"/>\n", x(ns),
                       kTimingTop, kTimingTop + kTimingSide, kTimingLeft, y(ns), kTimingLeft + kTimingSide);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x(ns),
                       kTimingTop + kTimingSide + 18, format_time(ns));
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kTimingLeft - 6, y(ns) + 4,
                       format_time(ns));
  }
  const double a = std::pow(10, low), b = std::pow(10, high);
  out += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"#333333\"/>\n", x(a), y(a), x(b), y(b));
  for (const TimingPoint& p : points)
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" fill-opacity=\"0.7\"/>\n",
                       x(p.measured_ns), y(p.predicted_ns), colour(p.kind));
  for (std::size_t i = 0; i < std::min(kinds.size(), kTimingColours.size()); ++i) {
    const double at = kTimingTop + 10 + 20 * static_cast<double>(i);
    const bool rest = i + 1 == kTimingColours.size() && kinds.size() > kTimingColours.size();
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        kTimingLeft + kTimingSide + 16, at, kTimingColours[i], kTimingLeft + kTimingSide + 26, at + 4,
        rest ? "others" : escape_markup(kinds[i].first));
  }
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">measured</text>\n",
                     kTimingLeft + kTimingSide / 2, kTimingTop + kTimingSide + 42);
  out += fmt::format(
      "<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">predicted</text>\n</svg>\n",
      kTimingTop + kTimingSide / 2);
  return out;
}

}  // namespace tessera
