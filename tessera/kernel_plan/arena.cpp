#include "tessera/kernel_plan/arena.h"

#include "tessera/core/shape.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tessera {
namespace {

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

// The most bytes alive at one step, and that step.
std::pair<std::int64_t, int> worst(std::span<const Lifetime> lifetimes) {
  std::map<int, std::int64_t> change;
  for (const Lifetime& l : lifetimes) {
    change[l.first] += round_up(l.bytes, kArenaAlignment);
    change[l.last + 1] -= round_up(l.bytes, kArenaAlignment);
  }
  std::int64_t alive = 0, most = 0;
  int at = 0;
  for (const auto& [step, bytes] : change) {
    alive += bytes;
    if (alive > most) most = alive, at = step;
  }
  return {most, at};
}

}  // namespace

ArenaPlacement place(std::span<const Lifetime> lifetimes) {
  ArenaPlacement placement;
  placement.offsets.assign(lifetimes.size(), 0);
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : order) {
    const std::int64_t bytes = round_up(lifetimes[i].bytes, kArenaAlignment);
    std::int64_t offset = 0;
    for (const std::size_t other : placed) {
      if (!overlap(lifetimes[i], lifetimes[other])) continue;
      const std::int64_t begin = placement.offsets[other],
                         end = begin + round_up(lifetimes[other].bytes, kArenaAlignment);
      if (offset + bytes <= begin) break;
      offset = std::max(offset, end);
    }
    placement.offsets[i] = offset;
    placement.bytes = std::max(placement.bytes, offset + bytes);
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [&](std::int64_t o, std::size_t p) { return o < placement.offsets[p]; });
    placed.insert(at, i);
  }
  std::tie(placement.lower_bound_bytes, placement.worst_step) = worst(lifetimes);
  return placement;
}

}  // namespace tessera
