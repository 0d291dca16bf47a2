#pragma once

#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// What one step of a run did. All times are measured.
struct ProfiledStep {
  enum class Kind : std::uint8_t {
    kernel,
    definition,  // plain loops: no fast kernel takes the node
    conversion,  // from one order of axes to another
    view,        // the bytes of an input: nothing is run
    unplanned,   // the shape of its result depends on values: runs outside of the plan
  };
  Kind kind = Kind::kernel;
  std::string name;                       // "conv1 (Conv)"
  std::string node;                       // empty for a conversion between orders
  std::string op;                         // "Conv+relu"
  std::string kernel;                     // "conv2d_f32_6x64_avx512"
  std::string shape;                      // of the first output
  bool in_place = false;                  // what it would copy lies there already: nothing is run
  double seconds = 0;                     // median over the runs
  std::int64_t begin_ns = 0, end_ns = 0;  // in the last run, from its start
  Work work;
};
struct SessionProfile {
  std::vector<ProfiledStep> steps;
  double seconds = 0;      // of a whole run, median
  double min_seconds = 0;  // the fastest
  int runs = 0;
};

}  // namespace tessera
