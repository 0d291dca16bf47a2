#include "tessera/targets/cpu/kernels/move/moving.h"

#include "tessera/core/parallel_for.h"
#include "tessera/targets/cpu/kernels/move/transpose.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kGrainBytes = 1 << 16;  // less is not worth a thread
constexpr std::size_t kMaxLoops = 2 * Shape::kMaxRank;

struct Sixteen {
  std::uint64_t a, b;
};

// As many registers: copied without a loop.
template <int N>
struct Sixteens {
  Sixteen each[N];
};

// A call for each block costs more than copying a small one: those of some sixteens are copied here.
constexpr std::int64_t kInlineBytes = 1024;
inline void copy_block(const std::byte* from, std::byte* to, std::int64_t bytes) {
  if (bytes > kInlineBytes || bytes % 16 != 0) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  std::int64_t i = 0;
  for (; i + 64 <= bytes; i += 64) {
    Sixteen four[4];
    std::memcpy(four, from + i, sizeof four);
    std::memcpy(to + i, four, sizeof four);
  }
  for (; i < bytes; i += 16) {
    Sixteen one;
    std::memcpy(&one, from + i, sizeof one);
    std::memcpy(to + i, &one, sizeof one);
  }
}

// Blocks of sizeof(T) bytes; neither side need be aligned.
template <class T>
void copy_run(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step, std::int64_t count) {
  T value;
  if (from_step == 0) {
    std::memcpy(&value, from, sizeof(T));
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_step, &value, sizeof(T));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(&value, from + i * from_step, sizeof(T));
    std::memcpy(to + i * to_step, &value, sizeof(T));
  }
}

void copy_run(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step, std::int64_t count,
              std::int64_t block) {
  switch (block) {
    case 1: return copy_run<std::uint8_t>(from, from_step, to, to_step, count);
    case 2: return copy_run<std::uint16_t>(from, from_step, to, to_step, count);
    case 4: return copy_run<std::uint32_t>(from, from_step, to, to_step, count);
    case 8: return copy_run<std::uint64_t>(from, from_step, to, to_step, count);
    case 16: return copy_run<Sixteen>(from, from_step, to, to_step, count);
    case 32: return copy_run<Sixteens<2>>(from, from_step, to, to_step, count);
    case 64: return copy_run<Sixteens<4>>(from, from_step, to, to_step, count);
    case 128: return copy_run<Sixteens<8>>(from, from_step, to, to_step, count);
    default:
      for (std::int64_t i = 0; i < count; ++i) copy_block(from + i * from_step, to + i * to_step, block);
  }
}

template <class T>
void gather_run(const std::byte* from, const std::int64_t* offsets, std::byte* to, std::int64_t to_step,
                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + offsets[i], sizeof(T));
    std::memcpy(to + i * to_step, &value, sizeof(T));
  }
}

void gather_run(const std::byte* from, const std::int64_t* offsets, std::byte* to, std::int64_t to_step,
                std::int64_t count, std::int64_t block) {
  switch (block) {
    case 1: return gather_run<std::uint8_t>(from, offsets, to, to_step, count);
    case 2: return gather_run<std::uint16_t>(from, offsets, to, to_step, count);
    case 4: return gather_run<std::uint32_t>(from, offsets, to, to_step, count);
    case 8: return gather_run<std::uint64_t>(from, offsets, to, to_step, count);
    case 16: return gather_run<Sixteen>(from, offsets, to, to_step, count);
    case 32: return gather_run<Sixteens<2>>(from, offsets, to, to_step, count);
    case 64: return gather_run<Sixteens<4>>(from, offsets, to, to_step, count);
    case 128: return gather_run<Sixteens<8>>(from, offsets, to, to_step, count);
    default:
      for (std::int64_t i = 0; i < count; ++i) copy_block(from + offsets[i], to + i * to_step, block);
  }
}

void copy_bytes(const std::byte* from, std::byte* to, std::int64_t bytes) {
  parallel_for(bytes, 16 * kGrainBytes, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace

StridedCopy::StridedCopy(std::vector<CopyDim> dims, std::int64_t from_offset, std::int64_t to_offset,
                         std::int64_t element_bytes)
    : block_bytes_(element_bytes), from_offset_(from_offset * element_bytes), to_offset_(to_offset * element_bytes) {
  for (const CopyDim& dim : dims) empty_ = empty_ || dim.extent == 0;
  std::erase_if(dims, [](const CopyDim& dim) { return dim.extent == 1; });
  if (empty_) return;
  for (const CopyDim& dim : dims) same_strides_ = same_strides_ && dim.from == dim.to;
  std::stable_sort(dims.begin(), dims.end(), [](const CopyDim& a, const CopyDim& b) { return a.to > b.to; });
  for (const CopyDim& dim : dims) {
    if (!dims_.empty() && dims_.back().from == dim.from * dim.extent && dims_.back().to == dim.to * dim.extent)
      dims_.back() = {dims_.back().extent * dim.extent, dim.from, dim.to};
    else
      dims_.push_back(dim);
  }
  if (!dims_.empty() && dims_.back().from == 1 && dims_.back().to == 1) {
    block_bytes_ *= dims_.back().extent;
    dims_.pop_back();
  } else if (dims_.size() >= 2 && dims_.back().to == 1 && dims_.back().from > 1) {
    const auto columns = std::find_if(dims_.begin(), dims_.end() - 1, [](const CopyDim& dim) { return dim.from == 1; });
    if (columns != dims_.end() - 1) {
      transposes_ = true;
      rows_ = dims_.back();
      columns_ = *columns;
      dims_.pop_back();
      dims_.erase(columns);
    }
  }
  for (CopyDim& dim : dims_) {
    dim.from *= element_bytes;
    dim.to *= element_bytes;
  }
}

void StridedCopy::run(const std::byte* from, std::byte* to) const {
  if (empty_) return;
  from += from_offset_;
  to += to_offset_;
  if (same_strides_ && from == to) return;
  if (transposes_)
    run_transposes(from, to);
  else if (dims_.empty())
    copy_bytes(from, to, block_bytes_);
  else
    run_blocks(from, to);
}

void StridedCopy::run_blocks(const std::byte* from, std::byte* to) const {
  const std::size_t last = dims_.size() - 1;
  std::int64_t total = 1;
  for (const CopyDim& dim : dims_) total *= dim.extent;
  parallel_for(total, std::max<std::int64_t>(1, kGrainBytes / block_bytes_), [&](std::int64_t begin, std::int64_t end) {
    std::array<std::int64_t, kMaxLoops> at{};
    const std::byte* f = from;
    std::byte* t = to;
    for (std::int64_t rest = begin, d = static_cast<std::int64_t>(last); d >= 0; --d) {
      const CopyDim& dim = dims_[static_cast<std::size_t>(d)];
      at[static_cast<std::size_t>(d)] = rest % dim.extent;
      f += rest % dim.extent * dim.from;
      t += rest % dim.extent * dim.to;
      rest /= dim.extent;
    }
    const CopyDim& inner = dims_[last];
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t count = std::min(inner.extent - at[last], end - i);
      copy_run(f, inner.from, t, inner.to, count, block_bytes_);
      i += count;
      at[last] += count;
      f += count * inner.from;
      t += count * inner.to;
      for (std::size_t d = last; at[d] == dims_[d].extent && d > 0; --d) {
        f += dims_[d - 1].from - at[d] * dims_[d].from;
        t += dims_[d - 1].to - at[d] * dims_[d].to;
        at[d] = 0;
        ++at[d - 1];
      }
    }
  });
}

void StridedCopy::run_transposes(const std::byte* from, std::byte* to) const {
  const TransposeKernel transpose = transpose_kernel();
  const std::int64_t bytes = block_bytes_;  // of one element
  std::int64_t outer = 1;
  for (const CopyDim& dim : dims_) outer *= dim.extent;
  // Cut along the columns, or the rows if there are more of them.
  const bool by_rows = rows_.extent > columns_.extent;
  const std::int64_t long_side = std::max(rows_.extent, columns_.extent),
                     short_side = std::min(rows_.extent, columns_.extent);
  const std::int64_t part = round_up(std::max<std::int64_t>(1, kGrainBytes / bytes / short_side), 16),
                     parts = ceil_div(long_side, part);
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainBytes / bytes / (short_side * std::min(part, long_side)));
  parallel_for(outer * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      const std::byte* f = from;
      std::byte* t = to;
      std::int64_t rest = u / parts;
      for (std::size_t d = dims_.size(); d-- > 0; rest /= dims_[d].extent) {
        f += rest % dims_[d].extent * dims_[d].from;
        t += rest % dims_[d].extent * dims_[d].to;
      }
      const std::int64_t first = u % parts * part, count = std::min(part, long_side - first);
      if (by_rows)
        transpose(f + first * rows_.from * bytes, rows_.from, t + first * bytes, columns_.to, count, columns_.extent,
                  bytes);
      else
        transpose(f + first * bytes, rows_.from, t + first * columns_.to * bytes, columns_.to, rows_.extent, count,
                  bytes);
    }
  });
}

IndexedCopy::IndexedCopy(std::vector<std::vector<std::int64_t>> tables, std::int64_t element_bytes, std::int64_t pixel)
    : tables_(std::move(tables)) {
  std::int64_t block = 1;
  while (!tables_.empty()) {
    const std::vector<std::int64_t>& table = tables_.back();
    bool contiguous = true;
    for (std::size_t i = 0; i < table.size(); ++i)
      contiguous = contiguous && table[i] == static_cast<std::int64_t>(i) * block;
    if (!contiguous) break;
    block *= static_cast<std::int64_t>(table.size());
    tables_.pop_back();
    if (pixel > 0) break;
  }
  for (std::vector<std::int64_t>& table : tables_) {
    blocks_ *= static_cast<std::int64_t>(table.size());
    for (std::int64_t& offset : table) offset *= element_bytes;
  }
  block_bytes_ = block * element_bytes;
  to_step_ = pixel > 0 ? pixel * element_bytes : block_bytes_;
}

void IndexedCopy::run(const std::byte* from, std::byte* to) const {
  if (block_bytes_ == 0 || blocks_ == 0) return;
  if (tables_.empty()) return copy_bytes(from, to, block_bytes_);
  const std::vector<std::int64_t>& inner = tables_.back();
  const std::int64_t width = static_cast<std::int64_t>(inner.size());
  parallel_for(blocks_, std::max<std::int64_t>(1, kGrainBytes / block_bytes_),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end;) {
                   const std::byte* f = from;
                   std::int64_t rest = i / width;
                   for (std::size_t d = tables_.size() - 1; d-- > 0;) {
                     const std::int64_t extent = static_cast<std::int64_t>(tables_[d].size());
                     f += tables_[d][static_cast<std::size_t>(rest % extent)];
                     rest /= extent;
                   }
                   const std::int64_t first = i % width, count = std::min(width - first, end - i);
                   gather_run(f, inner.data() + first, to + i * to_step_, to_step_, count, block_bytes_);
                   i += count;
                 }
               });
}

std::vector<std::int64_t> strides_of(const Shape& shape, Order order, std::int64_t pixel) {
  const Shape stored = stored_shape(shape, order);
  const int rank = shape.rank();
  std::vector<std::int64_t> of_stored(static_cast<std::size_t>(rank), 1), out(static_cast<std::size_t>(rank));
  for (int d = rank - 2; d >= 0; --d)
    of_stored[static_cast<std::size_t>(d)] = order == Order::channels_last && pixel > 0 && d == rank - 2
                                                 ? pixel
                                                 : of_stored[static_cast<std::size_t>(d) + 1] * stored[d + 1];
  for (int axis = 0; axis < rank; ++axis)
    out[static_cast<std::size_t>(axis)] = of_stored[static_cast<std::size_t>(stored_axis(axis, rank, order))];
  return out;
}

Offer moving_offer(const Problem& problem, Order in, Order out, std::size_t moved) {
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  for (std::size_t i = 0; i < moved; ++i)
    if (problem.has(i) && problem.input(i).rank() >= 3) offer.inputs[i] = in;
  for (const TensorType& type : problem.types.outputs)
    offer.outputs.push_back(type.rank() < 3 ? Order::row_major : out);
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, Isa::portable, 0, w.read_bytes + w.write_bytes, 1);
  return offer;
}

}  // namespace tessera::cpu
