#pragma once

// Whole networks whose layers come with the configuration that somebody tuned for a card: the programs that each layer
// takes, priced one by one, beside what was published of them and what the planner makes of the same network.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/time/program_time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tensix {

struct PublishedProgram {
  std::string layer, op;
  StepTime time;
  std::int64_t cores = 0;
};

struct PublishedNetwork {
  // What the planner makes of it.
  struct Planned {
    double kernels_ns = 0, with_gaps_ns = 0;
    std::int64_t reshards = 0;
  };

  std::string title;
  double images = 0;  // computed at once
  std::vector<PublishedProgram> programs;
  double kernels_ns = 0, with_gaps_ns = 0;  // predicted
  TimeBasis basis = TimeBasis::fitted;      // the weakest of its programs
  double published_images_per_s = 0;
  std::optional<Planned> planned;  // of networks of the zoo
};

// Every network of a JSON file: {title: {"device", "batch", "device_samples_per_s", "layers": [...], ...}}.
TSR_API std::vector<PublishedNetwork> price_published_networks(const std::string& path);

}  // namespace tessera::tensix
