#pragma once

// How many threads a rank gets of the CPUs that it may use together with others.

#include "tessera/core/export.h"
#include "tessera/scale/communicator.h"

#include <string>
#include <vector>

namespace tessera {

struct RankCpus {
  std::string host;
  std::vector<int> cpus;  // its affinity mask
};

// A CPU that several ranks of a host may use counts in equal parts for each; at least 1.
TSR_API int share_of_cpus(const std::vector<RankCpus>& ranks, int rank);

// Of this rank: its share of CPUs, less where a quota allows less. All ranks call it.
TSR_API int share_of_threads(Communicator& world);

}  // namespace tessera
