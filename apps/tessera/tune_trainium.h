#pragma once

#include "command.h"

namespace tessera::cli {

// tessera tune trainium-conv2d.
void add_tune_trainium(CLI::App& tune_command, const Context& context);

}  // namespace tessera::cli
