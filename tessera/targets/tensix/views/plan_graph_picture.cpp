#include "tessera/report/markup.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/views/plan_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace tessera::tensix {
namespace {

constexpr double kStepRow = 30, kMoveRow = 24, kLanesLeft = 20, kLanePitch = 26, kLeastLanePitch = 9;
constexpr std::size_t kLanesAtFullPitch = 8;

struct GraphRow {
  enum class Kind { input, move, step } kind = Kind::step;
  std::size_t step = 0, move = 0;
  std::string value;  // that comes in, moves, or is made
  double top = 0, height = kStepRow;
  std::size_t lane = 0;

  double middle() const { return top + height / 2; }
};

// A value from where it is made to where it is read last.
struct ValueLine {
  std::size_t lane = 0, begin = 0, end = 0;                // rows
  std::vector<std::size_t> readers;                        // rows
  std::vector<std::pair<std::size_t, ValuePlace>> places;  // from that row on
};

class NetworkGraph {
 public:
  explicit NetworkGraph(const PlanReport& report) : report_(report) {
    list_rows();
    follow_values();
    choose_lanes();
  }

  std::string draw() const {
    const double width = x(lanes_ - 1) + kLanesLeft;
    std::string out = fmt::format(
        "<div class=\"graph\" id=\"graph\" role=\"listbox\" tabindex=\"0\" aria-label=\"Steps of the network in the "
        "order they run\" style=\"--lanes:{:.0f}px\">\n<svg class=\"lanes\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "aria-hidden=\"true\">\n",
        width, width, height_);
    for (const auto& [value, line] : lines_) out += drawn(line);
    for (const GraphRow& row : rows_) out += drawn_node(row);
    out += "</svg>\n";
    for (const GraphRow& row : rows_) out += words(row);
    return out + "</div>\n";
  }

 private:
  void add_row(GraphRow row) {
    row.top = height_;
    height_ += row.height;
    rows_.push_back(std::move(row));
  }

  void list_rows() {
    std::set<std::string> made;
    for (const PlanReport::Step& step : report_.steps) made.insert(step.value);
    for (const PlanReport::Step& step : report_.steps)
      for (const std::string& value : step.reads)
        if (made.insert(value).second) add_row({GraphRow::Kind::input, 0, 0, value, 0, kMoveRow});
    for (std::size_t s = 0; s < report_.steps.size(); ++s) {
      for (std::size_t m = 0; m < report_.steps[s].moves.size(); ++m)
        add_row({GraphRow::Kind::move, s, m, report_.steps[s].moves[m].value, 0, kMoveRow});
      add_row({GraphRow::Kind::step, s, 0, report_.steps[s].value});
    }
  }

  void follow_values() {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const GraphRow& row = rows_[r];
      if (row.kind == GraphRow::Kind::move) {
        const auto found = lines_.find(row.value);
        if (found == lines_.end()) continue;
        found->second.places.emplace_back(r, report_.steps[row.step].moves[row.move].to_place);
        found->second.end = r;
        continue;
      }
      if (row.kind == GraphRow::Kind::step)
        for (const std::string& value : report_.steps[row.step].reads) {
          const auto found = lines_.find(value);
          if (found == lines_.end()) continue;
          if (found->second.readers.empty() || found->second.readers.back() != r) found->second.readers.push_back(r);
          found->second.end = r;
        }
      const ValuePlace place = row.kind == GraphRow::Kind::step ? report_.steps[row.step].place : ValuePlace::dram;
      ValueLine line;
      line.begin = line.end = r;
      line.places.emplace_back(r, place);
      lines_.insert_or_assign(row.value, std::move(line));
    }
  }

  // The smallest lane that is free: what ends in a row makes room for what begins there.
  void choose_lanes() {
    std::vector<std::size_t> busy_until;  // row; 0: free
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      GraphRow& row = rows_[r];
      const auto own = lines_.find(row.value);
      if (row.kind == GraphRow::Kind::move) {
        if (own != lines_.end()) row.lane = own->second.lane;
        continue;
      }
      std::size_t lane = 0;
      while (lane < busy_until.size() && busy_until[lane] > r) ++lane;
      if (lane == busy_until.size()) busy_until.push_back(0);
      row.lane = lane;
      busy_until[lane] = 0;
      if (own == lines_.end() || own->second.begin != r) continue;
      own->second.lane = lane;
      busy_until[lane] = own->second.end;
    }
    lanes_ = std::max<std::size_t>(1, busy_until.size());
  }

  double pitch() const {
    if (lanes_ <= kLanesAtFullPitch) return kLanePitch;
    return std::max(kLeastLanePitch, kLanePitch * kLanesAtFullPitch / static_cast<double>(lanes_));
  }
  double x(std::size_t lane) const { return kLanesLeft + pitch() * static_cast<double>(lane); }

  std::string drawn(const ValueLine& line) const {
    if (line.readers.empty()) return {};
    std::string out;
    // Down its lane, in the colour of where it lies, as far as the row above the last reader.
    const GraphRow& last = rows_[line.end];
    const double bottom = last.kind == GraphRow::Kind::step ? last.top - 2 : last.middle();
    for (std::size_t i = 0; i < line.places.size(); ++i) {
      const double from = rows_[line.places[i].first].middle();
      const double to = i + 1 < line.places.size() ? rows_[line.places[i + 1].first].middle() : bottom;
      if (to > from)
        out += fmt::format("<path class=\"e e-{}\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>", letter(line.places[i].second),
                           x(line.lane), from, to);
    }
    for (const std::size_t r : line.readers) {
      const GraphRow& row = rows_[r];
      ValuePlace place = line.places.front().second;
      for (const auto& [from, then] : line.places)
        if (from < r) place = then;
      const double top = row.top - 2, y = row.middle();
      out += fmt::format(
          "<path class=\"e e-{0}\" d=\"M{1:.1f} {2:.1f}C{1:.1f} {3:.1f} {4:.1f} {2:.1f} {4:.1f} {3:.1f}\"/>",
          letter(place), x(line.lane), top, y, x(row.lane));
    }
    return out + "\n";
  }

  std::string drawn_node(const GraphRow& row) const {
    const double at = x(row.lane), y = row.middle();
    if (row.kind == GraphRow::Kind::input)
      return fmt::format("<circle class=\"input\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>\n", at, y);
    if (row.kind == GraphRow::Kind::move) {
      const PlanReport::Move& move = report_.steps[row.step].moves[row.move];
      return fmt::format("<path class=\"move p-{}\" d=\"M{:.1f} {:.1f}l7 7l-7 7l-7 -7Z\"/>\n", letter(move.to_place),
                         at, y - 7);
    }
    const char c = letter(report_.steps[row.step].place);
    return fmt::format(
        "<g class=\"node p-{0}\"><rect x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"20\" height=\"18\" rx=\"4\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\">{0}</text></g>\n",
        c, at - 10, y - 9, at, y + 4);
  }

  std::string words(const GraphRow& row) const {
    if (row.kind == GraphRow::Kind::input)
      return fmt::format("<div class=\"row in\"><span class=\"name\">{}</span><span class=\"dim\">input</span></div>\n",
                         escape_markup(row.value));
    const PlanReport::Step& step = report_.steps[row.step];
    const auto bar = [&](double ns) {
      return fmt::format("<span class=\"bar\"><i style=\"width:{:.1f}%\"></i></span><span class=\"n\">{}</span>",
                         longest_ > 0 ? 100 * ns / longest_ : 0, ns > 0 ? format_time(ns) : "");
    };
    if (row.kind == GraphRow::Kind::move) {
      const PlanReport::Move& move = step.moves[row.move];
      return fmt::format(
          "<div class=\"row mv\" data-of=\"{}\" title=\"{}\"><span class=\"name\">{} {}</span><span class=\"op "
          "dim\">to "
          "{}</span>{}</div>\n",
          row.step, escape_markup(move.why.empty() ? move.to : move.why), escape_markup(move.kind),
          escape_markup(move.value), escape_markup(name(move.to_place)), bar(move.ns));
    }
    return fmt::format(
        "<div class=\"row\" role=\"option\" id=\"row-{0}\" data-step=\"{0}\" aria-selected=\"false\"><span "
        "class=\"name\">{1}</span><span class=\"op dim\">{2}, {3}</span>{4}</div>\n",
        row.step, escape_markup(step.node), escape_markup(step.op), escape_markup(name(step.place)), bar(step.ns));
  }

  double longest() const {
    double most = 0;
    for (const PlanReport::Step& step : report_.steps) most = std::max(most, step.ns);
    return most;
  }

  const PlanReport& report_;
  std::vector<GraphRow> rows_;
  std::map<std::string, ValueLine> lines_;
  std::size_t lanes_ = 1;
  double height_ = 0;
  double longest_ = longest();
};

}  // namespace

std::string plan_graph_html(const PlanReport& report) { return NetworkGraph(report).draw(); }

}  // namespace tessera::tensix
