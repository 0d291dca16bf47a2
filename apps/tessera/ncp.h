#pragma once

// Subcommands of `tessera ncp` with files of their own.

#include "command.h"

namespace tessera::cli {

void add_ncp_train(CLI::App& ncp, const Context& context);
void add_ncp_eval(CLI::App& ncp, const Context& context);

}  // namespace tessera::cli
