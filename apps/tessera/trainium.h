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

// A column of numbers, and microseconds with as many digits as say something.
Column number(std::string name, std::string key, std::string unit = "");
Cell micros(double us);

// tessera trainium conv2d --check.
struct CheckRequest {
  std::string step;
  std::int64_t every = 1;  // row of the output is compared
};
void print_trainium_check(const NeuronSpec& spec, const CheckRequest& request, const Context& context);

// tessera trainium run and explain.
void add_trainium_scripts(CLI::App& trainium, const Context& context);

// tessera tune trainium-conv2d.
void add_tune_trainium(CLI::App& tune_command, const Context& context);

}  // namespace tessera::cli
