#include "tessera/report/timeline_picture.h"

#include "tessera/core/error.h"
#include "tessera/report/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera {
namespace {

constexpr double kRowsLeft = 92, kRowsTop = 78, kRowsWidth = 920, kRowHeight = 22, kRowGap = 7, kRowsRight = 20;

// Told apart in light and in dark, and by most who do not see all colours.
constexpr std::array<std::string_view, 8> kTaskColours = {"#0969da", "#bf8700", "#1a7f37", "#cf222e",
                                                          "#8250df", "#1b7c83", "#bc4c00", "#6e7781"};

constexpr std::string_view kPictureStyle =
    ".bg{fill:#fff}.lane{fill:#f6f8fa}.grid{stroke:#d0d7de}text{font:12px system-ui,sans-serif;fill:#1f2328}"
    ".h1{font-size:15px;font-weight:600}.dim{fill:#59636e}"
    "@media(prefers-color-scheme:dark){.bg{fill:#0d1117}.lane{fill:#161b22}.grid{stroke:#30363d}text{fill:#e6edf3}"
    ".dim{fill:#9198a1}}";

struct DrawnTask {
  std::int64_t begin_ps, end_ps;
  std::string label;
  bool operator==(const DrawnTask&) const = default;
};

struct DrawnRow {
  std::string name;
  std::vector<DrawnTask> tasks;
};

std::vector<DrawnRow> drawn_rows(const sim::Timeline& timeline, const sim::Schedule& schedule, std::int64_t until_ps) {
  std::vector<std::vector<DrawnTask>> tasks(timeline.resources().size());
  for (std::size_t i = 0; i < timeline.tasks().size(); ++i) {
    const sim::ResourceId resource = timeline.tasks()[i].resource;
    const sim::Span& span = schedule.tasks[i];
    if (resource == sim::ResourceId::none || span.start_ps >= until_ps || span.end_ps <= span.start_ps) continue;
    tasks[sim::index(resource)].push_back({span.start_ps, span.end_ps, timeline.label(static_cast<sim::TaskId>(i))});
  }
  std::vector<DrawnRow> rows;
  for (std::size_t r = 0; r < tasks.size(); ++r) {
    if (tasks[r].empty()) continue;
    std::sort(tasks[r].begin(), tasks[r].end(),
              [](const DrawnTask& a, const DrawnTask& b) { return a.begin_ps < b.begin_ps; });
    const std::string& name = timeline.resources()[r].name;
    if (!rows.empty() && rows.back().tasks == tasks[r]) {
      std::string& first = rows.back().name;
      first = fmt::format("{}..{}", first.substr(0, first.find("..")), name.substr(name.rfind(' ') + 1));
    } else {
      rows.push_back({name, std::move(tasks[r])});
    }
  }
  return rows;
}

// 1, 2 or 5 times a power of ten: about ten of them in all.
double tick_us(double us) {
  const double power = std::pow(10.0, std::floor(std::log10(us / 10)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (us / (factor * power) <= 13) return factor * power;
  return 10 * power;
}

}  // namespace

std::string timeline_svg(const sim::Timeline& timeline, const sim::Schedule& schedule, double us,
                         std::string_view title) {
  check(us > 0 && us < 1e9, Code::invalid_argument, "{} microseconds are nothing to draw", us);
  const std::vector<DrawnRow> rows = drawn_rows(timeline, schedule, static_cast<std::int64_t>(us * 1e6));
  std::vector<std::string> labels;  // in the order in which they first run
  {
    std::vector<const DrawnTask*> all;
    for (const DrawnRow& row : rows)
      for (const DrawnTask& task : row.tasks) all.push_back(&task);
    std::stable_sort(all.begin(), all.end(),
                     [](const DrawnTask* a, const DrawnTask* b) { return a->begin_ps < b->begin_ps; });
    for (const DrawnTask* task : all)
      if (std::find(labels.begin(), labels.end(), task->label) == labels.end()) labels.push_back(task->label);
  }
  const auto colour = [&](const std::string& label) {
    const auto at = static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
    return kTaskColours[at % kTaskColours.size()];
  };
  const auto x = [&](double at_us) { return kRowsLeft + kRowsWidth * std::min(at_us / us, 1.0); };
  const double bottom = kRowsTop + static_cast<double>(rows.size()) * (kRowHeight + kRowGap);
  const double width = kRowsLeft + kRowsWidth + kRowsRight, height = bottom + 40;

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n<rect class=\"bg\" width=\"{0}\" height=\"{1}\"/>\n"
      "<text class=\"h1\" x=\"16\" y=\"26\">{2}</text>\n",
      width, height, escape_markup(title), kPictureStyle);
  double at = 16;
  for (const std::string& label : labels) {
    out += fmt::format(
        "<rect x=\"{}\" y=\"42\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"52\">{}</text>\n", at,
        colour(label), at + 17, escape_markup(label));
    at += 34 + 7 * static_cast<double>(label.size());
  }
  double y = kRowsTop;
  for (const DrawnRow& row : rows) {
    out += fmt::format(
        "<rect class=\"lane\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
        kRowsLeft, y, kRowsWidth, kRowHeight, kRowsLeft - 8, y + 15, escape_markup(row.name));
    for (const DrawnTask& task : row.tasks) {
      const double begin = static_cast<double>(task.begin_ps) * 1e-6, end = static_cast<double>(task.end_ps) * 1e-6;
      // A hair less than it took, so that neighbours stay apart.
      out += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"><title>{} {:.3f} to {:.3f} us"
          "</title></rect>\n",
          x(begin), y, std::max(x(end) - x(begin) - 0.4, 0.3), kRowHeight, colour(task.label),
          escape_markup(task.label), begin, end);
    }
    y += kRowHeight + kRowGap;
  }
  const double tick = tick_us(us);
  for (int i = 0; i * tick <= us * (1 + 1e-9); ++i)
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2}\"/>"
        "<text class=\"dim\" x=\"{0:.2f}\" y=\"{3}\" text-anchor=\"middle\">{4:.6g}{5}</text>\n",
        x(i * tick), bottom - kRowGap, bottom, bottom + 16, i * tick, i == 0 ? " us" : "");
  return out + "</svg>\n";
}

}  // namespace tessera
