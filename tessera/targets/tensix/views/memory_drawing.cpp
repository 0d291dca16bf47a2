#include "tessera/targets/tensix/views/memory_drawing.h"

#include "tessera/report/markup.h"
#include "tessera/report/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::tensix {
namespace {

// Okabe and Ito's colours, which all kinds of colour vision tell apart; buffers beyond them get stripes.
constexpr int kColours = 7;
constexpr int kStripeAngles[] = {45, 135, 90, 0};

constexpr double kCellWidth = 72, kCellHeight = 84, kPitchX = 76, kPitchY = 88;
constexpr double kColumnX = 6, kColumnY = 5, kColumnWidth = 25, kColumnHeight = 74;
constexpr double kReservedDramHeight = 3, kBreakHeight = 6;
constexpr int kBanksPerRow = 12;
constexpr double kHeading = 40;          // above the cores and above the banks: two lines
constexpr double kLeastLineWidth = 440;  // of those lines

int find_or_add(std::vector<MemoryColumn>& columns, MemoryColumn column) {
  auto place = std::find(columns.begin(), columns.end(), column);
  if (place == columns.end()) place = columns.insert(place, std::move(column));
  return static_cast<int>(place - columns.begin());
}

// A DRAM bank is a thousand times what lies in it: only its lower end is to scale, up to this many bytes above the
// reserved ones.
std::int64_t shown_dram_bytes(const MemoryState& state) {
  const MemoryState::Memory* dram = state.find(BufferType::dram);
  std::int64_t used = 0;
  if (dram != nullptr)
    for (const MemoryState::Block& block : dram->blocks)
      if (block.allocated) used = block.address + block.size_bytes - dram->base_address;
  std::int64_t shown = 64 << 10;
  while (shown < used + used / 8) shown *= 2;
  return std::min(shown, state.dram_bank_bytes - state.dram_reserved_bytes);
}

// A column as rectangles from the highest address down to the lowest. `height` gives the pixels of a segment.
template <class Height>
std::string draw_column(const MemoryColumn& column, int id, Height height) {
  std::string out = fmt::format("<g id=\"c{}\">", id);
  double y = kColumnHeight;
  for (const MemorySegment& segment : column) {
    const double pixels = height(segment);
    y -= pixels;
    out += fmt::format("<rect {} y=\"{:.4g}\" width=\"{}\" height=\"{:.4g}\" data-bytes=\"{}\"/>",
                       paint(segment.kind, segment.index), std::max(y, 0.0), kColumnWidth, pixels, segment.bytes);
  }
  return out + "</g>\n";
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  const double value = percent(part, whole);
  if (part > 0 && value < 0.1) return "<0.1%";
  return fmt::format("{:.{}f}%", value, value > 0 && value < 9.95 ? 1 : 0);
}

std::string tooltip(std::string_view what, const MemoryColumn& column, std::int64_t bytes) {
  std::string text = fmt::format("{}: {} B", what, format_count(bytes));
  for (SegmentKind kind : {SegmentKind::data, SegmentKind::no_data, SegmentKind::circular_buffer, SegmentKind::free,
                           SegmentKind::free_small, SegmentKind::free_trace, SegmentKind::reserved})
    if (const std::int64_t part = bytes_of(column, kind); part > 0)
      text += fmt::format("\n{} B {}", format_count(part), description(kind));
  return text;
}

std::string draw_heading(double y, const std::string& text, const std::string& remark) {
  return fmt::format("<text class=\"h\" x=\"0\" y=\"{}\">{}</text><text class=\"t dim\" x=\"0\" y=\"{}\">{}</text>\n",
                     y + 13, text, y + 30, remark);
}

struct MapCell {
  std::string label;      // in the cell
  std::string what;       // "core 3,4"
  std::string attribute;  // of an interactive map
  int column = 0;
  std::int64_t total_bytes = 0;
  std::int64_t usable_bytes = 0;
};

std::string draw_cell(const MapCell& cell, const MemoryColumn& column, double x, double y, bool interactive) {
  const std::int64_t data = bytes_of(column, SegmentKind::data);
  std::string out = interactive ? fmt::format("<g class=\"cell\" {} tabindex=\"0\" role=\"button\" aria-label=\"{}\">",
                                              cell.attribute, cell.what)
                                : std::string("<g class=\"cell\">");
  if (!interactive)
    out += fmt::format("<title>{}</title>", escape_markup(tooltip(cell.what, column, cell.total_bytes)));
  out += fmt::format("<rect class=\"box\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\"/>", x, y, kCellWidth,
                     kCellHeight);
  const double shade = std::min(1.0, percent(data, cell.usable_bytes) / 100) * 0.4;
  if (shade > 0.002)
    out += fmt::format(
        "<rect class=\"shade\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\" fill-opacity=\"{:.2g}\"/>", x, y,
        kCellWidth, kCellHeight, shade);
  out += fmt::format("<rect class=\"well\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", x + kColumnX, y + kColumnY,
                     kColumnWidth, kColumnHeight);
  out += fmt::format("<use href=\"#c{}\" x=\"{}\" y=\"{}\"/>", cell.column, x + kColumnX, y + kColumnY);
  out += fmt::format("<text class=\"t{}\" x=\"{}\" y=\"{}\">{}</text>", data > 0 ? "" : " dim", x + 35, y + 17,
                     escape_markup(share_text(data, cell.usable_bytes)));
  out +=
      fmt::format("<text class=\"t dim\" x=\"{}\" y=\"{}\">{}</text></g>\n", x + 35, y + kCellHeight - 8, cell.label);
  return out;
}

}  // namespace

MemoryColumns::MemoryColumns(const MemoryState& state) {
  for (int core = 0; core < state.cores.count(); ++core)
    cores.push_back(find_or_add(distinct, core_column(state, core)));
  for (int bank = 0; bank < state.dram_banks; ++bank) banks.push_back(find_or_add(distinct, dram_column(state, bank)));
}

Paint paint_of(SegmentKind kind, int index) {
  const bool buffer = kind == SegmentKind::data || kind == SegmentKind::no_data;
  if (!buffer) return {fmt::format("k-{}", name(kind)), ""};
  const std::string_view empty = kind == SegmentKind::no_data ? " none" : "";
  if (index < 0) return {fmt::format("b-{}", empty), ""};
  if (index < kColours) return {fmt::format("b{}{}", index, empty), ""};
  return {fmt::format("bp{}", empty), fmt::format("url(#p{})", index)};
}

std::string paint(SegmentKind kind, int index) {
  const Paint look = paint_of(kind, index);
  std::string text = fmt::format("class=\"{}\"", look.css_class);
  if (!look.fill.empty()) text += fmt::format(" fill=\"{}\"", look.fill);
  return text;
}

std::string paint_patterns(const MemoryState& state) {
  std::string out =
      "<pattern id=\"pcb\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\"><rect class=\"cb0\" width=\"4\" "
      "height=\"4\"/><path class=\"cb1\" d=\"M0 0H2V2H0ZM2 2H4V4H2Z\"/></pattern>\n";
  for (int i = kColours; i < static_cast<int>(state.buffers.size()); ++i)
    out += fmt::format(
        "<pattern id=\"p{0}\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate({1})\">"
        "<rect class=\"b{2}\" width=\"5\" height=\"5\"/><rect width=\"5\" height=\"1.6\" fill=\"#fff\"/></pattern>\n",
        i, kStripeAngles[static_cast<std::size_t>(i / kColours - 1) % std::size(kStripeAngles)], i % kColours);
  return out;
}

std::string_view drawing_style() {
  return R"(.map{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.map text{fill:#1f2328}.map .t{font-size:11px;font-variant-numeric:tabular-nums}.map .h{font-size:13px;font-weight:600}
.map .h1{font-size:18px;font-weight:600}.map .dim{fill:#59636e}.map .bg{fill:#fff}
.map .box{fill:#f6f8fa;stroke:#d1d9e0}.map .shade{fill:#6e7781}.map .well{fill:#fff;stroke:#8c959f;stroke-width:.8}
.k-reserved{fill:#6e7781}.k-circular_buffer{fill:url(#pcb)}.cb0{fill:#d8dee4}.cb1{fill:#1f2328}
.k-free,.k-free_small,.k-free_trace{fill:#fff}.k-free_small,.k-free_trace{fill:#d8dee4}
.b0{fill:#0072b2}.b1{fill:#e69f00}.b2{fill:#009e73}.b3{fill:#d55e00}.b4{fill:#56b4e9}.b5{fill:#cc79a7}.b6{fill:#f0e442}
.b-{fill:#59636e}.none{fill-opacity:.28}
@media (prefers-color-scheme:dark){.map text{fill:#e6edf3}.map .dim{fill:#9198a1}.map .bg{fill:#0d1117}
.map .box{fill:#151b23;stroke:#3d444d}.map .shade{fill:#b1bac4}.map .well{fill:#010409;stroke:#656c76}
.k-reserved{fill:#9198a1}.cb0{fill:#2f3742}.cb1{fill:#e6edf3}.k-free{fill:#010409}.k-free_small,.k-free_trace{fill:#3d444d}
.b0{fill:#2f8fd0}.b-{fill:#9198a1}.none{fill-opacity:.38}}
)";
}

Drawing draw_map(const MemoryState& state, const MemoryColumns& columns, bool interactive) {
  const std::int64_t shown_dram = shown_dram_bytes(state);
  const std::int64_t usable_l1 = state.l1_bytes - state.l1_reserved_bytes;
  const std::int64_t usable_dram = state.dram_bank_bytes - state.dram_reserved_bytes;
  std::vector<bool> is_bank(columns.distinct.size());
  for (int column : columns.banks) is_bank[static_cast<std::size_t>(column)] = true;

  std::string out = "<defs>\n" + paint_patterns(state);
  for (std::size_t i = 0; i < columns.distinct.size(); ++i) {
    const auto l1_height = [&](const MemorySegment& s) {
      return static_cast<double>(s.bytes) / static_cast<double>(state.l1_bytes) * kColumnHeight;
    };
    const auto dram_height = [&](const MemorySegment& s) {
      if (s.kind == SegmentKind::reserved) return kReservedDramHeight;
      const bool cut = shown_dram < usable_dram;
      const double scale =
          (kColumnHeight - kReservedDramHeight - (cut ? kBreakHeight : 0)) / static_cast<double>(shown_dram);
      const std::int64_t end = state.dram_reserved_bytes + shown_dram;
      const std::int64_t visible = std::clamp<std::int64_t>(end - s.address, 0, s.bytes);
      return static_cast<double>(visible) * scale;
    };
    out += is_bank[i] ? draw_column(columns.distinct[i], static_cast<int>(i), dram_height)
                      : draw_column(columns.distinct[i], static_cast<int>(i), l1_height);
  }
  out += "</defs>\n";

  out += draw_heading(0, fmt::format("L1 of {} x {} cores", state.cores.columns, state.cores.rows),
                      fmt::format("{} each, highest address on top; % and shade: share that holds tensor data",
                                  format_bytes(static_cast<double>(state.l1_bytes))));
  for (int core = 0; core < state.cores.count(); ++core) {
    const CoreCoord at = state.cores.core(core);
    const MapCell cell{fmt::format("{},{}", at.x, at.y),
                       fmt::format("core {},{}", at.x, at.y),
                       fmt::format("data-core=\"{}\"", core),
                       columns.cores[static_cast<std::size_t>(core)],
                       state.l1_bytes,
                       usable_l1};
    out += draw_cell(cell, columns.of_core(core), at.x * kPitchX + 0.5, kHeading + at.y * kPitchY + 0.5, interactive);
  }
  const double below = kHeading + state.cores.rows * kPitchY + 14;
  out += draw_heading(below, fmt::format("{} DRAM banks", state.dram_banks),
                      fmt::format("{} each; drawn: the lowest {} that can be allocated",
                                  format_bytes(static_cast<double>(state.dram_bank_bytes)),
                                  format_bytes(static_cast<double>(shown_dram))));
  const int per_row = interactive ? state.cores.columns : std::max(state.cores.columns, kBanksPerRow);
  for (int bank = 0; bank < state.dram_banks; ++bank) {
    const MapCell cell{fmt::format("{}", bank),
                       fmt::format("DRAM bank {}", bank),
                       fmt::format("data-bank=\"{}\"", bank),
                       columns.banks[static_cast<std::size_t>(bank)],
                       state.dram_bank_bytes,
                       usable_dram};
    const int column = bank % per_row, row = bank / per_row;
    const double x = column * kPitchX + 0.5, y = below + kHeading + row * kPitchY + 0.5;
    out += draw_cell(cell, columns.of_bank(bank), x, y, interactive);
    if (shown_dram < usable_dram)  // the break: what is above is not drawn
      out += fmt::format("<path d=\"M{} {}l4 -3 4 3 4 -3 4 3 4 -3 5 3\" fill=\"none\" stroke=\"#8c959f\"/>\n",
                         x + kColumnX, y + kColumnY + kBreakHeight);
  }
  const double rows = std::ceil(static_cast<double>(state.dram_banks) / per_row);
  const double cores_width = std::max(state.cores.columns * kPitchX, kLeastLineWidth);
  return {std::move(out), std::max(cores_width, std::min(per_row, state.dram_banks) * kPitchX),
          below + kHeading + rows * kPitchY, cores_width, below};
}

}  // namespace tessera::tensix
