#include "tessera/report/timeline_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace tessera {

std::vector<TraceEvent> timeline_events(const sim::Timeline& timeline, const sim::Schedule& schedule) {
  std::vector<bool> critical(schedule.tasks.size());
  for (const sim::TaskId id : critical_path(schedule)) critical[index(id)] = true;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < schedule.tasks.size(); ++i)
    if (timeline.tasks()[i].resource != sim::ResourceId::none) order.push_back(i);
  const auto key = [&](std::uint32_t i) {
    const sim::Span& span = schedule.tasks[i];
    return std::tuple(timeline.tasks()[i].resource, span.server, span.start_ps, i);
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  std::vector<TraceEvent> events;
  events.reserve(order.size());
  for (const std::uint32_t i : order) {
    const sim::Timeline::Resource& resource = timeline.resource(timeline.tasks()[i].resource);
    const sim::Span& span = schedule.tasks[i];
    TraceEvent event{.name = timeline.label(static_cast<sim::TaskId>(i)),
                     .category = critical[i] ? "critical" : "task",
                     .lane = resource.servers == 1 ? resource.name : fmt::format("{} {}", resource.name, span.server),
                     .begin_us = sim::ns_of(span.start_ps) * 1e-3,
                     .duration_us = sim::ns_of(span.end_ps - span.start_ps) * 1e-3,
                     .details = {}};
    if (span.wait != sim::Wait::none) event.details["waited for"] = name(span.wait);
    if (span.because != sim::TaskId::none) event.details["started after"] = timeline.label(span.because);
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace tessera
