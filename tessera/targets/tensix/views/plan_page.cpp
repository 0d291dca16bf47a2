#include "tessera/targets/tensix/views/plan_page.h"

#include "tessera/core/text.h"
#include "tessera/report/markup.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/views/plan_page_assets.h"
#include "tessera/targets/tensix/views/plan_pictures.h"
#include "tessera/targets/tensix/views/plan_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace tessera::tensix {
namespace {

constexpr std::size_t kAlternativesInPage = 8;  // of a step; JSON has them all

std::string section(std::string_view id, std::string_view title, std::string_view words, const std::string& body) {
  return fmt::format("<section id=\"{}\" aria-labelledby=\"h-{}\">\n<h2 id=\"h-{}\">{}</h2>\n{}{}</section>\n", id, id,
                     id, title, words.empty() ? "" : fmt::format("<p class=\"dim\">{}</p>\n", words), body);
}

std::string facts_html(const PlanReport& report) {
  std::string out = "<dl class=\"facts\">\n";
  for (const PlanFact& fact : plan_facts(report))
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd><dd class=\"dim\">{}</dd></div>\n", escape_markup(fact.name),
                       escape_markup(fact.value), escape_markup(fact.note));
  return out + "</dl>\n";
}

std::string advice_html(const PlanReport& report) {
  const double all = std::max(report.device_ns, report.end_to_end_ns);
  std::string out = "<ol class=\"advice\">\n";
  for (const PlanReport::Advice& advice : report.advice) {
    std::string gain;
    if (advice.at_most_ns > 0 && all > 0)
      gain = fmt::format(" <span class=\"gain\">at most {}, {:.1f} %</span>", format_time(advice.at_most_ns),
                         100 * advice.at_most_ns / all);
    out += fmt::format("<li><b>{}</b>{}<br><span class=\"dim\">{}</span>", escape_markup(advice.what), gain,
                       escape_markup(advice.detail));
    if (!advice.steps.empty())
      out += fmt::format(" <a href=\"#network\" data-go=\"{}\">show</a>", advice.steps.front());
    out += "</li>\n";
  }
  return out + "</ol>\n";
}

std::string key(std::string_view look, std::string_view words) {
  return fmt::format("<span class=\"key-of\"><i class=\"key {}\"></i>{}</span> ", escape_markup(look),
                     escape_markup(words));
}

std::string bound_keys(const PlanReport& report) {
  std::set<std::string_view> seen;
  for (const PlanReport::Step& step : report.steps)
    if (step.bound_by) seen.insert(name(*step.bound_by));
  std::string out = "<p class=\"keys\"><span class=\"dim\">bound by</span> ";
  for (const std::string_view part : seen) out += key(fmt::format("b-{}", part), part);
  return out + "</p>\n";
}

std::string place_keys(const PlanReport& report) {
  std::set<ValuePlace> seen;
  std::set<std::string> moves;
  for (const PlanReport::Step& step : report.steps) {
    seen.insert(step.place);
    for (const PlanReport::Move& move : step.moves) seen.insert(move.to_place), moves.insert(move.kind);
  }
  std::string out = "<p class=\"keys\"><span class=\"dim\">results</span> ";
  for (const ValuePlace place : seen)
    out +=
        fmt::format("<span class=\"key-of\"><i class=\"key big p-{0}\">{0}</i>{1}</span> ", letter(place), name(place));
  if (!moves.empty())
    out += fmt::format("<span class=\"key-of\"><i class=\"diamond\"></i>{}</span> ",
                       escape_markup(fmt::format("{}", fmt::join(moves, ", "))));
  return out + "</p>\n";
}

std::string network_html(const PlanReport& report) {
  return place_keys(report) + "<div class=\"view\">\n<div class=\"left\">\n" + plan_graph_html(report) +
         fmt::format(
             "</div>\n<aside>\n<div class=\"pick\"><button type=\"button\" id=\"prev\" "
             "aria-label=\"step "
             "before\">\xE2\x80\xB9</button><input type=\"range\" id=\"slider\" min=\"1\" max=\"{}\" value=\"1\" "
             "aria-label=\"step\"><button type=\"button\" id=\"next\" aria-label=\"next "
             "step\">\xE2\x80\xBA</button></div>\n<h3 "
             "id=\"one-title\" aria-live=\"polite\">One step</h3>\n<div id=\"cores\"></div>\n<p class=\"dim "
             "small-words\" "
             "id=\"core-words\"></p>\n<p class=\"dim small-words\" id=\"cores-note\"></p>\n<div "
             "id=\"one\"><noscript>The details of a step need JavaScript; tables and pictures do "
             "not.</noscript></div>\n</aside>\n</div>\n",
             std::max<std::size_t>(report.steps.size(), 1));
}

std::string l1_html(const PlanReport& report) {
  const std::string picture = plan_l1_svg(report);
  if (picture.empty())
    return "<p class=\"dim\">The plan was not run on the simulated card, so addresses are not known.</p>\n";
  std::string keys = "<p class=\"keys\">";
  std::set<ValuePlace> seen;
  for (const PlanReport::L1Buffer& b : report.l1.buffers)
    if (b.kind == PlanReport::L1Buffer::Kind::tensor) seen.insert(b.place);
  for (const ValuePlace place : seen) keys += key(fmt::format("p-{}", letter(place)), name(place));
  keys += key("work", "halos and copies of one step") + key("cb", "circular buffers") + key("small", "L1_SMALL") +
          key("well", "free") + "</p>\n";
  return keys + "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"L1 over time, scrolls sideways\">" +
         picture + "</div>\n<p id=\"l1-words\" class=\"dim\" aria-live=\"polite\"></p>\n";
}

struct PageColumn {
  std::string_view title, unit;
  bool number = false;
};

class StepRows {
 public:
  explicit StepRows(const PlanReport& report) : report_(report) {}

  std::string html() const {
    static constexpr PageColumn kColumns[] = {
        {"#", "", true},  {"node", ""},          {"op", ""},        {"time", "", true},     {"share", "", true},
        {"bound by", ""}, {"of roof", "", true}, {"layout", ""},    {"cores", "", true},    {"dtype", ""},
        {"weights", ""},  {"fidelity", ""},      {"PCC", "", true}, {"L1 peak", "B", true}, {"config", ""}};
    std::string out =
        "<p><label>Filter <input type=\"search\" id=\"filter\" placeholder=\"name, op, bound, dtype\"></label> <span "
        "class=\"dim\" id=\"shown\"></span></p>\n<div class=\"scroll tall\" tabindex=\"0\" role=\"group\" "
        "aria-label=\"Table of steps\"><table id=\"steps-table\">\n<thead><tr>";
    for (const PageColumn& column : kColumns)
      out += fmt::format("<th scope=\"col\" aria-sort=\"{}\"{}><button type=\"button\">{}{}</button></th>",
                         column.title == "#" ? "ascending" : "none", column.number ? " class=\"n\"" : "", column.title,
                         column.unit.empty() ? "" : fmt::format(" [{}]", column.unit));
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t i = 0; i < report_.steps.size(); ++i) out += row(i);
    return out + "</tbody>\n</table></div>\n";
  }

 private:
  static std::string words(std::string_view text) { return fmt::format("<td>{}</td>", escape_markup(text)); }
  static std::string number(double raw, std::string_view shown) {
    return fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", raw, escape_markup(shown));
  }
  static std::string none() { return "<td class=\"n\"></td>"; }

  std::string row(std::size_t i) const {
    const PlanReport::Step& s = report_.steps[i];
    std::string out =
        fmt::format("<tr data-step=\"{}\">", i) + number(static_cast<double>(i + 1), fmt::format("{}", i + 1));
    out += fmt::format("<th scope=\"row\"><a href=\"#network\" data-go=\"{}\">{}</a></th>", i, escape_markup(s.node));
    out += words(s.op);
    if (s.ns > 0) {
      out += number(s.ns, format_time(s.ns) + (s.basis == TimeBasis::fitted ? "" : " ~"));
      out += fmt::format(
          "<td class=\"n\" data-v=\"{}\"><span class=\"bar\"><i style=\"width:{:.1f}%\"></i></span><span "
          "class=\"pct\">{:.1f}%</span></td>",
          s.share, 100 * s.share / std::max(largest_, 1e-9), 100 * s.share);
    } else {
      out += none() + none();
    }
    out += !s.bound_by ? words("") : fmt::format("<td><i class=\"key b-{0}\"></i>{0}</td>", name(*s.bound_by));
    out += s.ns > 0 ? number(s.roof_fraction, fmt::format("{:.0f}%", 100 * s.roof_fraction)) : none();
    const std::string_view place = name(s.place);
    out += fmt::format("<td><i class=\"key p-{}\"></i>{}</td>", letter(s.place), place.substr(0, place.find(' ')));
    out += s.cores > 0 ? number(static_cast<double>(s.cores), fmt::format("{}", s.cores)) : none();
    out += words(s.dtype) + words(s.weights_dtype) + words(name_or_none(s.fidelity));
    out += s.pcc ? number(*s.pcc, fmt::format("{:.6f}", *s.pcc)) : none();
    out += s.l1_peak_bytes > 0 ? number(static_cast<double>(s.l1_peak_bytes), format_count(s.l1_peak_bytes)) : none();
    return out + fmt::format("<td class=\"config\" title=\"{0}\">{0}</td></tr>\n", escape_markup(s.config));
  }

  double largest() const {
    double most = 0;
    for (const PlanReport::Step& step : report_.steps) most = std::max(most, step.share);
    return most;
  }

  const PlanReport& report_;
  double largest_ = largest();
};

std::string alternatives_html(const PlanReport& report) {
  std::string out;
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const PlanReport::Step& s = report.steps[i];
    if (s.alternatives.empty()) continue;
    const auto refused = std::count_if(s.alternatives.begin(), s.alternatives.end(),
                                       [](const WeighedConfig& a) { return !a.refusal.empty(); });
    const auto chosen =
        std::find_if(s.alternatives.begin(), s.alternatives.end(), [](const WeighedConfig& a) { return a.chosen; });
    const bool known = chosen != s.alternatives.end();
    out += fmt::format(
        "<details id=\"alt-{}\"><summary><b>{}</b> <span class=\"dim\">{} others, {} refused; chosen: "
        "{}</span></summary>\n<div class=\"scroll\"><table><thead><tr><th>way</th><th class=\"n\">would take</th>"
        "<th class=\"n\">L1 of a core</th><th>refused: why</th></tr></thead>\n<tbody>\n",
        i, escape_markup(s.node), s.alternatives.size() - (known ? 1 : 0), refused,
        escape_markup(s.config.empty() ? "-" : s.config));
    // As many of those that run as of those that do not.
    const std::size_t running = s.alternatives.size() - static_cast<std::size_t>(refused);
    for (std::size_t a = 0; a < s.alternatives.size(); ++a) {
      if (a < running ? a >= kAlternativesInPage : a - running >= kAlternativesInPage) continue;
      const WeighedConfig& each = s.alternatives[a];
      std::string time = each.refusal.empty() ? format_time(each.ns) : "";
      if (each.refusal.empty() && known && !each.chosen)
        time += fmt::format(" ({:+.0f} %)", 100 * (each.ns / chosen->ns - 1));
      out += fmt::format("<tr><td>{}{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
                         escape_markup(each.config), each.chosen ? " <b>chosen</b>" : "", time,
                         each.l1_bytes > 0 ? format_count(each.l1_bytes) : "", escape_markup(each.refusal));
    }
    out += "</tbody></table></div></details>\n";
  }
  return out.empty() ? "<p class=\"dim\">The plan carries no alternatives.</p>\n" : out;
}

}  // namespace

std::string plan_page(const PlanReport& report) {
  const std::string title = escape_markup(fmt::format("{} on {}", report.model, report.machine_title));
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
      title, kPlanPageCss);
  page += fmt::format(
      "<header><h1>{}</h1>\n<p class=\"dim\">A plan for {}, chosen for {} time. Nothing here was measured on a card: "
      "times "
      "are predicted by a cost model (<b>~</b>: with parts that nobody has measured on this generation), bytes and "
      "addresses are the simulated allocator's, exact.</p>\n{}",
      title, escape_markup(report.machine), report.objective == Objective::device ? "device" : "end-to-end",
      facts_html(report));
  if (!report.pins.empty())
    page += fmt::format("<p class=\"dim\">pinned: {}</p>\n",
                        escape_markup(fmt::format("{}", fmt::join(report.pins, ", "))));
  if (report.pass_images != report.batch)
    page += fmt::format(
        "<p class=\"dim\">The batch goes through the card in {} of {} images; times are those of one "
        "pass.</p>\n",
        counted(report.passes, "pass"), report.pass_images);
  if (report.grouped_images > 1)
    page += fmt::format(
        "<p class=\"dim\">{} images of the batch lie side by side in channels, each a group of its "
        "own.</p>\n",
        report.grouped_images);
  if (!report.folded_inputs.empty())
    page += fmt::format("<p class=\"dim\">The host hands the image over folded for: {}.</p>\n",
                        escape_markup(fmt::format("{}", fmt::join(report.folded_inputs, ", "))));
  page +=
      "<nav aria-label=\"Sections\"><a href=\"#help\">What would help</a> <a href=\"#time\">Time</a> <a "
      "href=\"#network\">Network and cores</a> <a href=\"#memory\">L1</a> <a href=\"#steps\">Steps</a> <a "
      "href=\"#roof\">Roofline</a> <a href=\"#others\">Refused</a></nav>\n</header>\n<main>\n";
  page +=
      section("help", "What would help next",
              "Computed from this plan. A gain is the most that could be saved if that one thing cost nothing or no "
              "longer than what it overlaps with; gains do not add up.",
              advice_html(report));
  page += section("time", "Where the time goes",
                  "Both bars are to one scale. Point at a piece for its numbers, click it for the step.",
                  bound_keys(report) + plan_time_html(report));
  page += section(
      "network", "The network and the cores",
      "In the order it runs; lines are values, in the colour of where they lie. Select a step with a click or the "
      "arrow keys.",
      network_html(report));
  page += section(
      "memory", "L1 over the network's life",
      "One core, by address: circular buffers stand on the floor, tensors hang from the limit. All cores give out "
      "L1 in lock step. A column is a program; click one for its step.",
      l1_html(report));
  page += section("steps", "Steps",
                  "Press a heading to sort. Times are of kernels alone; the share is of all kernels and moves.",
                  StepRows(report).html());
  const std::string roof = plan_roofline_svg(report);
  page += section(
      "roof", "Roofline",
      roof.empty() ? "No step has multiplications that could be drawn."
                   : "Steps with products only; larger circles take more of the time. Bytes are the least that have "
                     "to pass DRAM: weights, and operands and results that lie there. Peaks are the card's at each "
                     "fidelity, all cores.",
      roof.empty()
          ? ""
          : bound_keys(report) +
                "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Roofline, scrolls sideways\">" +
                roof + "</div>\n");
  page += section("others", "What else was weighed",
                  fmt::format("For each step the ways that could run, with moves and gaps, fastest first, then those "
                              "refused; at most {} of "
                              "each, all of them in the JSON report.",
                              kAlternativesInPage),
                  alternatives_html(report));
  page += fmt::format("</main>\n<footer class=\"dim\">network {}, machine {}; report schema {}</footer>\n",
                      escape_markup(report.network_digest), escape_markup(report.machine_digest), PlanReport::kSchema);
  page += fmt::format(
      "<script type=\"application/json\" id=\"report\">{}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
      plan_report_data(report, false), kPlanPageJs);
  return page;
}

}  // namespace tessera::tensix
