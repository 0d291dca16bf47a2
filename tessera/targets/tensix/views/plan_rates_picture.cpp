#include "tessera/report/markup.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/views/plan_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace tessera::tensix {
namespace {

constexpr double kRateLeft = 100, kRateTop = 20, kRateWidth = 860, kRateHeight = 380, kRateRight = 20, kRateBelow = 52;

std::size_t fidelity_of(const PlanReport::Step& step) {
  return static_cast<std::size_t>(step.fidelity.value_or(MathFidelity::hifi4));
}

struct RatePointAt {
  std::size_t step = 0;
  double intensity = 0, flop_per_s = 0;
};

std::string label(double at, double y, std::string_view words, std::string_view anchor, std::string_view look = "dim") {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", look, at, y, anchor,
                     escape_markup(words));
}

std::string bar_piece(double ns, std::string_view look, std::string_view tip, std::size_t step) {
  return fmt::format("<i class=\"{}\" style=\"flex-grow:{:.3f}\" title=\"{}\"{}></i>", escape_markup(look), ns,
                     escape_markup(tip), step == PlanReport::kNone ? "" : fmt::format(" data-step=\"{}\"", step));
}

}  // namespace

std::string plan_roofline_svg(const PlanReport& report) {
  std::vector<RatePointAt> points;
  std::set<std::size_t> used;
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const PlanReport::Step& step = report.steps[i];
    if (step.flop <= 0 || step.ns <= 0 || step.dram_bytes <= 0) continue;
    points.push_back({i, step.flop / step.dram_bytes, step.flop / step.ns * 1e9});
    used.insert(fidelity_of(step));
  }
  const double slope = report.dram_bytes_per_s;
  if (points.empty() || slope <= 0 || report.flop_per_s[*used.begin()] <= 0) return {};
  const double peak = report.flop_per_s[*used.begin()];
  double low_x = peak / slope / 4, high_x = peak / slope * 4, low_y = peak / 100;
  for (const RatePointAt& p : points) {
    low_x = std::min(low_x, p.intensity / 1.5);
    high_x = std::max(high_x, p.intensity * 1.5);
    low_y = std::min(low_y, p.flop_per_s / 1.5);
  }
  const double x0 = std::floor(std::log10(low_x)), x1 = std::ceil(std::log10(high_x));
  const double y0 = std::floor(std::log10(low_y)), y1 = std::log10(peak * 2);
  const auto x = [&](double v) { return kRateLeft + kRateWidth * (std::log10(v) - x0) / (x1 - x0); };
  const auto y = [&](double v) { return kRateTop + kRateHeight * (1 - (std::log10(v) - y0) / (y1 - y0)); };
  const double right = kRateLeft + kRateWidth, below = kRateTop + kRateHeight;
  std::string out = fmt::format(
      "<svg class=\"pic\" id=\"roofline\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-label=\"Roofline: operations a second against operations for each byte of DRAM\">\n",
      right + kRateRight, below + kRateBelow);
  for (double e = x0; e <= x1; e += 1) {
    const double at = x(std::pow(10, e));
    out +=
        fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>", at, kRateTop, below) +
        label(at, below + 18, format_number(std::pow(10, e)), "middle");
  }
  for (double e = y0; e <= y1; e += 1) {
    const double at = y(std::pow(10, e));
    out += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>", kRateLeft, right,
                       at) +
           label(kRateLeft - 8, at + 4, format_flop_rate(std::pow(10, e)), "end");
  }
  out += label(kRateLeft + kRateWidth / 2, below + 40,
               "operations for each byte that has to come from or go to DRAM (FLOP/B)", "middle");
  const double first = std::max(std::pow(10, x0), std::pow(10, y0) / slope);
  out += fmt::format("<path class=\"roof\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", x(first), y(first * slope),
                     x(peak / slope), y(peak));
  const double turn = std::atan2(y(peak) - y(first * slope), x(peak / slope) - x(first)) * 180 / 3.14159265358979;
  out += fmt::format(
      "<text class=\"ink\" transform=\"translate({:.1f} {:.1f}) rotate({:.1f}) translate(24 -8)\">DRAM {}</text>\n",
      x(first), y(first * slope), turn, format_byte_rate(slope));
  for (const std::size_t f : used) {
    const double roof = report.flop_per_s[f];
    if (roof <= 0) continue;
    out += fmt::format("<path class=\"roof\" d=\"M{:.1f} {:.1f}H{}\"/>\n", x(roof / slope), y(roof), right) +
           label(right - 4, y(roof) - 6,
                 fmt::format("{} {}", name(static_cast<MathFidelity>(f)), format_flop_rate(roof)), "end", "ink");
  }
  for (const RatePointAt& p : points) {
    const PlanReport::Step& step = report.steps[p.step];
    out += fmt::format(
        "<circle class=\"pt b-{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" data-step=\"{}\"><title>{}: {} at {:.3g} "
        "FLOP/B, {:.0f} % of its roof, bound by {}</title></circle>\n",
        name_or_none(step.bound_by), x(p.intensity), y(p.flop_per_s), 3.5 + 14 * std::sqrt(step.share), p.step,
        escape_markup(step.node), format_flop_rate(p.flop_per_s), p.intensity, 100 * step.roof_fraction,
        name_or_none(step.bound_by));
  }
  return out + "</svg>\n";
}

std::string plan_time_html(const PlanReport& report) {
  const double all = std::max(report.device_ns, report.end_to_end_ns);
  if (all <= 0) return {};
  const auto bar = [&](std::string_view title, double ns, const std::string& pieces) {
    return fmt::format(
        "<div class=\"timed\"><b>{}</b> {} <span class=\"dim\">{:.0f} frames/s, predicted</span>\n<div class=\"strip\" "
        "style=\"width:{:.2f}%\">{}</div></div>\n",
        title, format_time(ns), report.frames_per_s(ns), 100 * ns / all, pieces);
  };
  std::string pieces;
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const PlanReport::Step& step = report.steps[i];
    for (const PlanReport::Move& move : step.moves)
      if (move.ns > 0)
        pieces += bar_piece(move.ns, "part-moves",
                            fmt::format("{} of {}: {}", move.kind, move.value, format_time(move.ns)), i);
    if (step.ns > 0)
      pieces += bar_piece(step.ns, fmt::format("b-{}", name_or_none(step.bound_by)),
                          fmt::format("{}: {}, {:.1f} %, bound by {}", step.node, format_time(step.ns),
                                      100 * step.share, name_or_none(step.bound_by)),
                          i);
  }
  if (report.device_ns > report.kernels_ns)
    pieces += bar_piece(report.device_ns - report.kernels_ns, "part-gaps",
                        fmt::format("all gaps between programs: {}", format_time(report.device_ns - report.kernels_ns)),
                        PlanReport::kNone);
  std::string out = bar("On the device, step by step", report.device_ns, pieces);
  pieces.clear();
  std::string legend = "<ul class=\"parts\">\n";
  for (const PlanReport::Part& part : report.parts) {
    std::string look = "part-" + part.name.substr(0, part.name.find(' '));
    const std::string words =
        fmt::format("{} {}, {:.1f} %", part.name, format_time(part.ns), 100 * part.ns / report.end_to_end_ns);
    if (part.ns > 0) pieces += bar_piece(part.ns, look, words, PlanReport::kNone);
    legend += fmt::format("<li><i class=\"key {}\"></i><b>{}</b> {} <span class=\"dim\">{:.1f} %: {}</span></li>\n",
                          look, escape_markup(part.name), format_time(part.ns), 100 * part.ns / report.end_to_end_ns,
                          escape_markup(part.what));
  }
  return out + bar("End to end", report.end_to_end_ns, pieces) + legend + "</ul>\n";
}

}  // namespace tessera::tensix
