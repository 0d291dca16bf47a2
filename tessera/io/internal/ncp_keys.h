#pragma once

#include <string_view>

namespace tessera::internal {

// Under which files of parameters describe their layer.
constexpr std::string_view kNcpLayerKey = "tessera.ncp.layer";

}  // namespace tessera::internal
