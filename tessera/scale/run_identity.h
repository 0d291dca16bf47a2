#pragma once

// What makes a run over many samples the same as another: all that can change a byte of what it computes.

#include "tessera/core/export.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

class Array;
class Session;
struct Graph;

struct RunDescription {
  std::string version, model;  // as it was named
  std::span<const std::byte> file =
      {};                  // the model's own, or the one its layer is read from; empty: made from its name
  std::int64_t chunk = 1;  // samples at a time
};

// A line for each thing, for people too: a run that is refused shows the lines that differ. `graph` is the network as
// it was read, with the weights of whatever files it keeps them in; kernels are those that the session has chosen.
TSR_API std::string run_identity(const RunDescription& run, const Graph& graph, const Session& session,
                                 const std::vector<Array>& samples);

}  // namespace tessera
