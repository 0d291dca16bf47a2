#pragma once

// The parts of an emitted TTNN script that are the same for every network.

#include <string_view>

namespace tessera::tensix {

extern const std::string_view kTtnnHead;  // imports and helpers
extern const std::string_view kTtnnTail;  // main()

}  // namespace tessera::tensix
