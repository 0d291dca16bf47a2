#include "tessera/report/machine_comparison.h"
#include "tessera/report/markup.h"
#include "tessera/report/plain_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// Bars begin a decade below the slowest machine, so that it has one, too.
struct Scale {
  double least = 1, most = 10;  // frames per second

  double percent(double rate) const { return 100 * std::log(std::max(rate, least) / least) / std::log(most / least); }
};

Scale scale_of(std::span<const MachineRow> rows) {
  double least = HUGE_VAL, most = 0;
  for (const MachineRow& row : rows) {
    if (!row.refusal.empty() || row.frames_per_s() <= 0) continue;
    least = std::min(least, row.frames_per_s());
    most = std::max(most, row.frames_per_s());
  }
  if (most == 0) return {};
  return {std::pow(10, std::floor(std::log10(least)) - 1), std::pow(10, std::ceil(std::log10(most)))};
}

std::string_view look_of(std::string_view basis) {
  if (basis == "measured") return "measured";
  return basis == "fitted" ? "fitted" : basis == "scaled" ? "scaled" : "guessed";
}

std::string bar(const MachineRow& row, const Scale& scale) {
  const std::string name =
      fmt::format("<b>{}</b><span>{}</span>", escape_markup(row.machine), escape_markup(row.title));
  if (!row.refusal.empty())
    return fmt::format("<div class=\"row\"><div class=\"name\">{}</div><div class=\"no\">{}</div></div>\n", name,
                       escape_markup(row.refusal));
  return fmt::format(
      "<div class=\"row\"><div class=\"name\">{}</div><div class=\"track\"><i class=\"{}\" "
      "style=\"width:{:.1f}%\"></i></div>"
      "<div class=\"rate\">{:.4g} frames/s<span>{}, bound by {}</span></div></div>\n",
      name, look_of(row.basis), scale.percent(row.frames_per_s()), row.frames_per_s(), escape_markup(row.basis),
      escape_markup(row.bound));
}

constexpr std::string_view kStyle =
    ".row{display:grid;grid-template-columns:minmax(130px,22%) 1fr minmax(120px,20%);gap:10px;align-items:center;"
    "margin:6px 0}.name span,.rate span{display:block;font-size:12px;opacity:.7}.no{grid-column:2/4;opacity:.75}"
    ".track{height:20px;background:#8881}.track i{display:block;height:100%}"
    ".measured{background:#1a7f37}.fitted{background:#0969da}"
    ".scaled{background:repeating-linear-gradient(135deg,#0969da 0 8px,#0969da88 8px 12px)}"
    ".guessed{background:repeating-linear-gradient(135deg,#bc4c00 0 4px,#bc4c0044 4px 10px)}"
    ".key i{display:inline-block;width:22px;height:12px;margin:0 4px 0 14px}"
    "@media(max-width:640px){.row{grid-template-columns:1fr 1fr;gap:2px 8px}.track{grid-column:1/3;order:3}"
    ".no{grid-column:1/3}}";

}  // namespace

std::string machine_page(const std::string& model, std::span<const MachineRow> rows) {
  const Scale scale = scale_of(rows);
  std::string body = "<p>Frames a second on each machine, without the host. The scale is logarithmic.</p>\n";
  body +=
      "<p class=\"key\"><i class=\"measured\"></i>measured<i class=\"fitted\"></i>fitted to measured times"
      "<i class=\"scaled\"></i>carried over from a relative<i class=\"guessed\"></i>assumed, or a bound</p>\n";
  for (const MachineRow& row : rows) body += bar(row, scale);
  body += fmt::format("<p>From {:g} to {:g} frames a second.</p>\n", scale.least, scale.most);
  body += "<h2>Figures</h2>\n<div class=\"wide\">" + table_html(machine_table(rows)) + "</div>\n";
  return plain_page(fmt::format("{} on {} machines", model, rows.size()), body, kStyle);
}

}  // namespace tessera
