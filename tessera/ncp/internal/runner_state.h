#pragma once

#include "tessera/ncp/internal/packed_cfc.h"
#include "tessera/ncp/internal/packed_ltc.h"
#include "tessera/ncp/runner.h"

#include <optional>
#include <string>

namespace tessera::ncp {

struct Runner::State {
  Layer layer;
  ParameterSet<float> parameters;
  std::optional<PackedCfc> cfc;
  std::optional<PackedLtc> ltc;
  std::string kernel = "reference";
};

}  // namespace tessera::ncp
