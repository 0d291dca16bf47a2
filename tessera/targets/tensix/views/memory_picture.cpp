#include "tessera/targets/tensix/views/memory_picture.h"

#include "tessera/core/text.h"
#include "tessera/report/markup.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/views/memory_drawing.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

constexpr double kMargin = 16, kTitleHeight = 52, kLegendGap = 20, kLegendWidth = 330;
constexpr std::size_t kLegendCharacters = 50;

// Lines of text below each other, each entry with a swatch.
class Legend {
 public:
  Legend(double x, double y, double end) : x_(x), y_(y), end_(end) {}

  bool has_room(double pixels) const { return y_ + pixels <= end_; }

  void heading(std::string_view text) {
    y_ += 6;
    out_ += fmt::format("<text class=\"h\" x=\"{}\" y=\"{}\">{}</text>\n", x_, y_ + 13, escape_markup(text));
    y_ += 22;
  }
  void entry(SegmentKind kind, int index, std::string_view text, std::string_view title = {}) {
    out_ += "<g>";
    if (!title.empty()) out_ += fmt::format("<title>{}</title>", escape_markup(title));
    out_ += fmt::format(
        "<rect class=\"well\" x=\"{0}\" y=\"{1}\" width=\"12\" height=\"12\"/>"
        "<rect {2} x=\"{0}\" y=\"{1}\" width=\"12\" height=\"12\"/>",
        x_, y_ + 1, paint(kind, index));
    out_ += fmt::format("<text class=\"t\" x=\"{}\" y=\"{}\">{}</text></g>\n", x_ + 20, y_ + 11,
                        escape_markup(shortened(text, kLegendCharacters)));
    y_ += 17;
  }
  void line(std::string_view text) {
    out_ += fmt::format("<text class=\"t dim\" x=\"{}\" y=\"{}\">{}</text>\n", x_ + 20, y_ + 9,
                        escape_markup(shortened(text, kLegendCharacters + 4)));
    y_ += 15;
  }
  void gap() { y_ += 6; }
  std::string take() { return std::move(out_); }

 private:
  double x_, y_, end_;
  std::string out_;
};

void add_kinds(Legend& legend, const MemoryColumns& columns) {
  for (SegmentKind kind : {SegmentKind::reserved, SegmentKind::circular_buffer, SegmentKind::free,
                           SegmentKind::free_small, SegmentKind::free_trace, SegmentKind::no_data}) {
    const bool drawn = std::any_of(columns.distinct.begin(), columns.distinct.end(),
                                   [&](const MemoryColumn& column) { return bytes_of(column, kind) > 0; });
    const int index = kind == SegmentKind::no_data ? 0 : MemoryState::kNoBuffer;
    if (drawn)
      legend.entry(kind, index,
                   kind == SegmentKind::no_data ? "pale: taken by a tensor, holds nothing here" : description(kind));
  }
}

void add_buffer(Legend& legend, const MemoryState::Buffer& buffer, int index) {
  legend.entry(SegmentKind::data, index, buffer.name.empty() ? buffer.title() : buffer.name, buffer.title());
  if (!buffer.name.empty() && !buffer.label.empty()) legend.line(buffer.label);
  std::string where = fmt::format("{} at {}, {} B per bank", name(buffer.memory), format_count(buffer.address),
                                  format_count(buffer.bytes_per_bank));
  if (buffer.knows_contents()) where += fmt::format(", {:.1f}% useful", 100 * buffer.useful_fraction());
  legend.line(where);
  legend.gap();
}

}  // namespace

std::string memory_svg(const MemoryState& state) {
  const MemoryColumns columns(state);
  const Drawing map = draw_map(state, columns, false);
  const double width = std::max(map.width, map.cores_width + kLegendGap + kLegendWidth) + 2 * kMargin;
  const double height = kTitleHeight + map.height + kMargin;

  Legend legend(kMargin + map.cores_width + kLegendGap, kTitleHeight - 4, kTitleHeight + map.cores_height);
  legend.heading("Colours");
  add_kinds(legend, columns);
  legend.heading(counted(state.buffers.size(), "buffer"));
  constexpr double kEntryPixels = 58;
  for (std::size_t i = 0; i < state.buffers.size(); ++i) {
    if (!legend.has_room(kEntryPixels + (i + 1 < state.buffers.size() ? 17 : 0))) {
      legend.line(fmt::format("and {} more", state.buffers.size() - i));
      break;
    }
    add_buffer(legend, state.buffers[i], static_cast<int>(i));
  }

  const std::string title = escape_markup(state.title.empty() ? state.machine : state.title);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"map\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\">\n"
      "<title>Memory of {2}</title>\n<style>{3}</style>\n<rect class=\"bg\" width=\"{0}\" height=\"{1}\"/>\n"
      "<text class=\"h1\" x=\"{4}\" y=\"26\">{2}</text>"
      "<text class=\"t dim\" x=\"{4}\" y=\"42\">where every tensor lies; simulated device, exact bytes</text>\n"
      "<g transform=\"translate({4} {5})\">\n{6}</g>\n{7}</svg>\n",
      width, height, title, drawing_style(), kMargin, kTitleHeight, map.elements, legend.take());
}

}  // namespace tessera::tensix
