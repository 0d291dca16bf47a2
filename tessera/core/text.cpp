#include "tessera/core/text.h"

#include <algorithm>
#include <vector>

namespace tessera {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = previous;
    previous = row;
  }
  return previous[b.size()];
}

std::optional<std::string> closest(std::string_view text, std::span<const std::string> candidates) {
  // Names here are at most a few dozen characters; anything longer is no slip, and quadratic work on it is waste.
  constexpr std::size_t kLongest = 64;
  if (text.empty() || text.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    // The start of a name counts as a near miss: 'wormhole' for 'wormhole_n150'.
    const bool begins = text.size() >= 3 && candidate.starts_with(text);
    const std::size_t distance = begins ? 1 : edit_distance(text, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view text, std::span<const std::string> candidates) {
  const std::optional<std::string> candidate = closest(text, candidates);
  return candidate ? "; did you mean '" + *candidate + "'?" : "";
}

}  // namespace tessera
