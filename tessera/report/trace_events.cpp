#include "tessera/report/trace_events.h"

#include <nlohmann/json.hpp>

namespace tessera {

std::string trace_event_json(std::string_view title, std::string_view kind, std::span<const TraceEvent> events) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  std::map<std::string, int> lanes;
  list.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", title}}}});
  for (const TraceEvent& event : events) {
    const auto [lane, fresh] = lanes.try_emplace(event.lane, static_cast<int>(lanes.size()) + 1);
    if (fresh)
      list.push_back(
          {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", lane->second}, {"args", {{"name", event.lane}}}});
    Json json{{"name", event.name},   {"cat", event.category},    {"ph", "X"},
              {"ts", event.begin_us}, {"dur", event.duration_us}, {"pid", 1},
              {"tid", lane->second}};
    for (const auto& [key, value] : event.details) json["args"][key] = value;
    list.push_back(std::move(json));
  }
  return Json{{"displayTimeUnit", "ms"}, {"otherData", {{"times", kind}}}, {"traceEvents", std::move(list)}}.dump(1) +
         "\n";
}

}  // namespace tessera
