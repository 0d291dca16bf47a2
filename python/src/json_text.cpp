#include "json_text.h"

#include "ttnn_enums.h"

#include <fmt/format.h>

namespace tessera::python {

std::string json_text(const tensix::CoreCoord& core) { return fmt::format(R"({{"x":{},"y":{}}})", core.x, core.y); }

std::string json_text(const tensix::CoreRange& range) {
  return fmt::format(R"({{"end":{},"start":{}}})", json_text(range.end), json_text(range.start));
}

std::string json_text(const tensix::CoreRangeSet& set) {
  std::string text = "[";
  for (const tensix::CoreRange& range : set.ranges()) text.append(text.size() > 1 ? "," : "").append(json_text(range));
  return text + "]";
}

std::string json_text(const tensix::ShardSpec& spec) {
  return fmt::format(R"({{"grid":{},"orientation":{},"shape":[{},{}]}})", json_text(spec.grid),
                     static_cast<int>(spec.orientation), spec.shape.height, spec.shape.width);
}

std::string json_text(const tensix::MemoryConfig& config) {
  return fmt::format(
      R"({{"buffer_type":{},"created_with_nd_shard_spec":{},"memory_layout":{},"per_core_allocation":false{}}})",
      static_cast<int>(to_python(config.buffer_type())), config.created_with_nd_shard_spec(),
      static_cast<int>(to_python(config.layout())),
      config.shard_spec() ? R"(,"shard_spec":)" + json_text(*config.shard_spec()) : "");
}

}  // namespace tessera::python
