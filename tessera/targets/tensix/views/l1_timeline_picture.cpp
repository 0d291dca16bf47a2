#include "tessera/targets/tensix/views/l1_timeline_picture.h"

#include "tessera/report/markup.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/views/memory_drawing.h"
#include "tessera/targets/tensix/views/memory_page_assets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::tensix {
namespace {

constexpr double kLeft = 84, kTop = 78, kHeight = 360, kRight = 24, kBelow = 150;
constexpr double kLeastWidth = 640, kMostWidth = 1800;  // of the plot
constexpr std::size_t kStepCharacters = 22;
constexpr int kTensorColours = 7;

class TimelineDrawing {
 public:
  explicit TimelineDrawing(const L1Timeline& timeline) : timeline_(timeline) {
    const auto count = static_cast<double>(std::max<std::size_t>(timeline.programs.size(), 1));
    plot_width_ = std::clamp(count * 12, kLeastWidth, kMostWidth);
    pitch_ = plot_width_ / count;
  }

  double width() const { return kLeft + plot_width_ + kRight; }
  double height() const { return kTop + kHeight + kBelow; }

  std::string draw(std::string_view title) const {
    std::string out = fmt::format(
        "<defs><pattern id=\"pcb\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\"><rect class=\"cb0\" "
        "width=\"4\" height=\"4\"/><path class=\"cb1\" d=\"M0 0H2V2H0ZM2 2H4V4H2Z\"/></pattern></defs>\n"
        "<rect class=\"bg\" width=\"{}\" height=\"{}\"/>\n<text class=\"h1\" x=\"16\" y=\"26\">{}</text>\n",
        width(), height(), escape_markup(title));
    out += legend();
    out += fmt::format("<rect class=\"well\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", kLeft, kTop,
                       plot_width_, kHeight);
    out += buffers() + circular_buffers() + axes() + steps();
    return out;
  }

 private:
  double x(std::size_t program) const { return kLeft + pitch_ * static_cast<double>(program); }
  double y(std::int64_t address) const {
    return kTop + kHeight * (1 - static_cast<double>(address - timeline_.base_address) /
                                     static_cast<double>(timeline_.l1_bytes - timeline_.base_address));
  }

  std::string rect(std::string_view look, std::size_t first, std::size_t end, std::int64_t address, std::int64_t bytes,
                   const std::string& tip) const {
    const double top = y(address + bytes), height = y(address) - top;
    return fmt::format(
        "<rect {} x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" data-bytes=\"{}\"><title>{}</title>"
        "</rect>\n",
        look, x(first), top, x(end) - x(first), height, bytes, escape_markup(tip));
  }

  std::string buffers() const {
    std::string out;
    int colour = 0;
    for (const L1Timeline::Buffer& buffer : timeline_.buffers) {
      const std::size_t end = std::min(buffer.end, timeline_.programs.size());
      const bool working = buffer.gone_in_its_step();
      const bool small = buffer.type == BufferType::l1_small;
      std::string look = paint(SegmentKind::data, colour);
      if (small) look = "class=\"b-\"";
      if (working) look = "class=\"b5\"";
      if (!working && !small) {
        colour = (colour + 1) % kTensorColours;
        if (colour == 5) ++colour;  // kept for halos and copies
      }
      if (end <= buffer.first) continue;
      const std::string_view step = timeline_.steps[buffer.step].name;
      out += rect(look, buffer.first, end, buffer.address, buffer.bytes,
                  fmt::format("{}{}{}\n{} B of each core at {}\nmade by {}", buffer.name,
                              buffer.name.empty() ? "" : ": ", buffer.label, format_count(buffer.bytes),
                              format_count(buffer.address), step.empty() ? "nobody" : step));
    }
    return out;
  }

  std::string circular_buffers() const {
    std::string out;
    for (std::size_t i = 0; i < timeline_.programs.size(); ++i) {
      const L1Timeline::Program& p = timeline_.programs[i];
      const std::string tip =
          fmt::format("{}: {}\n{}\ncircular buffers {} B\ntensors {} B\nfree {} B", timeline_.steps[p.step].name, p.op,
                      p.detail, format_count(p.circular_buffer_bytes), format_count(p.l1_bytes),
                      format_count(timeline_.limit_bytes() - p.total_bytes()));
      if (p.circular_buffer_bytes > 0)
        out += rect("class=\"k-circular_buffer\"", i, i + 1, timeline_.base_address, p.circular_buffer_bytes, tip);
    }
    return out;
  }

  std::string axes() const {
    std::string out;
    constexpr std::int64_t kStep = 256 << 10;
    constexpr double kLineHeight = 12;
    const double limit = y(timeline_.l1_small_address);
    for (std::int64_t bytes = 0; timeline_.base_address + bytes < timeline_.l1_bytes; bytes += kStep) {
      const double at = y(timeline_.base_address + bytes);
      if (std::abs(at - limit) >= kLineHeight)
        out += fmt::format("<text class=\"t dim\" x=\"{0}\" y=\"{1:.1f}\" text-anchor=\"end\">{2}</text>", kLeft - 6,
                           at + 4, format_bytes(static_cast<double>(bytes)));
      out += fmt::format(
          "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#8c959f\" stroke-opacity=\".35\"/>\n",
          kLeft, kLeft + plot_width_, at);
    }
    out += fmt::format(
        "<line class=\"limit\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#cf222e\" "
        "stroke-width=\"1.5\"/><text class=\"t\" x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">limit</text>\n",
        kLeft, kLeft + plot_width_, limit, kLeft - 6, limit + 4);
    return out;
  }

  // Names of the steps below the first of their programs, where there is room.
  std::string steps() const {
    std::string out;
    double free_from = kLeft;
    for (std::size_t i = 0; i < timeline_.programs.size(); ++i) {
      const L1Timeline::Program& p = timeline_.programs[i];
      if (i > 0 && timeline_.programs[i - 1].step == p.step) continue;
      out += fmt::format("<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#8c959f\"/>", x(i),
                         kTop + kHeight, kTop + kHeight + 4);
      if (x(i) < free_from) continue;
      const L1Timeline::Step& step = timeline_.steps[p.step];
      const bool spill = step.move == MoveKind::spill;
      const std::string text = spill || step.name.empty() ? step.op : step.name;
      out += fmt::format("<text class=\"t{3}\" transform=\"translate({0:.2f} {1}) rotate(60)\">{2}</text>\n", x(i) + 1,
                         kTop + kHeight + 12, escape_markup(shortened(text, kStepCharacters)), spill ? "" : " dim");
      free_from = x(i) + 13;
    }
    return out;
  }

  std::string legend() const {
    const std::pair<std::string_view, std::string_view> entries[] = {
        {"class=\"b0\"", "tensors, a colour each"},
        {"class=\"b5\"", "halos and copies of one operator"},
        {"class=\"k-circular_buffer\"", "circular buffers of the program"},
        {"class=\"b-\"", "L1_SMALL: lists that programs keep"}};
    std::string out;
    double at = 16;
    for (const auto& [look, text] : entries) {
      out += fmt::format(
          "<rect {0} x=\"{1}\" y=\"42\" width=\"12\" height=\"12\"/><text class=\"t\" x=\"{2}\" "
          "y=\"52\">{3}</text>",
          look, at, at + 18, text);
      at += 34 + 5.8 * static_cast<double>(text.size());
    }
    return out + "\n";
  }

  const L1Timeline& timeline_;
  double plot_width_ = 0, pitch_ = 0;
};

std::string html_table(const Table& table) {
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  const auto look = [](const Column& column) { return column.align == Align::right ? " class=\"n\"" : ""; };
  for (const Column& column : table.columns())
    out += fmt::format("<th{}>{}{}</th>", look(column), escape_markup(column.name),
                       column.unit.empty() ? "" : escape_markup(" [" + column.unit + "]"));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows()) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out += fmt::format("<td{}>{}</td>", look(table.columns()[i]), escape_markup(row[i].text()));
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

}  // namespace

std::string l1_timeline_svg(const L1Timeline& timeline, std::string_view title) {
  const TimelineDrawing drawing(timeline);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"map\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n{4}</svg>\n",
      drawing.width(), drawing.height(), escape_markup(title), drawing_style(), drawing.draw(title));
}

std::string l1_timeline_html(const L1Timeline& timeline, std::string_view title, const Table& steps) {
  const TimelineDrawing drawing(timeline);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>\n{1}{2}</style>\n</head>\n<body>\n<header><h1>{0}</h1>\n<p class=\"dim\">L1 of a core, by address, "
      "while "
      "programs run one after the other. Simulated device; every size is exact. Point at a rectangle for its "
      "numbers.</p></header>\n<main>\n<div class=\"scroll\"><svg class=\"map\" width=\"{3}\" height=\"{4}\" "
      "viewBox=\"0 0 {3} {4}\" role=\"img\">\n{5}</svg></div>\n<h2>Steps</h2>\n{6}</main>\n</body>\n</html>\n",
      escape_markup(title), drawing_style(), kMemoryPageCss, drawing.width(), drawing.height(), drawing.draw(title),
      html_table(steps));
}

}  // namespace tessera::tensix
