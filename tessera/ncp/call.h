#pragma once

// A layer called with arrays, in every form that upstream takes: with or without a batch, batch or time first,
// timespans as a number or one for each step.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/ncp/parameters.h"
#include "tessera/ncp/runner.h"

#include <cstdint>
#include <optional>

namespace tessera::ncp {

struct CallArguments {
  Array input{};                     // [batch, steps, inputs], [steps, batch, inputs], or [steps, inputs]
  std::optional<Array> state{};      // [batch, units], or [units] without a batch; none: zeros
  std::optional<Array> memory{};     // of mixed memory, likewise
  std::optional<Array> timespans{};  // a number, or the input's shape with no last extent, or 1 or units
  std::optional<std::uint64_t> dropout_seed{};
  KeepStates keep = KeepStates::no;
};

// Of the input's rank.
struct CallResult {
  Array output{};
  Array state{};
  std::optional<Array> memory{};
  std::optional<Array> states{};
};

// Arrays of any floating type; results are float32.
TSR_API CallResult call(const Runner& runner, const CallArguments& arguments);

// Gradients of a number whose gradients by the results of the call are given; none by the state or memory: zeros.
struct OutputGradients {
  Array output{};
  std::optional<Array> state{};
  std::optional<Array> memory{};
};
// Of the shapes of what the call was given; frozen parameters have zeros.
struct CallGradients {
  ParameterSet<float> parameters{};
  Array input{};
  Array state{};
  std::optional<Array> memory{};
};
TSR_API CallGradients differentiate(const Layer& layer, const ParameterSet<float>& parameters,
                                    const CallArguments& arguments, const OutputGradients& gradients);

}  // namespace tessera::ncp
