#pragma once

// What an instruction costs: functions of access patterns and of the machine's constants, nothing else.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/neuron/core/engine.h"
#include "tessera/targets/neuron/core/view.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::neuron {

// An engine is taken for `busy_ns`; what it wrote is there `latency_ns` after that. Latencies of one engine's
// instructions overlap.
struct Cost {
  double busy_ns = 0;
  double latency_ns = 0;
};

// A copy is cut into segments: runs that are contiguous on both sides, or rows of separate elements where neighbours
// are apart. Each DMA engine moves the segments of its own partitions, one after the other. A copy of rows, one run of
// 256 bytes or more for each partition, is one descriptor for each engine, and is issued faster.
struct DmaCost {
  bool rows = false;
  double issue_ns = 0;
  std::int64_t segments_per_partition = 0;
  std::int64_t segment_elements = 0;
  std::int64_t segment_bytes = 0;
  bool separate_elements = false;
  bool turned = false;  // partitions and free dimensions change places
  double segment_ns = 0;
  std::vector<double> engine_ns;  // by engine; 0: not used
};

TSR_API DmaCost dma_cost(const NeuronSpec& spec, const View& dst, const View& src);
TSR_API Cost matmul_cost(const NeuronSpec& spec, const View& stationary, const View& moving);
TSR_API Cost transpose_cost(const NeuronSpec& spec, Engine engine, const View& src);
// Any other instruction: one pass over `inputs` (one or two) and `dst`.
TSR_API Cost pass_cost(const NeuronSpec& spec, Engine engine, const View& dst, std::span<const View> inputs);

}  // namespace tessera::neuron
