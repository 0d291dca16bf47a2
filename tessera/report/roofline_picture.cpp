#include "tessera/report/roofline_picture.h"

#include "tessera/core/error.h"
#include "tessera/report/markup.h"
#include "tessera/report/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tessera {
namespace {

constexpr double kRooflineLeft = 92, kRooflineTop = 56, kRooflineWidth = 640, kRooflineHeight = 360,
                 kRooflineRight = 28;
constexpr std::string_view kRooflineColours[] = {"#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989", "#57606a"};

std::string opening(double width, double height, std::string_view title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>{2}</title>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"16\" y=\"28\" font-size=\"16\" font-weight=\"600\" fill=\"#1f2328\">{2}</text>\n",
      width, height, escape_markup(title));
}

std::string text(double x, double y, std::string_view words, std::string_view more = "",
                 std::string_view colour = "#57606a") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\"{}>{}</text>\n", x, y, colour, more,
                     escape_markup(words));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view look) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, look);
}

bool drawable(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

std::string roofline_to_svg(const Roofline& r) {
  check(drawable(r.peak_flop_per_s) && drawable(r.peak_bytes_per_s), Code::invalid_argument,
        "a roof of {} FLOP/s and {} B/s cannot be drawn", r.peak_flop_per_s, r.peak_bytes_per_s);
  std::vector<Roofline::Point> points;
  std::copy_if(r.points.begin(), r.points.end(), std::back_inserter(points),
               [](const Roofline::Point& p) { return drawable(p.intensity) && drawable(p.flop_per_s); });
  const double ridge = r.peak_flop_per_s / r.peak_bytes_per_s;
  double low_x = ridge / 30, high_x = ridge * 30, low_y = r.peak_flop_per_s / 1000;
  for (const Roofline::Point& p : points) {
    low_x = std::min(low_x, p.intensity / 2);
    high_x = std::max(high_x, p.intensity * 2);
    low_y = std::min(low_y, p.flop_per_s / 2);
  }
  const double x0 = std::floor(std::log10(low_x)), x1 = std::ceil(std::log10(high_x));
  const double y0 = std::floor(std::log10(low_y)), y1 = std::ceil(std::log10(r.peak_flop_per_s * 1.5));
  const auto x = [&](double v) { return kRooflineLeft + kRooflineWidth * (std::log10(v) - x0) / (x1 - x0); };
  const auto y = [&](double v) { return kRooflineTop + kRooflineHeight * (1 - (std::log10(v) - y0) / (y1 - y0)); };

  const double below = kRooflineTop + kRooflineHeight, legend = below + 56;
  const double height = legend + 18 * static_cast<double>(points.size()) + (r.note.empty() ? 8 : 28);
  std::string out = opening(kRooflineLeft + kRooflineWidth + kRooflineRight, height, r.title);
  constexpr std::string_view kGrid = "stroke=\"#d0d7de\"";
  for (double e = x0; e <= x1; e += 1) {
    const double at = x(std::pow(10, e));
    out += line(at, kRooflineTop, at, below, kGrid) +
           text(at, below + 16, format_number(std::pow(10, e)), " text-anchor=\"middle\"");
  }
  for (double e = y0; e <= y1; e += 1) {
    const double at = y(std::pow(10, e));
    out += line(kRooflineLeft, at, kRooflineLeft + kRooflineWidth, at, kGrid) +
           text(kRooflineLeft - 6, at + 4, format_flop_rate(std::pow(10, e)), " text-anchor=\"end\"");
  }
  out += text(kRooflineLeft + kRooflineWidth / 2, below + 34, "operations for each byte (FLOP/B)",
              " text-anchor=\"middle\"");

  // The slope begins where it enters the picture.
  const double first = std::max(std::pow(10, x0), std::pow(10, y0) / r.peak_bytes_per_s);
  out += fmt::format(
      "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}\" fill=\"none\" stroke=\"#1f2328\" stroke-width=\"2\"/>\n",
      x(first), y(first * r.peak_bytes_per_s), x(ridge), y(r.peak_flop_per_s), kRooflineLeft + kRooflineWidth,
      y(r.peak_flop_per_s));
  out += text(kRooflineLeft + kRooflineWidth - 6, y(r.peak_flop_per_s) - 6, format_flop_rate(r.peak_flop_per_s),
              " text-anchor=\"end\"", "#1f2328");
  out += text(x(first) + 8, y(first * r.peak_bytes_per_s) - 10, format_byte_rate(r.peak_bytes_per_s), "", "#1f2328");
  if (r.target_flop_per_s && drawable(*r.target_flop_per_s)) {
    const double at = y(*r.target_flop_per_s);
    out += line(kRooflineLeft, at, kRooflineLeft + kRooflineWidth, at, "stroke=\"#cf222e\" stroke-dasharray=\"5 4\"") +
           text(kRooflineLeft + 6, at - 5, "target " + format_flop_rate(*r.target_flop_per_s), "", "#cf222e");
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string_view colour = kRooflineColours[i % std::size(kRooflineColours)];
    const Roofline::Point& p = points[i];
    const std::string words = fmt::format("{}: {} at {} FLOP/B", p.label, format_flop_rate(p.flop_per_s),
                                          format_number(std::round(p.intensity * 100) / 100));
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"><title>{}</title></circle>\n",
                       x(p.intensity), y(p.flop_per_s), colour, escape_markup(words));
    const double row = legend + 18 * static_cast<double>(i);
    out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"5\" fill=\"{}\"/>\n", kRooflineLeft, row - 4, colour) +
           text(kRooflineLeft + 12, row, words, "", "#1f2328");
  }
  if (!r.note.empty()) out += text(16, height - 10, r.note, " font-size=\"11\"");
  return out + "</svg>\n";
}

std::string curves_to_svg(std::string_view title, const std::vector<Curve>& curves) {
  constexpr double kRow = 150, kPlot = 96;
  std::string out = opening(kRooflineLeft + kRooflineWidth + kRooflineRight,
                            kRooflineTop + kRow * static_cast<double>(std::max<std::size_t>(curves.size(), 1)), title);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const Curve& curve = curves[c];
    const double top = kRooflineTop + kRow * static_cast<double>(c) + 18;
    double low = 0, high = curve.target.value_or(0);
    for (const double value : curve.values)
      if (std::isfinite(value)) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
    if (high <= low) high = low + 1;
    const auto y = [&](double v) { return top + kPlot * (1 - (v - low) / (high - low)); };
    const auto last = static_cast<double>(std::max<std::size_t>(curve.values.size(), 2) - 1);
    const auto x = [&](std::size_t i) { return kRooflineLeft + kRooflineWidth * static_cast<double>(i) / last; };
    out += text(kRooflineLeft, top - 6, fmt::format("{} ({})", curve.title, curve.unit), "", "#1f2328");
    for (const double tick : {low, high})
      out += line(kRooflineLeft, y(tick), kRooflineLeft + kRooflineWidth, y(tick), "stroke=\"#d0d7de\"") +
             text(kRooflineLeft - 6, y(tick) + 4, fmt::format("{:.3g}", tick), " text-anchor=\"end\"");
    if (curve.target)
      out += line(kRooflineLeft, y(*curve.target), kRooflineLeft + kRooflineWidth, y(*curve.target),
                  "stroke=\"#cf222e\" stroke-dasharray=\"5 4\"");
    std::string path;
    bool pen = false;
    for (std::size_t i = 0; i < curve.values.size(); ++i) {
      const double value = curve.values[i];
      if (std::isfinite(value)) {
        path += fmt::format("{}{:.1f} {:.1f}", pen ? 'L' : 'M', x(i), y(value));
        out += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{:.6g} {}</title></circle>\n", x(i),
            y(value), kRooflineColours[c % std::size(kRooflineColours)], value, escape_markup(curve.unit));
      }
      pen = std::isfinite(value);
    }
    if (!path.empty())
      out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", path,
                         kRooflineColours[c % std::size(kRooflineColours)]);
  }
  return out + "</svg>\n";
}

}  // namespace tessera
