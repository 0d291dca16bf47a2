#pragma once

// A run as trace events, which Perfetto and Chrome's about:tracing open.

#include "tessera/core/export.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

struct TraceEvent {
  std::string name;
  std::string category;
  std::string lane;  // a row of the picture
  double begin_us = 0;
  double duration_us = 0;
  std::map<std::string, std::string> details;
};

// `kind` says what the times are: "measured" or "simulated".
TSR_API std::string trace_event_json(std::string_view title, std::string_view kind, std::span<const TraceEvent> events);

}  // namespace tessera
