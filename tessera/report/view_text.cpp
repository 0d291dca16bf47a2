#include "tessera/report/view_text.h"

namespace tessera {

std::string render(const View& view, Format format, bool quiet, std::optional<int> width) {
  if (format == Format::csv || format == Format::json) {
    const Table& table = view.parts.at(view.csv).table.value();
    return format == Format::csv || view.json.empty() ? render(table, format) : view.json;
  }
  std::string out;
  bool after_table = false;
  for (const View::Part& part : view.parts) {
    if (!quiet) out += part.text;
    const std::optional<Table>& table = part.people ? part.people : part.table;
    if (table && !(part.people && table->rows().empty())) {
      if (after_table) out += "\n";
      out += width && format == Format::table ? render_text(*table, *width) : render(*table, format);
      after_table = true;
    }
    if (!quiet) out += part.after;
  }
  return out;
}

}  // namespace tessera
