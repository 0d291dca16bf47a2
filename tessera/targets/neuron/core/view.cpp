#include "tessera/targets/neuron/core/view.h"

#include "tessera/core/error.h"
#include "tessera/targets/neuron/core/tile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tessera::neuron {
namespace {

std::size_t index(int dim) { return static_cast<std::size_t>(dim); }

void check_dim(const View& view, int dim, std::string_view what) {
  check(dim >= 0 && dim < view.rank(), Code::invalid_argument, "{} of dimension {} of {}, which has {} dimensions",
        what, dim, view.text(), view.rank());
}

}  // namespace

std::string_view name(Memory memory) {
  switch (memory) {
    case Memory::hbm: return "hbm";
    case Memory::sbuf: return "sbuf";
    case Memory::psum: return "psum";
  }
  return "?";
}

View::View(std::shared_ptr<Tile> tile) : tile_(std::move(tile)), rank_(static_cast<int>(tile_->shape.size())) {
  check(rank_ <= kMaxRank, Code::unsupported, "'{}' has {} dimensions, at most {} are supported", tile_->name, rank_,
        kMaxRank);
  std::int64_t stride = 1;
  for (int d = rank_ - 1; d >= 0; --d) {
    dims_[index(d)] = {tile_->shape[index(d)], stride};
    stride *= tile_->shape[index(d)];
  }
}

Memory View::memory() const { return tile_->memory; }
ElementType View::type() const { return tile_->type; }
const std::string& View::tile_name() const { return tile_->name; }

std::int64_t View::count() const {
  std::int64_t n = 1;
  for (const Extent& each : dims()) n *= each.size;
  return n;
}

std::int64_t View::free_count() const { return partitions() == 0 ? 0 : count() / partitions(); }
std::int64_t View::bytes() const { return count() * element_bytes(type()); }

std::vector<std::int64_t> View::shape() const {
  std::vector<std::int64_t> sizes;
  for (const Extent& each : dims()) sizes.push_back(each.size);
  return sizes;
}

std::string View::text() const {
  return fmt::format("{}[{}]", tile_ ? tile_->name : "nothing", fmt::join(shape(), ", "));
}

View View::slice(int dim, std::int64_t begin, std::int64_t count, std::int64_t step) const {
  check_dim(*this, dim, "a slice");
  const Extent& old = dims_[index(dim)];
  check(step >= 1 && begin >= 0 && begin < old.size && count >= 1 && count - 1 <= (old.size - 1 - begin) / step,
        Code::invalid_argument, "{} elements from {} in steps of {} do not lie within dimension {} of {}", count, begin,
        step, dim, text());
  View out = *this;
  out.offset_ += begin * old.stride;
  out.dims_[index(dim)] = {count, old.stride * step};
  return out;
}

View View::at(int dim, std::int64_t i) const {
  View out = slice(dim, i, 1);
  for (int d = dim; d + 1 < rank_; ++d) out.dims_[index(d)] = out.dims_[index(d + 1)];
  --out.rank_;
  return out;
}

View View::split(int dim, std::int64_t inner) const {
  check_dim(*this, dim, "a split");
  check(inner >= 1 && size(dim) % inner == 0, Code::invalid_argument, "dimension {} of {} cannot be split by {}", dim,
        text(), inner);
  View out = with_axis(dim + 1);
  out.dims_[index(dim)] = {size(dim) / inner, stride(dim) * inner};
  out.dims_[index(dim + 1)] = {inner, stride(dim)};
  return out;
}

View View::merged(int dim) const {
  check_dim(*this, dim + 1, "a merge");
  check(size(dim) == 1 || size(dim + 1) == 1 || stride(dim) == size(dim + 1) * stride(dim + 1), Code::invalid_argument,
        "dimensions {} and {} of {} have gaps between them and are not one", dim, dim + 1, text());
  View out = *this;
  out.dims_[index(dim)] = {size(dim) * size(dim + 1), size(dim + 1) == 1 ? stride(dim) : stride(dim + 1)};
  for (int d = dim + 1; d + 1 < rank_; ++d) out.dims_[index(d)] = out.dims_[index(d + 1)];
  --out.rank_;
  return out;
}

View View::permuted(std::initializer_list<int> order) const {
  return permuted(std::span<const int>(order.begin(), order.size()));
}

View View::permuted(std::span<const int> order) const {
  std::vector<int> sorted(order.begin(), order.end());
  std::sort(sorted.begin(), sorted.end());
  bool all = static_cast<int>(sorted.size()) == rank_;
  for (std::size_t i = 0; all && i < sorted.size(); ++i) all = sorted[i] == static_cast<int>(i);
  check(all, Code::invalid_argument, "({}) is no order of the {} dimensions of {}", fmt::join(order, ", "), rank_,
        text());
  View out = *this;
  for (std::size_t i = 0; i < order.size(); ++i) out.dims_[i] = dims_[index(order[i])];
  return out;
}

View View::with_axis(int dim) const {
  check(dim >= 0 && dim <= rank_ && rank_ < kMaxRank, Code::invalid_argument,
        "a dimension cannot be put at {} of {}: there are at most {}", dim, text(), kMaxRank);
  View out = *this;
  for (int d = rank_; d > dim; --d) out.dims_[index(d)] = out.dims_[index(d - 1)];
  out.dims_[index(dim)] = {1, 1};
  ++out.rank_;
  return out;
}

View View::broadcast(int dim, std::int64_t n) const {
  check_dim(*this, dim, "a broadcast");
  check(size(dim) == 1 && n >= 1, Code::invalid_argument, "dimension {} of {} cannot be read {} times: it is not 1",
        dim, text(), n);
  View out = *this;
  out.dims_[index(dim)] = {n, 0};
  return out;
}

View View::pattern(std::int64_t from, std::span<const std::int64_t> sizes,
                   std::span<const std::int64_t> strides) const {
  check(sizes.size() == strides.size() && sizes.size() <= kMaxRank, Code::invalid_argument,
        "an access pattern over {} has {} sizes and {} strides; at most {} of each", text(), sizes.size(),
        strides.size(), kMaxRank);
  View out = *this;
  out.offset_ += from;
  out.rank_ = static_cast<int>(sizes.size());
  std::int64_t last = out.offset_;
  bool ok = from >= 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    ok = ok && sizes[d] >= 1 && strides[d] >= 0 && sizes[d] <= (std::int64_t{1} << 30) &&
         strides[d] <= (std::int64_t{1} << 30);
    if (!ok) break;
    last += (sizes[d] - 1) * strides[d];
    out.dims_[d] = {sizes[d], strides[d]};
  }
  const std::int64_t elements =
      tile_->memory == Memory::hbm ? tile_->free_elements : tile_->free_elements * tile_->shape[0];
  check(ok && last < elements, Code::invalid_argument, "sizes [{}] at strides [{}] from {} on reach beyond {}",
        fmt::join(sizes, ", "), fmt::join(strides, ", "), from, text());
  return out;
}

View View::reshaped(std::span<const std::int64_t> shape) const {
  std::int64_t volume = 1;
  for (const std::int64_t each : shape) volume *= each;
  check(volume == count() && contiguous_run(*this) == count() && shape.size() <= kMaxRank, Code::invalid_argument,
        "{} is not one run of {} elements, so it cannot be seen as [{}]", text(), volume, fmt::join(shape, ", "));
  View out = *this;
  out.rank_ = static_cast<int>(shape.size());
  std::int64_t stride = 1;
  for (int d = out.rank_ - 1; d >= 0; --d) {
    out.dims_[index(d)] = {shape[index(d)], stride};
    stride *= shape[index(d)];
  }
  return out;
}

bool same_shape(const View& a, const View& b) {
  return std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end(),
                    [](const Extent& x, const Extent& y) { return x.size == y.size; });
}

std::int64_t contiguous_run(const View& view) {
  std::int64_t run = 1;
  for (int d = view.rank() - 1; d >= 0; --d) {
    if (view.size(d) == 1) continue;
    if (view.stride(d) != run) break;
    run *= view.size(d);
  }
  return run;
}

Access reach(const View& view) {
  const std::int64_t row = view.tile().free_elements;
  Access out;
  std::int64_t last = 0, partitions = 1;
  for (int d = 0; d < view.rank(); ++d) {
    if (view.memory() != Memory::hbm && view.stride(d) >= row && d == 0) {
      partitions = (view.size(d) - 1) * (view.stride(d) / row) + 1;
    } else {
      last += (view.size(d) - 1) * view.stride(d);
    }
  }
  if (view.memory() == Memory::hbm) {
    out.partition_end = 1;
    out.free_begin = view.offset();
  } else {
    out.partition_begin = view.offset() / row;
    out.partition_end = out.partition_begin + partitions;
    out.free_begin = view.offset() % row;
  }
  out.free_end = out.free_begin + last + 1;
  return out;
}

}  // namespace tessera::neuron
