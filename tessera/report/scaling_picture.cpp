#include "tessera/report/scaling_picture.h"

#include "tessera/core/error.h"
#include "tessera/report/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace tessera {
namespace {

constexpr double kScalingLeft = 92, kScalingWidth = 620, kScalingRight = 120, kScalingTop = 64, kPanelHeight = 170,
                 kPanelGap = 46;
constexpr std::string_view kScalingColours[] = {"#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989"};

// Values to places, and where lines of the grid belong.
class Axis {
 public:
  Axis(bool logarithmic, double from, double to) : logarithmic_(logarithmic), from_(from), to_(to) {}

  void take(double value) {
    if (!drawable(value)) return;
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  void close() {
    if (!(low_ <= high_)) low_ = 1, high_ = 10;
    if (logarithmic_) {
      low_ = std::pow(10, std::floor(std::log10(low_)));
      high_ = std::max(low_ * 10, std::pow(10, std::ceil(std::log10(high_) - 1e-9)));
    } else {
      low_ = std::min(low_, 0.0);
      const double step = std::pow(10, std::floor(std::log10(std::max(high_ - low_, 1e-12))));
      high_ = std::max(low_ + step / 10, std::ceil(high_ / step * 2 - 1e-9) * step / 2);
    }
  }
  bool drawable(double value) const { return std::isfinite(value) && (!logarithmic_ || value > 0); }
  double at(double value) const {
    const double share =
        logarithmic_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
    return from_ + (to_ - from_) * share;
  }
  std::vector<double> ticks() const {
    std::vector<double> out;
    if (logarithmic_)
      for (double v = low_; v <= high_ * 1.001; v *= 10) out.push_back(v);
    else
      for (int i = 0; i <= 5; ++i) out.push_back(low_ + (high_ - low_) * i / 5);
    return out;
  }

 private:
  bool logarithmic_;
  double from_, to_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -std::numeric_limits<double>::infinity();
};

std::string label(double x, double y, std::string_view words, std::string_view anchor = "start",
                  std::string_view colour = "#57606a") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y, anchor, colour,
                     escape_markup(words));
}

std::string grid_line(double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#d0d7de\"/>\n", x1, y1, x2,
                     y2);
}

std::string tick_text(double value) {
  constexpr std::pair<double, char> kThousands[] = {{1e9, 'G'}, {1e6, 'M'}, {1e3, 'k'}};
  for (const auto& [unit, letter] : kThousands)
    if (std::abs(value) >= unit) return fmt::format("{:.4g} {}", value / unit, letter);
  return fmt::format("{:.4g}", value);
}

}  // namespace

std::string scaling_to_svg(const ScalingPicture& p) {
  check(!p.x.empty() && !p.panels.empty(), Code::invalid_argument, "a picture of {} panels over {} sizes",
        p.panels.size(), p.x.size());
  for (const ScalingPicture::Panel& panel : p.panels)
    for (const ScalingPicture::Series& series : panel.series)
      check(series.values.size() == p.x.size(), Code::invalid_argument, "'{}' has {} values for {} sizes", series.name,
            series.values.size(), p.x.size());
  const double width = kScalingLeft + kScalingWidth + kScalingRight;
  const double height = kScalingTop + (kPanelHeight + kPanelGap) * static_cast<double>(p.panels.size()) + 22;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>{2}</title>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"16\" y=\"28\" font-size=\"16\" font-weight=\"600\" fill=\"#1f2328\">{2}</text>\n",
      width, height, escape_markup(p.title));
  Axis x(p.logarithmic_x, kScalingLeft, kScalingLeft + kScalingWidth);
  for (const double value : p.x) x.take(value);
  x.close();
  for (std::size_t i = 0; i < p.panels.size(); ++i) {
    const ScalingPicture::Panel& panel = p.panels[i];
    const double top = kScalingTop + (kPanelHeight + kPanelGap) * static_cast<double>(i), below = top + kPanelHeight;
    Axis y(panel.logarithmic, below, top);
    for (const ScalingPicture::Series& series : panel.series)
      for (const double value : series.values) y.take(value);
    y.close();
    out += label(kScalingLeft, top - 8, panel.title, "start", "#1f2328");
    for (const double tick : x.ticks())
      out += grid_line(x.at(tick), top, x.at(tick), below) + label(x.at(tick), below + 16, tick_text(tick), "middle");
    for (const double tick : y.ticks())
      out += grid_line(kScalingLeft, y.at(tick), kScalingLeft + kScalingWidth, y.at(tick)) +
             label(kScalingLeft - 6, y.at(tick) + 4, tick_text(tick), "end");
    for (std::size_t s = 0; s < panel.series.size(); ++s) {
      const ScalingPicture::Series& series = panel.series[s];
      const std::string_view colour = kScalingColours[s % std::size(kScalingColours)];
      std::string path, points;
      bool pen = false;
      for (std::size_t k = 0; k < p.x.size(); ++k) {
        const bool drawn = x.drawable(p.x[k]) && y.drawable(series.values[k]);
        if (drawn) {
          path += fmt::format("{}{:.1f} {:.1f}", pen ? 'L' : 'M', x.at(p.x[k]), y.at(series.values[k]));
          points += fmt::format(
              "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}: {:.6g} at {:.6g}</title></circle>\n",
              x.at(p.x[k]), y.at(series.values[k]), colour, escape_markup(series.name), series.values[k], p.x[k]);
        }
        pen = drawn;
      }
      if (!path.empty())
        out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path, colour);
      out += points + label(kScalingLeft + kScalingWidth + 10, top + 12 + 16 * static_cast<double>(s), series.name,
                            "start", colour);
    }
  }
  out += label(kScalingLeft + kScalingWidth / 2, height - 22, p.x_title, "middle");
  if (!p.note.empty())
    out += fmt::format("<text x=\"16\" y=\"{:.1f}\" font-size=\"11\" fill=\"#57606a\">{}</text>\n", height - 6,
                       escape_markup(p.note));
  return out + "</svg>\n";
}

}  // namespace tessera
