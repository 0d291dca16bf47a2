#pragma once

// A batch cut into chunks that are worked on as a whole. How it is cut depends on the batch alone, never on threads, so
// that sums over chunks always have the same order.

#include "tessera/core/export.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::ncp {

// Samples with the longest first, so that those that still run at a step are the first ones. Rows of all steps lie one
// after the other without holes: step t has rows offset[t] to offset[t] + active(t).
struct BatchChunk {
  std::vector<std::int32_t> samples{};  // in the batch
  std::vector<std::int32_t> lengths{};
  std::vector<std::int64_t> offset{};  // one more than the longest has steps

  std::int64_t rows() const { return static_cast<std::int64_t>(samples.size()); }
  std::int64_t steps() const { return static_cast<std::int64_t>(offset.size()) - 1; }
  std::int64_t total() const { return offset.back(); }
  std::int64_t at(std::int64_t step) const { return offset[static_cast<std::size_t>(step)]; }
  std::int64_t active(std::int64_t step) const { return step < steps() ? at(step + 1) - at(step) : 0; }
  std::int64_t sample(std::int64_t row) const { return samples[static_cast<std::size_t>(row)]; }
  std::int64_t length(std::int64_t row) const { return lengths[static_cast<std::size_t>(row)]; }
};

// Chunks of `rows` samples, the last one of what is left; the chunks that `out` had are used again.
TSR_API void cut_batch(std::int64_t batch, std::int64_t steps, std::span<const std::int32_t> lengths, std::int64_t rows,
                       std::vector<BatchChunk>& out);

// Whole chunks of a batch for each of `size` processes, one after the other and with about as many steps for each:
// their samples in the order of chunks, so that cutting them again gives the same chunks.
std::vector<std::int64_t> samples_of_share(const std::vector<BatchChunk>& chunks, int rank, int size);

}  // namespace tessera::ncp
