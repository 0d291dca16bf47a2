#pragma once

// tessera compare MODEL --device NAME: what a card's arithmetic costs in accuracy, for every choice of types.

#include "command.h"
#include "model_argument.h"

#include <string>
#include <vector>

namespace tessera::cli {

struct DeviceArgument {
  std::string device;
  std::vector<std::string> types, fidelities, accumulations;  // empty: all
  std::string statistics = "trained";
};

// --device, --types, --fidelity, --accumulate, --statistics.
void add_device_argument(CLI::App& command, DeviceArgument& argument);

void compare_device(const ModelArgument& model, const DeviceArgument& device, int threads, const Context& context);

}  // namespace tessera::cli
