#pragma once

// Requests that come at random moments, wait for others to fill a batch with, and run on whichever chip is free: a
// discrete-event simulation. The same seed gives the same result.

#include "tessera/core/export.h"

#include <cstdint>
#include <limits>

namespace tessera::fleet {

enum class Service : std::uint8_t {
  fixed,        // every batch takes as long: what a trace does
  exponential,  // random with that mean; queues of this kind have closed forms to test against
};

struct ServingOptions {
  double requests_per_s = 0;  // Poisson
  std::int64_t requests = 200'000;
  std::uint64_t seed = 0;
  std::int64_t chips = 1;
  // A chip starts a batch when it is free and there are max_batch requests, or the oldest has waited for max_wait_ns. A
  // batch that is not full takes as long as a full one.
  std::int64_t max_batch = 1;
  double max_wait_ns = 0;
  double interval_ns = 0;  // from a batch until the chip takes the next one
  double latency_ns = 0;   // until its results are there; not less than the interval
  Service service = Service::fixed;
  double warm_up = 0.1;  // so much of the requests is not measured

  // Of each chip; 0: it never does. A batch on a chip that fails begins again on another.
  double failures_per_s = 0;
  double repair_s = 0;
  std::int64_t spares = 0;
  double takeover_s = 0;
};

// Times of requests that came after the warm-up, from their arrival to their result.
struct ServingResult {
  double mean_ns = 0, p50_ns = 0, p95_ns = 0, p99_ns = 0, p999_ns = 0, max_ns = 0;
  double mean_wait_ns = 0;  // until their batch began
  double mean_queue = 0;    // requests that wait, on average over time
  double max_queue = 0;
  double utilization = 0;  // share of the time that chips worked, of those that could
  double mean_batch = 0;
  double completed_per_s = 0;
  double available = 1;  // share of chips that could work, on average over time
  std::int64_t arrived = 0, completed = 0, restarted = 0, failures = 0, batches = 0;
  double simulated_s = 0;
};

// All requests are served in the end, so that none is lost: arrived == completed. Fails where more come than can be
// served, since nothing would be stationary then.
TSR_API ServingResult simulate_serving(const ServingOptions& options);

// What the chips can serve at most.
TSR_API double capacity_per_s(const ServingOptions& options);

// So many that the slowest of a fleet's chips still gets enough batches to average over.
TSR_API std::int64_t enough_requests(std::int64_t chips, std::int64_t max_batch);

}  // namespace tessera::fleet
