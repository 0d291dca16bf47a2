#pragma once

// What a run did, measured or simulated: a timeline that every view reads.

#include "tessera/core/array.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tessera {

// `done` of `all`, and at what.
using OnProgress = std::function<void(std::size_t done, std::size_t all, const std::string& what)>;

struct RunStep {
  std::string node, op, config;
  double begin_s = 0, end_s = 0;
};

struct RunTrace {
  bool measured = false;  // otherwise simulated
  std::vector<RunStep> steps = {};
  double seconds = 0;  // from the first step to the last
};

struct RunResult {
  std::vector<Array> outputs;
  RunTrace trace = {};
};

}  // namespace tessera
