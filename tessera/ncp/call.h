#pragma once

// A layer called with arrays, in every form that upstream takes: with or without a batch, batch or time first,
// timespans as a number or one for each step.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/ncp/runner.h"

#include <cstdint>
#include <optional>

namespace tessera::ncp {

struct CallArguments {
  Array input{};                     // [batch, steps, inputs], [steps, batch, inputs], or [steps, inputs]
  std::optional<Array> state{};      // [batch, units], or [units] without a batch; none: zeros
  std::optional<Array> memory{};     // of mixed memory, likewise
  std::optional<Array> timespans{};  // a number, or the input's shape without its last extent or with 1 as its last
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

}  // namespace tessera::ncp
