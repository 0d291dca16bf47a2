// tessera bench timing --layers: networks with published configurations and times, priced program by program.

#include "bench.h"

#include "tessera/report/table_rows.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/views/published_networks.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace tessera::cli {

void bench_networks(const std::string& path, const Context& context) {
  Table table({{.name = "network"},
               {.name = "layer"},
               {.name = "program"},
               {.name = "cores", .align = Align::right},
               {.name = "time", .key = "kernel_ns", .align = Align::right},
               {.name = "share", .align = Align::right},
               {.name = "bound by", .key = "bound_by"},
               {.name = "of roof", .key = "roof_fraction", .align = Align::right},
               {.name = "basis"}});
  Table sums({{.name = "network"},
              {.name = "images", .align = Align::right},
              {.name = "programs", .align = Align::right},
              {.name = "device time", .key = "kernel_ns", .align = Align::right},
              {.name = "published", .key = "published_ns", .align = Align::right},
              {.name = "error", .align = Align::right},
              {.name = "images/s", .key = "images_per_s", .align = Align::right},
              {.name = "published", .key = "published_images_per_s", .align = Align::right},
              {.name = "with gaps", .key = "with_gaps_ns", .align = Align::right},
              {.name = "planned", .key = "planned_kernel_ns", .align = Align::right},
              {.name = "with gaps", .key = "planned_with_gaps_ns", .align = Align::right},
              {.name = "reshards", .align = Align::right},
              {.name = "planned", .key = "planned_reshards", .align = Align::right},
              {.name = "basis"}});
  nlohmann::ordered_json out;
  out["schema"] = 1;
  const auto percent = [](double share) { return Cell(share, fmt::format("{:.1f}%", 100 * share)); };
  for (const tensix::PublishedNetwork& network : tensix::price_published_networks(path)) {
    const double total = network.kernels_ns, count = network.images, rate = network.published_images_per_s;
    const std::string_view mark = network.basis == tensix::TimeBasis::fitted ? "" : " ~";
    for (const tensix::PublishedProgram& p : network.programs)
      table.add_row({network.title, p.layer, p.op, p.cores,
                     Cell(p.time.ns, format_time(p.time.ns) + (p.time.fitted() ? "" : " ~")),
                     percent(p.time.ns / total), name(p.time.bound_by), percent(p.time.roof_fraction()),
                     name(p.time.basis)});
    const double published = count / rate * 1e9;
    const auto& planned = network.planned;
    sums.add_row({network.title, count, network.programs.size(),
                  Cell(total, fmt::format("{}{}", format_time(total), mark)), Cell(published, format_time(published)),
                  Cell(total / published - 1, fmt::format("{:+.1f}%", 100 * (total / published - 1))),
                  Cell(count / total * 1e9, fmt::format("{:.0f}", count / total * 1e9)),
                  Cell(rate, fmt::format("{:.0f}", rate)),
                  Cell(network.with_gaps_ns, format_time(network.with_gaps_ns)),
                  planned ? Cell(planned->kernels_ns, format_time(planned->kernels_ns)) : Cell(),
                  planned ? Cell(planned->with_gaps_ns, format_time(planned->with_gaps_ns)) : Cell(),
                  std::ranges::count(network.programs, "reshard", &tensix::PublishedProgram::op),
                  planned ? Cell(planned->reshards) : Cell(), name(network.basis)});
  }
  if (context.format == Format::json) {
    out["networks"] = table_rows<nlohmann::ordered_json>(sums);
    out["rows"] = table_rows<nlohmann::ordered_json>(table);
    return context.print(out.dump(1) + "\n");
  }
  context.print(table);
  if (context.format == Format::csv) return;
  context.print("\n");
  context.print(sums);
  if (!context.quiet)
    context.print(
        "\nDevice time is the sum of kernel times, as published; with gaps, the pauses between programs of a replayed "
        "trace are added. 'Planned' are the same networks of the zoo, planned by `tessera plan`. Networks are a check: "
        "no price was fitted to them. ~ marks times that rest in part on prices not measured on this generation of "
        "cards.\n");
}

}  // namespace tessera::cli
