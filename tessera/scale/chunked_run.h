#pragma once

// A network over many samples, a fixed number at a time, by all ranks together. What a chunk comes to does not depend
// on who computed it, so the outputs are the same bits for any number of ranks.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"
#include "tessera/scale/communicator.h"
#include "tessera/session/session.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

struct ChunkedRunOptions {
  std::int64_t chunk = 1;  // samples at a time: the first extent of the session's inputs
  // Where rank 0 keeps what is done until all of it is; empty: nowhere.
  std::filesystem::path parts = {};
  bool resume = false;  // go on from what is there; otherwise parts that are there are an Error
  std::string identity =
      {};  // all that can change a byte of the outputs (run_identity.h): parts of another are refused
};

struct ChunkedRunReport {
  std::int64_t samples = 0, chunks = 0, resumed_chunks = 0;
  double seconds = 0;                     // from the first chunk to the last result
  std::vector<double> busy_seconds;       // of each rank, computing
  std::vector<std::int64_t> rank_chunks;  // how many each computed
};

struct ChunkedRun {
  std::vector<Array> outputs;  // [samples, ...] each; on rank 0 alone
  ChunkedRunReport report;     // on rank 0 alone
};

// All ranks call it. Rank 0 has the inputs, [samples, ...] each in the session's order, hands out chunks, computes
// beside that, and gets the outputs; the last chunk is filled up with copies of the last sample, whose results are
// dropped. A rank that fails ends all of them, each with an Error that names it and the cause. `progress` hears of
// samples done, on rank 0.
TSR_API ChunkedRun run_chunks(Communicator& world, const Session& session, const std::vector<Array>& inputs,
                              const ChunkedRunOptions& options, FunctionRef<void(std::int64_t)> progress);

}  // namespace tessera
