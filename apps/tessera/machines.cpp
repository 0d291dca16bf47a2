// tessera machines: what can be planned for, and every number known about it.

#include "command.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::cli {
namespace {

Cell bytes_cell(const std::optional<std::int64_t>& bytes) {
  return bytes ? Cell(*bytes, format_bytes(static_cast<double>(*bytes))) : Cell();
}

void list(const Context& context) {
  Table table({{.name = "name"},
               {.name = "machine", .key = "title"},
               {.name = "family"},
               {.name = "cores", .align = Align::right},
               {.name = "on chip", .key = "on_chip_bytes", .align = Align::right},
               {.name = "DRAM", .key = "dram_bytes", .align = Align::right},
               {.name = "peak", .key = "peak_flop_per_s", .align = Align::right},
               {.name = "peak of", .key = "peak_of"}});
  for (const std::string& name : machine_names()) {
    const Machine machine = load_machine(name);
    const MachineSummary summary = summarize(machine);
    table.add_row({machine.name, machine.title, machine.family, summary.cores, bytes_cell(summary.on_chip_bytes),
                   bytes_cell(summary.dram_bytes),
                   Cell(summary.peak_flop_per_s, format_flop_rate(summary.peak_flop_per_s)), summary.peak_of});
  }
  context.print(table);
}

Cell value_cell(const Figure& figure) {
  return std::visit(
      [&](const auto& value) -> Cell {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool>) {
          const bool list = std::is_same_v<T, std::string> && !figure.unit.empty();
          return list ? Cell(value, fmt::format("{} {}", value, figure.unit)) : Cell(value);
        } else {
          const auto number = static_cast<double>(value);
          std::string shown = format_quantity(number, figure.unit);
          // Sizes decide whether something fits, so they are shown to the byte.
          if constexpr (std::is_same_v<T, std::int64_t>)
            if (figure.unit == "B" && value >= 1024) shown = fmt::format("{} B ({})", format_count(value), shown);
          return Cell(value, std::move(shown));
        }
      },
      figure.value);
}

// For reading by people: a section for each group, sources as numbers that the end explains.
std::string show_text(const Machine& machine) {
  std::string text = fmt::format("{}: {} ({})\n", machine.name, machine.title, machine.family);
  std::vector<std::string> sources;
  for (std::size_t first = 0; first < machine.figures.size();) {
    const std::string& group = machine.figures[first].group;
    Table table({{.name = group}, {.name = "value"}, {.name = "kind"}, {.name = "source"}, {.name = "note"}});
    for (; first < machine.figures.size() && machine.figures[first].group == group; ++first) {
      const Figure& figure = machine.figures[first];
      auto place = std::find(sources.begin(), sources.end(), figure.source);
      if (place == sources.end()) place = sources.insert(place, figure.source);
      table.add_row({figure.key, value_cell(figure), name(figure.kind),
                     fmt::format("[{}]", place - sources.begin() + 1), Cell(figure.note, figure.note)});
    }
    text += "\n" + render_text(table);
  }
  text += "\nsources\n-------\n";
  for (std::size_t i = 0; i < sources.size(); ++i) text += fmt::format("[{}] {}\n", i + 1, sources[i]);
  return text;
}

void show(const std::string& name_or_path, const Context& context) {
  const Machine machine = load_machine(name_or_path);
  if (context.format == Format::table) return context.print(show_text(machine));
  Table table({{.name = "machine"},
               {.name = "group"},
               {.name = "key"},
               {.name = "value"},
               {.name = "unit"},
               {.name = "kind"},
               {.name = "source"},
               {.name = "note"}});
  // The heading of the column has no unit, so Markdown shows the quantity and the unit stays for the other forms.
  for (const Figure& figure : machine.figures)
    table.add_row({machine.name, figure.group, figure.key, value_cell(figure), figure.unit, name(figure.kind),
                   figure.source, figure.note});
  context.print(table);
}

}  // namespace

void add_machines(CLI::App& app, const Context& context) {
  CLI::App* machines = app.add_subcommand("machines", "List the machines; `machines show NAME` prints one of them");
  CLI::App* one = machines->add_subcommand("show", "Print every number of a machine with its unit, kind and source");
  // CLI11 writes into it while parsing, so it has to outlive this function.
  auto name = std::make_shared<std::string>();
  one->add_option("NAME", *name, "A name that `tessera machines` lists, or the path of a machine file")->required();
  one->callback([name, &context] { show(*name, context); });
  machines->callback([machines, &context] {
    if (machines->get_subcommands().empty()) list(context);
  });
}

}  // namespace tessera::cli
