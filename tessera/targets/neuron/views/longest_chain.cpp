#include "tessera/targets/neuron/views/longest_chain.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera::neuron {

LongestChain longest_chain(const Kernel& kernel, const sim::Schedule& schedule) {
  const sim::Timeline& timeline = kernel.timeline();
  LongestChain out;
  out.ns = schedule.end_ns();
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, ChainLink> links;
  std::map<std::string_view, double> engines;
  for (const sim::TaskId id : critical_path(schedule)) {
    const double begin = schedule.start_ns(id), end = schedule.end_ns(id);
    if (end <= begin) continue;
    const sim::ResourceId resource = timeline.task(id).resource;
    std::string_view engine = "latency";
    if (resource != sim::ResourceId::none) engine = timeline.resource(resource).name;
    // Copies are dealt out to engines that do the same: which of them is the last one says nothing.
    const std::string_view shown = engine.starts_with("dma ") && engine != "dma queue" ? "dma" : engine;
    ChainLink& link = links[{kernel.line_of(id), timeline.label(id), shown}];
    if (link.times++ == 0) {
      link.line = kernel.line_of(id), link.op = timeline.label(id), link.engine = shown;
      link.first_ns = begin;
    }
    link.ns += end - begin;
    link.last_ns = end;
    engines[shown] += end - begin;
  }
  for (auto& [key, link] : links) out.links.push_back(std::move(link));
  for (const auto& [engine, ns] : engines) out.engines.push_back({std::string(engine), ns});
  const auto longer = [](const auto& a, const auto& b) { return a.ns > b.ns; };
  std::stable_sort(out.links.begin(), out.links.end(), longer);
  std::stable_sort(out.engines.begin(), out.engines.end(), longer);
  return out;
}

}  // namespace tessera::neuron
