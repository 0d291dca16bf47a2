#include "tessera/report/timeline_picture.h"

#include "tessera/core/error.h"
#include "tessera/report/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
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

// "dma 0" and "dma 3" are "dma 0..3".
std::string joined_names(const std::string& first, const std::string& last) {
  return fmt::format("{}..{}", first.substr(0, first.find("..")), last.substr(last.rfind(' ') + 1));
}

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
      rows.back().name = joined_names(rows.back().name, name);
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

using Labels = std::vector<std::string>;  // in the order in which they first run

std::string_view colour_of(const Labels& labels, const std::string& label) {
  const auto at = static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
  return kTaskColours[at % kTaskColours.size()];
}

std::string picture_head(double width, double height, std::string_view title, const Labels& labels) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n<rect class=\"bg\" width=\"{0}\" height=\"{1}\"/>\n"
      "<text class=\"h1\" x=\"16\" y=\"26\">{2}</text>\n",
      width, height, escape_markup(title), kPictureStyle);
  double at = 16;
  for (const std::string& label : labels) {
    out += fmt::format(
        "<rect x=\"{}\" y=\"42\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"52\">{}</text>\n", at,
        colour_of(labels, label), at + 17, escape_markup(label));
    at += 34 + 7 * static_cast<double>(label.size());
  }
  return out;
}

std::string picture_lane(double y, std::string_view name) {
  return fmt::format(
      "<rect class=\"lane\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
      kRowsLeft, y, kRowsWidth, kRowHeight, kRowsLeft - 8, y + 15, escape_markup(name));
}

std::string picture_axis(double us, double bottom) {
  const double tick = tick_us(us);
  std::string out;
  for (int i = 0; i * tick <= us * (1 + 1e-9); ++i)
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2}\"/>"
        "<text class=\"dim\" x=\"{0:.2f}\" y=\"{3}\" text-anchor=\"middle\">{4:.6g}{5}</text>\n",
        kRowsLeft + kRowsWidth * i * tick / us, bottom - kRowGap, bottom, bottom + 16, i * tick, i == 0 ? " us" : "");
  return out;
}

// A resource over a whole run, in equal parts of its time.
struct BusyRow {
  std::string name;
  std::vector<double> share;       // of each part that it was busy, 0 to 1
  std::vector<std::string> label;  // of what took most of that
  double total = 0;
};

std::vector<BusyRow> busy_rows(const sim::Timeline& timeline, const sim::Schedule& schedule, std::size_t parts) {
  const std::size_t count = timeline.resources().size();
  std::vector<std::vector<std::map<std::string_view, double>>> taken(count);
  for (auto& each : taken) each.resize(parts);
  const double part_ps = static_cast<double>(schedule.end_ps) / static_cast<double>(parts);
  for (std::size_t i = 0; i < timeline.tasks().size(); ++i) {
    const sim::ResourceId resource = timeline.tasks()[i].resource;
    if (resource == sim::ResourceId::none) continue;
    const double begin = static_cast<double>(schedule.tasks[i].start_ps),
                 end = static_cast<double>(schedule.tasks[i].end_ps);
    const std::string_view label = timeline.label(static_cast<sim::TaskId>(i));
    for (auto part = static_cast<std::size_t>(begin / part_ps); part < parts; ++part) {
      const double left = static_cast<double>(part) * part_ps;
      if (left >= end) break;
      taken[sim::index(resource)][part][label] += std::min(end, left + part_ps) - std::max(begin, left);
    }
  }
  std::vector<BusyRow> rows;
  for (std::size_t r = 0; r < count; ++r) {
    const sim::Timeline::Resource& resource = timeline.resources()[r];
    BusyRow row{resource.name, std::vector<double>(parts), std::vector<std::string>(parts)};
    for (std::size_t part = 0; part < parts; ++part) {
      double most = 0;
      for (const auto& [label, time] : taken[r][part]) {
        row.share[part] += time / part_ps / resource.servers;
        if (time > most) row.label[part] = label, most = time;
      }
      row.total += row.share[part] / static_cast<double>(parts);
    }
    if (row.total <= 0) continue;
    if (!rows.empty() && rows.back().share == row.share && rows.back().label == row.label)
      rows.back().name = joined_names(rows.back().name, row.name);
    else
      rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string timeline_svg(const sim::Timeline& timeline, const sim::Schedule& schedule, double us,
                         std::string_view title) {
  check(us > 0 && us < 1e9, Code::invalid_argument, "{} microseconds are nothing to draw", us);
  const std::vector<DrawnRow> rows = drawn_rows(timeline, schedule, static_cast<std::int64_t>(us * 1e6));
  Labels labels;
  {
    std::vector<const DrawnTask*> all;
    for (const DrawnRow& row : rows)
      for (const DrawnTask& task : row.tasks) all.push_back(&task);
    std::stable_sort(all.begin(), all.end(),
                     [](const DrawnTask* a, const DrawnTask* b) { return a->begin_ps < b->begin_ps; });
    for (const DrawnTask* task : all)
      if (std::find(labels.begin(), labels.end(), task->label) == labels.end()) labels.push_back(task->label);
  }
  const auto x = [&](double at_us) { return kRowsLeft + kRowsWidth * std::min(at_us / us, 1.0); };
  const double bottom = kRowsTop + static_cast<double>(rows.size()) * (kRowHeight + kRowGap);
  const double width = kRowsLeft + kRowsWidth + kRowsRight, height = bottom + 40;

  std::string out = picture_head(width, height, title, labels);
  double y = kRowsTop;
  for (const DrawnRow& row : rows) {
    out += picture_lane(y, row.name);
    for (const DrawnTask& task : row.tasks) {
      const double begin = static_cast<double>(task.begin_ps) * 1e-6, end = static_cast<double>(task.end_ps) * 1e-6;
      // A hair less than it took, so that neighbours stay apart.
      out += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"><title>{} {:.3f} to {:.3f} us"
          "</title></rect>\n",
          x(begin), y, std::max(x(end) - x(begin) - 0.4, 0.3), kRowHeight, colour_of(labels, task.label),
          escape_markup(task.label), begin, end);
    }
    y += kRowHeight + kRowGap;
  }
  return out + picture_axis(us, bottom) + "</svg>\n";
}

std::string timeline_overview_svg(const sim::Timeline& timeline, const sim::Schedule& schedule,
                                  std::string_view title) {
  check(schedule.end_ps > 0, Code::invalid_argument, "a run that takes no time is nothing to draw");
  constexpr std::size_t kParts = 460;
  const double part_width = kRowsWidth / static_cast<double>(kParts);
  const std::vector<BusyRow> rows = busy_rows(timeline, schedule, kParts);
  Labels labels;
  for (std::size_t part = 0; part < kParts; ++part)
    for (const BusyRow& row : rows)
      if (!row.label[part].empty() && std::find(labels.begin(), labels.end(), row.label[part]) == labels.end())
        labels.push_back(row.label[part]);
  const double bottom = kRowsTop + static_cast<double>(rows.size()) * (kRowHeight + kRowGap);
  std::string out = picture_head(kRowsLeft + kRowsWidth + 3 * kRowsRight, bottom + 40, title, labels);
  double y = kRowsTop;
  for (const BusyRow& row : rows) {
    out += picture_lane(y, row.name);
    std::map<std::string, std::string> paths;  // by label: a bar for each part, as high as the row is busy
    for (std::size_t part = 0; part < kParts; ++part) {
      if (row.share[part] <= 0) continue;
      const double height = kRowHeight * std::min(row.share[part], 1.0);
      paths[row.label[part]] +=
          fmt::format("M{:.0f} {:.4g}h{:.0f}v{:.3g}h-{:.0f}z", kRowsLeft + part_width * static_cast<double>(part),
                      y + kRowHeight, part_width, -height, part_width);
    }
    for (const auto& [label, path] : paths)
      out += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", colour_of(labels, label), path);
    out += fmt::format("<text class=\"dim\" x=\"{}\" y=\"{}\">{:.0f} %</text>\n", kRowsLeft + kRowsWidth + 8, y + 15,
                       100 * row.total);
    y += kRowHeight + kRowGap;
  }
  return out + picture_axis(sim::ns_of(schedule.end_ps) * 1e-3, bottom) + "</svg>\n";
}

}  // namespace tessera
