#pragma once

// Networks as queues see them. Kernels take the published time of all of them together, spread evenly: what is tested
// is all that comes on top of them.

#include "tessera/fleet/data_parallel.h"
#include "tessera/machine/machine_file.h"

namespace tessera::for_tests {

struct PublishedNetwork {
  int calls, programs;
  double device_frames_per_s;
  std::int64_t frames;  // of a batch
  std::int64_t input_bytes, output_bytes;
};

inline fleet::Workload workload_of(const PublishedNetwork& n, int batches = 15) {
  const TensixSpec card = *load_machine("wormhole_n150").tensix;
  fleet::Workload out{.chip = {}, .frames = n.frames, .batches = batches};
  const double kernel_ns = static_cast<double>(n.frames) / n.device_frames_per_s * 1e9 / n.programs;
  for (int i = 0; i < n.calls; ++i) {
    const int programs = n.programs / n.calls + (i < n.programs % n.calls ? 1 : 0);
    out.chip.steps.push_back({.name = "op", .op = "op", .kernel_ns = kernel_ns * programs, .programs = programs});
  }
  out.chip.input_bytes = n.input_bytes;
  out.chip.output_bytes = n.output_bytes;
  out.chip.input_move_ns = tensix::dram_move_ns(card, n.input_bytes);
  out.chip.output_move_ns = tensix::dram_move_ns(card, n.output_bytes);
  return out;
}

// What their programs are: tests/targets/tensix/pipeline_test.cpp.
inline const PublishedNetwork kResNet50{79, 101, 6335, 16, 16LL * 3 * 224 * 224 * 2, 16LL * 1000 * 2};
inline const PublishedNetwork kMobileNetV2{73, 91, 3730, 10, 10LL * 224 * 224 * 16 * 2, 10LL * 1000 * 2};

}  // namespace tessera::for_tests
