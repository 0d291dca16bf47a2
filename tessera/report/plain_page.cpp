#include "tessera/report/plain_page.h"

#include "tessera/report/markup.h"

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr std::string_view kStyle =
    "body{font:14px system-ui,sans-serif;margin:24px;color:#1f2328;background:#fff}h1{font-size:20px}h2{font-size:16px;"
    "margin-top:28px}table{border-collapse:collapse}th,td{border:1px solid #d0d7de;padding:3px 8px;text-align:left;"
    "vertical-align:top}.n{text-align:right;font-variant-numeric:tabular-nums}.wide{overflow-x:auto}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th,td{border-color:#30363d}}";

}  // namespace

std::string table_html(const Table& table) {
  std::string out = "<table><tr>";
  for (const Column& each : table.columns())
    out += fmt::format("<th>{}{}</th>", escape_markup(each.name),
                       each.unit.empty() ? "" : fmt::format(" [{}]", escape_markup(each.unit)));
  out += "</tr>\n";
  for (const std::vector<Cell>& row : table.rows()) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out += fmt::format("<td{}>{}</td>", table.columns()[i].align == Align::right ? " class=\"n\"" : "",
                         escape_markup(row[i].text()));
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

std::string plain_page(std::string_view title, std::string_view body, std::string_view style) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<title>{0}</title><style>{1}{2}</style></head>\n<body><h1>{0}</h1>\n{3}</body></html>\n",
      escape_markup(title), kStyle, style, body);
}

}  // namespace tessera
