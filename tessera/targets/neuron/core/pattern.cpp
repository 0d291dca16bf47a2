#include "tessera/targets/neuron/core/pattern.h"

#include <bit>
#include <utility>

namespace tessera::neuron {
namespace {

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;  // [begin, end), in order, apart from each other

Runs runs_of(const Pattern& pattern) {
  Runs out;
  pattern.for_runs([&](std::int64_t begin, std::int64_t length) { out.emplace_back(begin, begin + length); });
  std::sort(out.begin(), out.end());
  std::size_t last = 0;
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (out[i].first <= out[last].second) {
      out[last].second = std::max(out[last].second, out[i].second);
    } else {
      out[++last] = out[i];
    }
  }
  if (!out.empty()) out.resize(last + 1);
  return out;
}

// The bits of a word that [begin, end) covers, of which the word has those from `first` on.
std::uint64_t mask_of(std::int64_t first, std::int64_t begin, std::int64_t end) {
  const std::int64_t low = std::max<std::int64_t>(begin - first, 0), high = std::min<std::int64_t>(end - first, 64);
  const std::uint64_t below = high == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << high) - 1;
  return below & ~((std::uint64_t{1} << low) - 1);
}

}  // namespace

Pattern::Pattern(const View& view) : offset_(view.offset()) {
  for (const Extent& each : view.dims())
    if (each.size > 1 && each.stride != 0) dims_[rank_++] = each;
  const auto end = dims_.begin() + static_cast<std::ptrdiff_t>(rank_);
  std::stable_sort(dims_.begin(), end, [](const Extent& a, const Extent& b) { return a.stride > b.stride; });
  std::size_t kept = 0;
  for (std::size_t d = 1; d < rank_; ++d) {
    if (dims_[kept].stride == dims_[d].size * dims_[d].stride) {
      dims_[kept] = {dims_[kept].size * dims_[d].size, dims_[d].stride};
    } else {
      dims_[++kept] = dims_[d];
    }
  }
  if (rank_ > 0) rank_ = kept + 1;
}

std::int64_t common_elements(const Pattern& a, const Pattern& b) {
  const Runs x = runs_of(a), y = runs_of(b);
  std::int64_t common = 0;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    const std::int64_t begin = std::max(x[i].first, y[j].first), end = std::min(x[i].second, y[j].second);
    if (begin < end) common += end - begin;
    x[i].second < y[j].second ? ++i : ++j;
  }
  return common;
}

void ElementBits::set(const Pattern& pattern) {
  pattern.for_runs([&](std::int64_t begin, std::int64_t length) {
    const std::int64_t end = begin + length;
    if (static_cast<std::size_t>((end - 1) / kPage) >= pages_.size())
      pages_.resize(static_cast<std::size_t>((end - 1) / kPage) + 1);
    for (std::int64_t word = begin / 64; word * 64 < end; ++word) {
      std::unique_ptr<Page>& page = pages_[static_cast<std::size_t>(word * 64 / kPage)];
      if (!page) page = std::make_unique<Page>();
      (*page)[static_cast<std::size_t>(word % (kPage / 64))] |= mask_of(word * 64, begin, end);
    }
  });
}

std::int64_t ElementBits::count(const Pattern& pattern) const {
  std::int64_t found = 0;
  pattern.for_runs([&](std::int64_t begin, std::int64_t length) {
    const std::int64_t end = begin + length;
    for (std::int64_t word = begin / 64; word * 64 < end; ++word) {
      const auto at = static_cast<std::size_t>(word * 64 / kPage);
      if (at >= pages_.size() || !pages_[at]) continue;
      found +=
          std::popcount((*pages_[at])[static_cast<std::size_t>(word % (kPage / 64))] & mask_of(word * 64, begin, end));
    }
  });
  return found;
}

}  // namespace tessera::neuron
