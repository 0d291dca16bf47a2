#pragma once

// The convolution that `tessera trainium conv2d` and `tessera tune trainium-conv2d` speak of.

#include "command.h"

#include "tessera/targets/neuron/kernels/conv2d.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace tessera::cli {

struct TrainiumArgument {
  std::string device = "trainium2", in = "1x256x224x224", dtype = "f32";
  std::int64_t out_channels = 256, kernel = 3, pool = 1;

  void add_to(CLI::App& command);
  neuron::ConvProblem problem() const;
};

// tessera tune trainium-conv2d.
void add_tune_trainium(CLI::App& tune_command, const Context& context);

}  // namespace tessera::cli
