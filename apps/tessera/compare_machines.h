#pragma once

// tessera compare MODEL --devices: one network on several machines.

#include "command.h"
#include "model_argument.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::cli {

struct MachinesArgument {
  std::vector<std::string> devices;  // "all" among them: every one there is
  double budget_s = 60;
  std::vector<std::string> prices;
  std::filesystem::path page;
};

void add_machines_options(CLI::App& command, MachinesArgument& argument);
void compare_on_machines(const ModelArgument& model, const MachinesArgument& argument, const Context& context);

}  // namespace tessera::cli
