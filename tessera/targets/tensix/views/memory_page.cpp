#include "tessera/targets/tensix/views/memory_page.h"

#include "tessera/report/markup.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/views/memory_drawing.h"
#include "tessera/targets/tensix/views/memory_page_assets.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>
#include <vector>

namespace tessera::tensix {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDetailCharacters = 64;  // the rest is in the tooltip

Json column_json(const MemoryColumn& column) {
  Json segments = Json::array();
  for (const MemorySegment& s : column) {
    const Paint look = paint_of(s.kind, s.index);
    segments.push_back(Json::array({name(s.kind), s.address, s.bytes, s.index, look.css_class, look.fill}));
  }
  return segments;
}

// What the script draws from. It stands in a <script> element, whose text ends at the first "</": no '<' may be in it.
std::string script_data(const MemoryState& state, const MemoryColumns& columns) {
  Json document = {{"grid", Json::array({state.cores.columns, state.cores.rows})},
                   {"cores", columns.cores},
                   {"banks", columns.banks}};
  document["columns"] = Json::array();
  for (const MemoryColumn& column : columns.distinct) document["columns"].push_back(column_json(column));
  document["kinds"] = Json::object();
  for (SegmentKind kind : {SegmentKind::reserved, SegmentKind::circular_buffer, SegmentKind::free, SegmentKind::data,
                           SegmentKind::no_data, SegmentKind::free_small, SegmentKind::free_trace})
    document["kinds"][std::string(name(kind))] = description(kind);
  document["buffers"] = Json::array();
  for (const MemoryState::Buffer& buffer : state.buffers)
    document["buffers"].push_back(buffer.name.empty() ? buffer.title() : buffer.name);
  document["circular_buffers"] = Json::array();
  for (const PlacedCircularBuffer& placed : state.circular_buffers.buffers)
    document["circular_buffers"].push_back(placed.buffer.name);

  std::string text;
  for (const char c : document.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

std::string percent_text(double fraction) { return fmt::format("{:.1f}%", 100 * fraction); }

struct HtmlCell {
  std::string html;
  std::string_view css_class = "";
};

HtmlCell number(std::int64_t value) { return {format_count(value), "n"}; }
HtmlCell text(std::string_view value) { return {escape_markup(value)}; }

class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<HtmlCell>& headings) : out_("<div class=\"scroll\"><table>\n<thead>") {
    add(headings, "th");
    out_ += "</thead>\n<tbody>\n";
  }
  void add_row(const std::vector<HtmlCell>& cells) { add(cells, "td"); }
  std::string take() { return std::move(out_) + "</tbody>\n</table></div>\n"; }

 private:
  void add(const std::vector<HtmlCell>& cells, std::string_view tag) {
    out_ += "<tr>";
    for (const HtmlCell& cell : cells) {
      if (cell.css_class.empty())
        out_ += fmt::format("<{0}>{1}</{0}>", tag, cell.html);
      else
        out_ += fmt::format("<{0} class=\"{2}\">{1}</{0}>", tag, cell.html, cell.css_class);
    }
    out_ += "</tr>\n";
  }
  std::string out_;
};

std::string swatch(SegmentKind kind, int index) {
  return fmt::format(
      "<svg class=\"swatch\" width=\"14\" height=\"14\" aria-hidden=\"true\"><rect {} width=\"14\" "
      "height=\"14\"/></svg>",
      paint(kind, index));
}

std::string kinds_line(const MemoryColumns& columns) {
  std::string out = "<p class=\"dim\">";
  for (SegmentKind kind : {SegmentKind::reserved, SegmentKind::circular_buffer, SegmentKind::free_small,
                           SegmentKind::free_trace, SegmentKind::no_data}) {
    bool drawn = false;
    for (const MemoryColumn& column : columns.distinct) drawn = drawn || bytes_of(column, kind) > 0;
    if (drawn) out += fmt::format("{}{}&ensp; ", swatch(kind, 0), escape_markup(description(kind)));
  }
  return out + "</p>\n";
}

std::string memories_section(const MemoryState& state) {
  HtmlTable table({{"memory"},
                   {"banks", "n"},
                   {"bytes per bank", "n"},
                   {"allocated", "n"},
                   {"free", "n"},
                   {"largest free block", "n"},
                   {"fragmentation", "n"}});
  for (const MemoryState::Memory& memory : state.memories)
    table.add_row({text(name(memory.type)),
                   number(memory.view.num_banks),
                   number(memory.view.total_bytes_per_bank),
                   number(memory.view.allocated_bytes_per_bank),
                   number(memory.view.free_bytes_per_bank),
                   number(memory.view.largest_free_block_bytes_per_bank),
                   {percent_text(memory.fragmentation()), "n"}});
  return "<h2>Memories</h2>\n<p class=\"dim\">Bytes of one bank; all banks of a memory are given out in lock step. "
         "Fragmentation: the part of the free bytes that is not in the largest free block.</p>\n" +
         table.take();
}

std::string buffers_section(const MemoryState& state) {
  HtmlTable table({{"buffer"},
                   {"memory"},
                   {"address", "n"},
                   {"bytes per bank", "n"},
                   {"banks with data", "n"},
                   {"reserved", "n"},
                   {"useful", "n"},
                   {"useful share", "n"},
                   {"waste", "n"}});
  for (std::size_t i = 0; i < state.buffers.size(); ++i) {
    const MemoryState::Buffer& buffer = state.buffers[i];
    std::string label = swatch(SegmentKind::data, static_cast<int>(i));
    if (buffer.name.empty())
      label += escape_markup(buffer.title());
    else
      label += fmt::format("<b>{}</b><br><span class=\"dim\">{}</span>", escape_markup(buffer.name),
                           escape_markup(buffer.label));
    std::vector<HtmlCell> row = {
        {label, "wide"}, text(name(buffer.memory)), number(buffer.address), number(buffer.bytes_per_bank)};
    if (buffer.knows_contents()) {
      const double share = buffer.useful_fraction();
      const std::string bar =
          fmt::format("<span class=\"bar\"><span style=\"width:{:.0f}%\"></span></span>", 100 * share);
      row.insert(row.end(), {number(buffer.banks_used()),
                             number(buffer.reserved_bytes),
                             number(buffer.useful_bytes()),
                             {bar + percent_text(share), "n"},
                             {percent_text(1 - share), "n"}});
    } else {
      row.insert(row.end(), {{"unknown", "n"}, number(buffer.reserved_bytes), {"unknown", "n"}, {"", "n"}, {"", "n"}});
    }
    table.add_row(row);
  }
  return "<h2>Buffers</h2>\n<p class=\"dim\">Reserved: bytes taken in all banks of the memory together. Useful: bytes "
         "of the pages "
         "that lie in them (padding inside tiles counts as useful). Waste is what lock step, whole shards and "
         "alignment take on "
         "top.</p>\n" +
         table.take();
}

std::string circular_buffers_section(const MemoryState& state) {
  if (state.circular_buffers.buffers.empty()) return {};
  HtmlTable table({{"circular buffer"}, {"cores"}, {"address", "n"}, {"bytes", "n"}});
  for (const PlacedCircularBuffer& placed : state.circular_buffers.buffers)
    table.add_row({text(placed.buffer.name), text(placed.buffer.cores.to_string()), number(placed.address),
                   number(placed.buffer.bytes)});
  return "<h2>Circular buffers of the program shown</h2>\n" + table.take();
}

std::string moves_section(const MemoryState& state) {
  if (state.moves.empty()) return {};
  HtmlTable table({{"#", "n"},
                   {"operation"},
                   {"from"},
                   {"to"},
                   {"bytes", "n"},
                   {"pieces", "n"},
                   {"stay on their core", "n"},
                   {"busiest bank", "n"},
                   {"detail"}});
  for (std::size_t i = 0; i < state.moves.size(); ++i)
    for (const Transfer& t : state.moves[i].transfers)
      table.add_row({number(static_cast<std::int64_t>(i + 1)),
                     text(state.moves[i].op()),
                     text(name(t.from)),
                     text(name(t.to)),
                     number(t.bytes),
                     number(t.pieces),
                     number(t.local_bytes),
                     number(t.busiest_bank_bytes),
                     {fmt::format("<span title=\"{}\">{}</span>", escape_markup(state.moves[i].detail),
                                  escape_markup(shortened(state.moves[i].detail, kDetailCharacters))),
                      "detail"}});
  return "<h2>Moves</h2>\n<p class=\"dim\">What each operation moved, in bytes: counted on the simulated device, "
         "exact. Times are not "
         "modelled.</p>\n" +
         table.take();
}

}  // namespace

std::string memory_html(const MemoryState& state) {
  const MemoryColumns columns(state);
  const Drawing map = draw_map(state, columns, true);
  const std::string title = escape_markup(state.title.empty() ? state.machine : state.title);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Memory of {}</title>\n"
      "<style>\n{}{}</style>\n</head>\n<body>\n",
      title, drawing_style(), kMemoryPageCss);
  page += fmt::format(
      "<header><h1>Memory of {}</h1>\n<p class=\"dim\">{} ({}), device {}: {} x {} cores, {} B of L1 each, {} DRAM "
      "banks. "
      "Simulated device; every size is exact.</p></header>\n",
      title, escape_markup(state.machine), escape_markup(state.arch), state.device_id, state.cores.columns,
      state.cores.rows, format_count(state.l1_bytes), state.dram_banks);
  page += "<main>\n" + kinds_line(columns);
  page += fmt::format(
      "<div class=\"view\">\n<div class=\"scroll\"><svg class=\"map\" width=\"{0}\" height=\"{1}\" viewBox=\"-2 -2 {2} "
      "{3}\">\n{4}</svg></div>\n",
      map.width + 4, map.height + 4, map.width + 4, map.height + 4, map.elements);
  page +=
      "<aside><h2 id=\"one-title\">One core</h2>\n<p class=\"dim\">Click a core or a bank. Left: address where each "
      "piece "
      "starts. Small pieces are drawn taller than to scale.</p>\n<div id=\"one\"><noscript>The enlarged view needs "
      "JavaScript; the tables below do not.</noscript></div></aside>\n</div>\n";
  page += buffers_section(state) + memories_section(state) + circular_buffers_section(state) + moves_section(state);
  page += fmt::format(
      "</main>\n<div id=\"tip\" role=\"tooltip\"></div>\n<script type=\"application/json\" id=\"state\">{}</script>\n"
      "<script>\n{}</script>\n</body>\n</html>\n",
      script_data(state, columns), kMemoryPageJs);
  return page;
}

}  // namespace tessera::tensix
