#include "tessera/ncp/internal/batch_chunks.h"

#include <algorithm>
#include <numeric>

namespace tessera::ncp {

void cut_batch(std::int64_t batch, std::int64_t steps, std::span<const std::int32_t> lengths, std::int64_t rows,
               std::vector<BatchChunk>& out) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(batch));
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](std::int32_t sample) {
    return lengths.empty() ? static_cast<std::int32_t>(steps) : lengths[static_cast<std::size_t>(sample)];
  };
  if (!lengths.empty())
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return length(a) > length(b); });
  const std::int64_t chunks = (batch + rows - 1) / rows;
  out.resize(static_cast<std::size_t>(chunks));
  for (std::int64_t c = 0; c < chunks; ++c) {
    BatchChunk& chunk = out[static_cast<std::size_t>(c)];
    chunk.samples.assign(order.begin() + c * rows, order.begin() + std::min(batch, (c + 1) * rows));
    chunk.lengths.clear();
    for (const std::int32_t sample : chunk.samples) chunk.lengths.push_back(length(sample));
    chunk.offset.assign(1, 0);
    std::int64_t active = chunk.rows();
    for (std::int32_t t = 0; t < chunk.lengths[0]; ++t) {
      while (chunk.lengths[static_cast<std::size_t>(active - 1)] <= t) --active;
      chunk.offset.push_back(chunk.offset.back() + active);
    }
  }
}

std::vector<std::int64_t> samples_of_share(const std::vector<BatchChunk>& chunks, int rank, int size) {
  std::int64_t all = 0, before = 0;
  for (const BatchChunk& chunk : chunks) all += chunk.total();
  std::vector<std::int64_t> out;
  for (const BatchChunk& chunk : chunks) {
    const std::int64_t twice_middle = 2 * before + chunk.total();
    if (twice_middle * size / (2 * all) == rank) out.insert(out.end(), chunk.samples.begin(), chunk.samples.end());
    before += chunk.total();
  }
  return out;
}

}  // namespace tessera::ncp
