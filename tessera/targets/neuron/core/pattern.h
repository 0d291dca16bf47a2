#pragma once

// Which elements of its tile a view reaches, exactly; and which elements of a tensor have been written.

#include "tessera/targets/neuron/core/view.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tessera::neuron {

// A view without its tile: outer dimensions first, neighbours joined where they are one run, nothing read twice.
class Pattern {
 public:
  Pattern() = default;
  explicit Pattern(const View& view);

  // body(begin, length) for every run of neighbouring elements.
  template <class Body>
  void for_runs(Body&& body) const {
    const bool joined = rank_ > 0 && dims_[rank_ - 1].stride == 1;
    const std::size_t outer = joined ? rank_ - 1 : rank_;
    const std::int64_t length = joined ? dims_[rank_ - 1].size : 1;
    std::array<std::int64_t, View::kMaxRank> at{};
    std::int64_t begin = offset_;
    for (;;) {
      body(begin, length);
      std::size_t d = outer;
      for (; d > 0; --d) {
        begin += dims_[d - 1].stride;
        if (++at[d - 1] < dims_[d - 1].size) break;
        begin -= at[d - 1] * dims_[d - 1].stride;
        at[d - 1] = 0;
      }
      if (d == 0) return;
    }
  }

 private:
  std::int64_t offset_ = 0;
  std::size_t rank_ = 0;
  std::array<Extent, View::kMaxRank> dims_{};
};

// How many elements both reach.
std::int64_t common_elements(const Pattern& a, const Pattern& b);

// A bit for every element of a tensor, of which most may never be asked for.
class ElementBits {
 public:
  void set(const Pattern& pattern);
  std::int64_t count(const Pattern& pattern) const;  // of those that are set

 private:
  static constexpr std::int64_t kPage = 1 << 16;
  using Page = std::array<std::uint64_t, kPage / 64>;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace tessera::neuron
