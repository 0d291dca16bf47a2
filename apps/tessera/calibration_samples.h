#pragma once

// Samples that ranges of a network's values are taken from: arrays, pictures, or random numbers.

#include "command.h"
#include "model_argument.h"

#include "tessera/core/array.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::cli {

struct CalibrationArgument {
  std::vector<std::string> inputs;
  std::int64_t samples = 0;  // at most so many, or so many random ones
  std::string preprocess;
};

// --calibration, --samples, --preprocess.
void add_calibration_argument(CLI::App& command, CalibrationArgument& argument);

struct CalibrationSamples {
  std::vector<std::vector<Array>> runs;  // each with the inputs of one run, in order
  std::string description;               // "64 pictures"
  bool random = false;
};

CalibrationSamples calibration_samples(const Graph& graph, const ModelArgument& model,
                                       const CalibrationArgument& argument, const Context& context);

}  // namespace tessera::cli
