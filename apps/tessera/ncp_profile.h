#pragma once

#include "command.h"

namespace tessera::cli {

// `tessera ncp devices|profile|validate|lint`: liquid networks held against device profiles.
void add_ncp_profile(CLI::App& ncp, const Context& context);

}  // namespace tessera::cli
