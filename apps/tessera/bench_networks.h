#pragma once

#include "command.h"

#include <string>

namespace tessera::cli {

// Device times of networks whose layers come with their configurations, against what was published of them.
void bench_networks(const std::string& file, const Context& context);

}  // namespace tessera::cli
