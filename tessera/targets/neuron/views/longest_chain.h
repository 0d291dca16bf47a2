#pragma once

// Why a kernel takes as long as it does: the chain of instructions of which each one started when the one before had
// ended, from the first to the end of the kernel. Only what lies on it can make the kernel faster.

#include "tessera/core/export.h"
#include "tessera/targets/neuron/language/kernel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::neuron {

// What one engine did on the chain for one line of the kernel. Time that nobody's engine takes (a result on its way, a
// copy's last bytes) belongs to the line that waits for it, as "latency".
struct ChainLink {
  std::string line, op, engine;
  double ns = 0;
  std::int64_t times = 0;
  double first_ns = 0, last_ns = 0;  // when it is first on the chain, and when it last leaves it
};

struct ChainShare {
  std::string engine;
  double ns = 0;
};

struct LongestChain {
  double ns = 0;                    // all of it: the kernel's time but for its start
  std::vector<ChainLink> links;     // the longest first
  std::vector<ChainShare> engines;  // likewise; they add up to ns
};

TSR_API LongestChain longest_chain(const Kernel& kernel, const sim::Schedule& schedule);

}  // namespace tessera::neuron
