#include "tessera/targets/neuron/views/kernel_report.h"

#include "tessera/core/file.h"
#include "tessera/report/markup.h"
#include "tessera/report/plain_page.h"
#include "tessera/report/table_rows.h"
#include "tessera/report/timeline_events.h"
#include "tessera/report/timeline_picture.h"
#include "tessera/report/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace tessera::neuron {
namespace {

Column number(std::string name, std::string key, std::string unit = "") {
  return {std::move(name), std::move(key), std::move(unit), Align::right};
}

Cell micros(double ns) { return Cell(ns / 1000, fmt::format("{:.2f}", ns / 1000)); }
Cell megabytes(std::int64_t bytes) { return Cell(bytes, fmt::format("{:.2f}", static_cast<double>(bytes) / 1e6)); }
Cell percent(double share) { return Cell(share, fmt::format("{:.1f} %", 100 * share)); }

// People know the folder that they are in.
std::string short_line(const std::string& line) { return std::filesystem::path(line).filename().string(); }

Table chain_table(const LongestChain& chain, std::size_t links) {
  Table table({{.name = "line"},
               {.name = "op"},
               {.name = "engine"},
               number("on the chain", "chain_us", "us"),
               number("share", "chain_fraction"),
               number("times", "times"),
               number("from", "first_us", "us"),
               number("to", "last_us", "us")});
  for (std::size_t i = 0; i < chain.links.size() && (links == 0 || i < links); ++i) {
    const ChainLink& each = chain.links[i];
    table.add_row({Cell(each.line, short_line(each.line)), each.op, each.engine, micros(each.ns),
                   percent(chain.ns > 0 ? each.ns / chain.ns : 0), each.times, micros(each.first_ns),
                   micros(each.last_ns)});
  }
  return table;
}

Table tensor_table(const std::vector<TensorTraffic>& tensors) {
  Table table({{.name = "tensor"},
               number("size", "bytes", "MB"),
               number("loads", "loads"),
               number("loaded", "loaded_bytes", "MB"),
               number("of that different", "distinct_bytes", "MB"),
               number("stores", "stores"),
               number("stored", "stored_bytes", "MB")});
  for (const TensorTraffic& each : tensors)
    table.add_row({each.name, megabytes(each.bytes), each.loads, megabytes(each.loaded_bytes),
                   megabytes(each.distinct_bytes), each.stores, megabytes(each.stored_bytes)});
  return table;
}

Table advice_table(const std::vector<KernelAdvice>& advice) {
  Table table({{.name = "what would help", .key = "what"}, {.name = "why"}});
  for (const KernelAdvice& each : advice) table.add_row({each.what, each.why});
  return table;
}

std::string bound_text(const KernelReport& r) {
  std::string out =
      fmt::format("{:.2f} us, of which {:.2f} us start the kernel. The longest chain:", r.profile.total_us(),
                  (r.profile.total_ns - r.chain.ns) / 1000);
  for (const ChainShare& each : r.chain.engines)
    if (each.ns >= 0.01 * r.chain.ns) out += fmt::format(" {} {:.0f} %,", each.engine, 100 * each.ns / r.chain.ns);
  out.back() = '.';
  return out;
}

}  // namespace

KernelReport kernel_report(const Kernel& kernel, std::string title) {
  KernelReport out;
  out.title = std::move(title);
  out.profile = kernel.profile();
  out.chain = longest_chain(kernel, kernel.schedule());
  for (const TensorTraffic& each : kernel.traffic())
    if (each.loads + each.stores > 0) out.tensors.push_back(each);
  out.advice = kernel_advice(out.profile, out.chain, out.tensors);
  return out;
}

Table profile_table(const KernelReport& report) {
  Table table({{.name = "key"}, number("value", "value")});
  for (const auto& [key, value] : summary(report.profile))
    table.add_row({key, Cell(value, fmt::format("{:.6g}", value))});
  for (const auto& [key, value] : report.more) table.add_row({key, Cell(value, fmt::format("{:.6g}", value))});
  return table;
}

tessera::View explanation(const KernelReport& report, std::size_t links) {
  tessera::View view;
  view.parts.push_back(
      {.text = fmt::format("{}\n{}\n\n", report.title, bound_text(report)),
       .table = chain_table(report.chain, 0),
       .people = chain_table(report.chain, links),
       .after = links > 0 && report.chain.links.size() > links
                    ? fmt::format("and {} shorter ones; --format csv has all\n", report.chain.links.size() - links)
                    : ""});
  view.parts.push_back({.table = tensor_table(report.tensors)});
  view.parts.push_back({.table = advice_table(report.advice), .people = advice_table(report.advice)});
  nlohmann::ordered_json json = {{"schema", 1}, {"title", report.title}};
  json["total_us"] = report.profile.total_us();
  json["chain_us"] = report.chain.ns / 1000;
  json["engines"] = nlohmann::ordered_json::array();
  for (const ChainShare& each : report.chain.engines)
    json["engines"].push_back({{"engine", each.engine}, {"chain_us", each.ns / 1000}});
  json["rows"] = table_rows<nlohmann::ordered_json>(*view.parts[0].table);
  json["tensors"] = table_rows<nlohmann::ordered_json>(*view.parts[1].table);
  json["advice"] = table_rows<nlohmann::ordered_json>(*view.parts[2].table);
  view.json = json.dump(1) + "\n";
  return view;
}

std::string kernel_page(const Kernel& kernel, const KernelReport& report, double first_us) {
  const sim::Schedule schedule = kernel.schedule();
  const double all_us = schedule.end_ns() / 1000;
  std::string out = fmt::format("<p>{} Times are simulated.</p>\n", escape_markup(bound_text(report)));
  if (schedule.end_ps > 0) {
    out += fmt::format("<h2>Engines and DMA</h2><div class=\"wide\">{}</div>\n",
                       timeline_overview_svg(kernel.timeline(), schedule, "How busy each was, over the whole run"));
    const double us = std::min(first_us, all_us);
    out += fmt::format("<h2>The beginning</h2><div class=\"wide\">{}</div>\n",
                       timeline_svg(kernel.timeline(), schedule, us, fmt::format("The first {:.6g} us", us)));
  }
  if (!report.advice.empty()) out += "<h2>What would help</h2>\n" + table_html(advice_table(report.advice));
  out += "<h2>The longest chain</h2>\n" + table_html(chain_table(report.chain, 0));
  out += "<h2>Tensors in HBM</h2>\n" + table_html(tensor_table(report.tensors));
  out += "<h2>Profile</h2>\n" + table_html(profile_table(report));
  return plain_page(report.title, out);
}

void write_kernel_trace(const Kernel& kernel, std::string_view title, const std::filesystem::path& path) {
  write_file_atomically(path,
                        trace_event_json(title, "simulated", timeline_events(kernel.timeline(), kernel.schedule())));
}

void write_kernel_page(const Kernel& kernel, const KernelReport& report, const std::filesystem::path& path) {
  write_file_atomically(path, kernel_page(kernel, report));
}

}  // namespace tessera::neuron
