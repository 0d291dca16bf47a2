#pragma once

// Scripts that teach a shell to complete the command's words. What networks and machines there are they ask the command
// when they need it.

#include "option_table.h"

#include <string>
#include <vector>

namespace tessera::cli {

std::string bash_completion(const std::vector<CommandEntry>& table);
std::string zsh_completion(const std::vector<CommandEntry>& table);
std::string fish_completion(const std::vector<CommandEntry>& table);

}  // namespace tessera::cli
