#include "tessera/targets/cpu/kernels/dense/dense.h"

#include "tessera/core/convert.h"
#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"
#include "tessera/targets/cpu/kernels/dense/dense_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kCacheBytes = 640 << 10;  // of a second cache, left to weights
constexpr std::int64_t kHeldTiles = 8;           // whose partial sums are kept while parts of the reduction pass
constexpr std::int64_t kHeldElements = 8 * 512;
constexpr std::int64_t kExpandHeldTiles = 32;         // more where each part costs something to have
constexpr std::int64_t kExpandedElements = 32 << 10;  // of weights on their way in, for several tiles of rows
constexpr std::int64_t kExpandedOnce = 4 << 10;       // and for one, which reads them once: half of a first cache
constexpr std::int64_t kUnitsPerThread = 4;
constexpr std::int64_t kUnitProducts = 1 << 15;  // fewer multiply-adds take less time than waking a thread

constexpr auto kType_f32 = ElementType::float32;
constexpr auto kType_bf16 = ElementType::bfloat16;

constexpr DenseBeginFn begin_of(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::amx) return dense_begin_amx;
#endif
  return nullptr;
}
constexpr DenseEndFn end_of(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::amx) return dense_end_amx;
#endif
  return nullptr;
}

constexpr DenseKernel kKernels[] = {
#define M(storage, isa)
#define K(storage, rows, columns, isa, vectors)  \
  {Isa::isa,                                     \
   Isa::isa,                                     \
   kType_##storage,                              \
   rows,                                         \
   columns,                                      \
   (columns) / (vectors),                        \
   dense_##storage##_##rows##x##columns##_##isa, \
   dense_max_##storage##_##isa,                  \
   begin_of(Isa::isa),                           \
   end_of(Isa::isa)},
#include "tessera/targets/cpu/kernels/dense/dense.def"
#undef K
#undef M
    {Isa::amx, Isa::portable, kType_bf16, 32, 32, 16, dense_bf16_32x32_amx_emulated, dense_max_bf16_portable,
     dense_begin_amx_emulated, dense_end_amx_emulated},
#define E(storage, weights, rows, columns, isa) \
  {Isa::isa,                                    \
   Isa::isa,                                    \
   kType_f32,                                   \
   rows,                                        \
   columns,                                     \
   Isa::isa == Isa::portable ? 4                \
   : Isa::isa == Isa::avx2   ? 8                \
                             : 16,              \
   dense_f32_##rows##x##columns##_##isa,        \
   dense_max_f32_##isa,                         \
   nullptr,                                     \
   nullptr,                                     \
   DType::weights,                              \
   isa::dense_expand_##storage},
#include "tessera/targets/cpu/kernels/dense/dense_expand.def"
#undef E
};

bool copies_rows(const DenseKernel& kernel) { return kernel.isa == Isa::amx; }
// Processors with AMX have second caches of 2 MiB, and every block of panels copies its rows once more.
std::int64_t cache_bytes(const DenseKernel& kernel) { return copies_rows(kernel) ? 2 * kCacheBytes : kCacheBytes; }
std::int64_t units_per_thread(const DenseKernel& kernel) { return copies_rows(kernel) ? 2 : kUnitsPerThread; }

// Rows [begin, end) cut into tiles as even as can be.
struct Tiles {
  std::int64_t begin, end, count;
  Tiles(std::int64_t first, std::int64_t last, std::int64_t most)
      : begin(first), end(last), count(ceil_div(last - first, most)) {}
  std::int64_t at(std::int64_t i) const {
    const std::int64_t each = (end - begin) / count, longer = (end - begin) % count;
    return begin + i * each + std::min(i, longer);
  }
  std::int64_t most() const { return ceil_div(end - begin, count); }
};

// What a tile needs of the CPU, while it lives.
class TileState {
 public:
  TileState(const DenseKernel& kernel, std::int64_t most) : end_(kernel.end) {
    if (kernel.begin != nullptr) kernel.begin(most);
  }
  ~TileState() {
    if (end_ != nullptr) end_();
  }
  TileState(const TileState&) = delete;
  TileState& operator=(const TileState&) = delete;

 private:
  DenseEndFn end_;
};

// Sums begin with the addend's part for rows [row_begin, row_end) of one panel.
void fill_addend(const DenseOperands& operands, const DenseKernel& kernel, std::int64_t row_begin, std::int64_t row_end,
                 std::int64_t first_column, std::int64_t columns, float* to) {
  for (std::int64_t row = row_begin; row < row_end; ++row, to += kernel.columns)
    for (std::int64_t n = 0; n < kernel.columns; ++n) {
      const std::int64_t at = row * operands.addend_row + (first_column + n) * operands.addend_column;
      if (n >= columns)
        to[n] = 0;
      else if (kernel.type == ElementType::float32)
        to[n] = operands.addend_scale * static_cast<const float*>(operands.addend)[at];
      else
        to[n] = operands.addend_scale * float_from_bfloat16(static_cast<const std::uint16_t*>(operands.addend)[at]);
    }
}

// Steps [first, first + steps) of the reduction of one panel, as float32.
void expand_part(const DenseKernel& kernel, const DenseJob& job, const void* weights, std::int64_t panel,
                 std::int64_t first, std::int64_t steps, float* to) {
  const std::int64_t reduction = job.reduction(), before = job.weights_first / (reduction * kernel.columns);
  const std::byte* codes = static_cast<const std::byte*>(weights) + (before + panel) * kernel.panel_bytes(reduction);
  const std::byte* exponents = codes + kernel.code_bytes(reduction * kernel.columns);
  kernel.expand(codes + kernel.code_bytes(first * kernel.columns), exponents + first * ceil_div(kernel.columns, 16),
                steps, kernel.columns, to);
}

void run_block(const DenseWork& work, const DenseJob& job, const DenseOperands& operands, std::int64_t row_begin,
               std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
  const DenseKernel& kernel = *work.kernel;
  const std::int64_t taps = static_cast<std::int64_t>(job.taps.size()), bytes = element_bytes(kernel.type);
  const std::int64_t panel_elements = job.packed.elements() * kernel.columns;
  const auto* weights =
      static_cast<const std::byte*>(operands.weights) + (job.weights_first + panel_begin * panel_elements) * bytes;
  DenseRows table(work, job, operands);
  const Tiles tiles(row_begin, row_end, kernel.rows);
  const TileState state(kernel, tiles.most());

  DenseTile tile;
  // Rows that are pooled are cut however few they are.
  tile.few = operands.y_ring == 0 && job.row_count() <= dense_few(static_cast<int>(kernel.rows));
  tile.joined = job.packed.runs < taps;
  tile.most = tiles.most();
  tile.panel_elements = panel_elements;
  tile.epilogue = &work.epilogue;
  tile.rows = table.rows();
  tile.y = table.y();
  tile.residual = table.residual();
  const auto set_panels = [&](std::int64_t first, std::int64_t last) {
    tile.columns = std::min(last * kernel.columns, job.columns) - first * kernel.columns;
    tile.bias = operands.bias ? operands.bias + job.bias_first + first * kernel.columns : nullptr;
  };

  if (job.tap_block >= taps && job.depth_block >= job.depth && operands.addend == nullptr && !kernel.expand) {
    set_panels(panel_begin, panel_end);
    tile.weights = weights;
    tile.taps = taps;
    tile.depth = job.depth;
    for (std::int64_t i = 0; i < tiles.count; ++i) {
      const std::int64_t first = tiles.at(i);
      tile.count = tiles.at(i + 1) - first;
      table.point(first, tile.count, 0, taps, panel_begin * kernel.columns);
      kernel.tile(tile);
    }
    return;
  }
  // Part after part of the reduction, over a few tiles whose sums wait in between.
  alignas(64) float held[kHeldElements / kHeldTiles * kExpandHeldTiles];
  alignas(64) float expanded[kExpandedElements];
  const std::int64_t most_tiles = kernel.expand ? kExpandHeldTiles : kHeldTiles;
  const std::int64_t held_tiles =
      std::clamp<std::int64_t>(kHeldElements / kHeldTiles * most_tiles / (kernel.rows * kernel.columns), 1, most_tiles);
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    set_panels(panel, panel + 1);
    for (std::int64_t first_tile = 0; first_tile < tiles.count; first_tile += held_tiles) {
      const std::int64_t last_tile = std::min(first_tile + held_tiles, tiles.count);
      if (operands.addend != nullptr)
        for (std::int64_t i = first_tile; i < last_tile; ++i)
          fill_addend(operands, kernel, tiles.at(i), tiles.at(i + 1), panel * kernel.columns, tile.columns,
                      held + (i - first_tile) * kernel.rows * kernel.columns);
      for (std::int64_t t = 0; t < taps; t += job.tap_block)
        for (std::int64_t c = 0; c < job.depth; c += job.depth_block) {
          tile.taps = std::min(job.tap_block, taps - t);
          tile.depth = std::min(job.depth_block, job.depth - c);
          tile.row_offset = c;
          tile.weights =
              weights + ((panel - panel_begin) * panel_elements + (t * job.packed.padded + c) * kernel.columns) * bytes;
          if (kernel.expand) {
            expand_part(kernel, job, operands.weights, panel, t * job.depth + c, tile.taps * tile.depth, expanded);
            tile.weights = expanded;
          }
          tile.first = t == 0 && c == 0 && operands.addend == nullptr;
          tile.last = t + tile.taps == taps && c + tile.depth == job.depth;
          for (std::int64_t i = first_tile; i < last_tile; ++i) {
            const std::int64_t first = tiles.at(i);
            tile.count = tiles.at(i + 1) - first;
            tile.partial = held + (i - first_tile) * kernel.rows * kernel.columns;
            table.point(first, tile.count, t, t + tile.taps, panel * kernel.columns);
            kernel.tile(tile);
          }
        }
    }
  }
}

// Parts of the reduction: whole taps, or pieces of a single tap.
void split_reduction(const DenseKernel& kernel, DenseJob& job) {
  const std::int64_t taps = static_cast<std::int64_t>(job.taps.size());
  const std::int64_t step_bytes = kernel.columns * element_bytes(kernel.type);
  job.tap_block = std::max<std::int64_t>(taps, 1);
  job.depth_block = std::max<std::int64_t>(job.depth, 1);
  if (job.packed.runs < taps) return;                // joined: they fit
  const bool again = job.row_count() > kernel.rows;  // weights are read more than once
  std::int64_t most = kernel.expand ? (again ? kExpandedElements : kExpandedOnce) / kernel.columns
                      : again       ? cache_bytes(kernel) / step_bytes
                                    : std::max<std::int64_t>({job.packed.elements(), job.depth, 1});
  if (copies_rows(kernel))
    most = std::min(most, kDenseTileElements / std::min(job.row_count(), kernel.rows) / kernel.step() * kernel.step());
  if (taps > 1) {
    const std::int64_t table = kTableRows / kernel.rows;
    const std::int64_t blocks = std::max(ceil_div(taps, table), ceil_div(job.packed.elements(), most));
    job.tap_block = std::max<std::int64_t>(1, ceil_div(taps, blocks));
    if (copies_rows(kernel)) job.tap_block = std::clamp<std::int64_t>(most / job.packed.padded, 1, job.tap_block);
  }
  if (kernel.expand)
    job.tap_block = std::clamp<std::int64_t>(most / std::max<std::int64_t>(job.depth, 1), 1, job.tap_block);
  if (job.depth > most && (taps == 1 || (taps > 1 && copies_rows(kernel)) || kernel.expand)) {
    if (kernel.expand) job.tap_block = 1;
    job.depth_block = round_up(ceil_div(job.depth, ceil_div(job.depth, most)), kernel.step());
  }
}

}  // namespace

std::span<const DenseKernel> dense_kernels() { return kKernels; }

const DenseKernel& dense_kernel(const KernelInfo& info) {
  for (const DenseKernel& kernel : kKernels)
    if (kernel.needs == info.isa && kernel.type == info.type && kernel.weights == info.weights &&
        kernel.rows == info.m && kernel.columns == info.n)
      return kernel;
  fail(Code::internal, "kernel {} is not made of a tile of dense.def", info.name);
}

DenseDepth packed_depth(const DenseKernel& kernel, std::int64_t taps, std::int64_t depth) {
  if (copies_rows(kernel) && taps > 1 && taps <= kTableRows / kernel.rows) {
    const DenseDepth joined{1, taps * depth, round_up(taps * depth, kernel.step())};
    if (kernel.rows * joined.padded <= kDenseTileElements) return joined;
  }
  return {taps, depth, round_up(depth, kernel.step())};
}

std::int64_t packed_elements(const DenseKernel& kernel, std::int64_t taps, std::int64_t depth, std::int64_t columns) {
  return packed_depth(kernel, taps, depth).elements() * round_up(columns, kernel.columns);
}

std::string packing_key(const DenseKernel& kernel) {
  return fmt::format("{} columns={} step={}", name(kernel.weights), kernel.columns, kernel.step());
}

DenseEpilogue dense_epilogue(const Epilogue& from) {
  DenseEpilogue to;
  to.before = from.before;
  to.after = from.after;
  to.clips = true;
  const auto bounds = [&](const Activation& activation, float& low, float& high) {
    low = -std::numeric_limits<float>::infinity();
    high = std::numeric_limits<float>::infinity();
    switch (activation.kind) {
      case Activation::Kind::none: break;
      case Activation::Kind::relu: low = 0; break;
      case Activation::Kind::clip: low = activation.alpha, high = activation.beta; break;
      default: to.clips = false;
    }
  };
  bounds(from.before, to.before_low, to.before_high);
  bounds(from.after, to.after_low, to.after_high);
  return to;
}

void split_work(DenseWork& work, int threads) {
  const DenseKernel& kernel = *work.kernel;
  const std::int64_t jobs = static_cast<std::int64_t>(work.jobs.size());
  std::int64_t longest = 0, units = 0, products = 0;
  work.units_before.clear();
  for (DenseJob& job : work.jobs) {
    longest = std::max(longest, job.depth);
    job.packed = packed_depth(kernel, static_cast<std::int64_t>(job.taps.size()), job.depth);
    split_reduction(kernel, job);
    job.tap_offsets.clear();
    for (const DenseTap& tap : job.taps)
      job.tap_offsets.push_back((tap.dy * job.width + tap.dx) * job.pixel * element_bytes(kernel.x_type()));
    job.panels = ceil_div(job.columns, kernel.columns);
    const std::int64_t panel_bytes =
        std::max<std::int64_t>(job.packed.elements() * kernel.columns * element_bytes(kernel.type), 1);
    job.panel_block = std::clamp<std::int64_t>(cache_bytes(kernel) / panel_bytes, 1, job.panels);
    std::int64_t panel_blocks = ceil_div(job.panels, job.panel_block), row_blocks = 1;
    const std::int64_t job_products = job.row_count() * job.columns * job.reduction();
    const std::int64_t wanted =
        std::min(ceil_div(threads * units_per_thread(kernel), jobs), job_products / kUnitProducts);
    products += job_products;
    if (threads > 1) {
      if (panel_blocks < wanted)
        row_blocks = std::clamp<std::int64_t>(job.row_count() / (2 * kernel.rows), 1, ceil_div(wanted, panel_blocks));
      if (panel_blocks * row_blocks < wanted)
        panel_blocks = std::clamp<std::int64_t>(ceil_div(wanted, row_blocks), panel_blocks, job.panels);
    }
    job.panel_block = ceil_div(job.panels, panel_blocks);
    job.row_block = ceil_div(job.row_count(), row_blocks);
    if (row_blocks > 1) job.row_block = round_up(job.row_block, kernel.rows);
    work.units_before.push_back(units);
    units += ceil_div(job.panels, job.panel_block) * ceil_div(job.row_count(), job.row_block);
  }
  work.units_before.push_back(units);
  work.grain = std::max<std::int64_t>(1, ceil_div(units * kUnitProducts, std::max<std::int64_t>(products, 1)));
  work.zeros.assign(static_cast<std::size_t>(longest), 0.0f);
}

void run_dense(const DenseWork& work, const DenseOperands& operands) {
  parallel_for(work.units_before.back(), work.grain, [&](std::int64_t begin, std::int64_t end) {
    auto at = std::upper_bound(work.units_before.begin(), work.units_before.end(), begin) - 1;
    for (std::int64_t unit = begin; unit < end; ++unit) {
      while (unit >= *(at + 1)) ++at;
      const DenseJob& job = work.jobs[static_cast<std::size_t>(at - work.units_before.begin())];
      const std::int64_t row_blocks = ceil_div(job.row_count(), job.row_block);
      const std::int64_t panel = (unit - *at) / row_blocks * job.panel_block,
                         row = (unit - *at) % row_blocks * job.row_block;
      run_block(work, job, operands, row, std::min(row + job.row_block, job.row_count()), panel,
                std::min(panel + job.panel_block, job.panels));
    }
  });
}

void run_dense_rows(const DenseWork& work, const DenseJob& job, const DenseOperands& operands, std::int64_t row_begin,
                    std::int64_t row_end) {
  for (std::int64_t panel = 0; panel < job.panels; panel += job.panel_block)
    run_block(work, job, operands, row_begin, row_end, panel, std::min(panel + job.panel_block, job.panels));
}

double dense_efficiency(const DenseKernel& kernel, std::int64_t rows, std::int64_t columns, std::int64_t row_elements,
                        std::int64_t taps, std::int64_t depth) {
  if (copies_rows(kernel)) {
    // Estimated, in units of a step of 2x2 tiles fed from the second cache: sums that go through memory, and rows that
    // are copied once for all panels. A product of few rows waits for its weights.
    const DenseDepth packed = packed_depth(kernel, taps, depth);
    const double useful = static_cast<double>(columns) / static_cast<double>(round_up(columns, kernel.width)) *
                          static_cast<double>(taps * depth) / static_cast<double>(packed.elements());
    const double few = std::min(1.0, static_cast<double>(rows) / 16);
    const double finishing = 100.0 / static_cast<double>(packed.elements());
    const double copying = 1.0 / static_cast<double>(ceil_div(columns, kernel.columns));
    return 0.95 * useful * few / (1 + finishing + copying);
  }
  // Rows a multiple of 4 KiB apart fall into one set of the first cache, which has 8 places: measured 75%.
  const std::int64_t together = std::min(rows, kernel.rows), vectors = ceil_div(columns, kernel.width);
  // Each step of the depth loads the weights of its vectors and an element of each row; more than one load for a
  // product is too many, and more rows than registers for their addresses are loads too.
  const std::int64_t across = std::min(vectors, kernel.columns / kernel.width);
  const std::int64_t loads = together + across + std::max<std::int64_t>(0, together - 10);
  const double fed = std::min(1.0, static_cast<double>(together * across) / static_cast<double>(loads));
  const bool clash = row_elements * element_bytes(kernel.x_type()) % 4096 == 0 && together > 8;
  // Few sums wait for each other. More rows than registers for their addresses cost a little: measured.
  const std::int64_t sums = together * across;
  const double waiting = std::min(1.0, static_cast<double>(sums) / 10);
  const double useful = static_cast<double>(columns) / static_cast<double>(vectors * kernel.width) *
                        static_cast<double>(taps * depth) /
                        static_cast<double>(packed_depth(kernel, taps, depth).elements());
  const double expanding = kernel.expand ? 0.93 : 1;  // measured
  // Of AVX2's tiles that are as good otherwise, the one whose last is as wide as the others: measured 3 to 13 % sooner.
  // (Of AVX-512's it is not: more weights of a row at once count for more.)
  const double even = kernel.isa == Isa::avx2 && columns % kernel.columns != 0 ? 0.995 : 1;
  return useful * std::min(waiting, fed) * expanding * even * (clash ? 0.75 : 1) * (kernel.rows > 8 ? 0.93 : 0.96);
}

KernelInfo as_wide(const KernelInfo& info) {
  KernelInfo wide = info;
  wide.isa = width_isa(dense_kernel(info));
  return wide;
}

Estimate dense_estimate(const Problem& problem, const KernelInfo& info, const Work& work, double efficiency) {
  constexpr double kInCache = 0.25;
  const KernelInfo wide = as_wide(info);
  Estimate total = estimate(problem, wide, work.flops, work.read_bytes + work.write_bytes, efficiency);
  total.seconds += kInCache * estimate(problem, wide, work.flops, 0, efficiency).seconds;
  return total;
}

std::vector<float> pack_bias(const Array& bias, std::int64_t groups, const DenseKernel& kernel) {
  const std::vector<double> from = bias.to_double();
  const auto count = static_cast<std::int64_t>(from.size());
  const std::int64_t each = count / groups, padded = round_up(each, kernel.columns);
  std::vector<float> to(static_cast<std::size_t>(groups * padded), 0.0f);
  for (std::int64_t i = 0; i < count; ++i)
    to[static_cast<std::size_t>(i / each * padded + i % each)] = static_cast<float>(from[static_cast<std::size_t>(i)]);
  return to;
}

const void* widened(const std::byte* x, const DenseKernel& kernel, std::int64_t rows, std::int64_t count,
                    std::int64_t pitch, std::byte* to) {
  if (!widens(kernel)) return x;
  constexpr std::int64_t kGrain = 1 << 14;
  if (pitch == count) count *= rows, pitch = count, rows = 1;
  if (rows == 1) {
    parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      convert(x + begin * 2, DType::bfloat16, to + begin * 4, DType::float32, end - begin, Rounding::host);
    });
    return to;
  }
  parallel_for(rows, std::max<std::int64_t>(1, kGrain / count), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      convert(x + row * pitch * 2, DType::bfloat16, to + row * count * 4, DType::float32, count, Rounding::host);
  });
  return to;
}

}  // namespace tessera::cpu
