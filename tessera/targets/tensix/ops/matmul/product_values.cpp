#include "tessera/targets/tensix/ops/matmul/product_values.h"

#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"
#include "tessera/core/shape.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/ops/matmul/product_rules.h"
#include "tessera/targets/tensix/ops/matmul/product_run.h"

#include <algorithm>
#include <cstring>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kRows = ProductRun::kRows, kColumns = ProductRun::kColumns;
// A task works on so many rows and columns, with this many tiles of k at a time: left operand, Dst and one strip of the
// right operand stay in a cache of half a megabyte.
constexpr std::int64_t kPanels = 16, kStrips = 8, kSlots = 8;

using Kernel = void (*)(const ProductRun&) noexcept;

Kernel chosen_kernel() {
  struct Entry {
    Isa isa;
    Kernel kernel;
  };
  constexpr Entry kKernels[] = {
#define K(isa) {Isa::isa, isa::product_run},
#include "tessera/targets/tensix/ops/matmul/product_values.def"
#undef K
  };
  Kernel chosen = nullptr;
  for (const Entry& entry : kKernels)
    if (entry.isa <= active_isa()) chosen = entry.kernel;
  return chosen;
}

// The right operand in slices, tile by tile; tiles of zeros take no memory.
struct Right {
  std::int64_t tiles = 0;  // of k
  std::vector<std::vector<float>> strips;
  std::vector<const float*> at;  // [strip][tile], null for zeros

  const float* const* strip(std::int64_t s) const { return at.data() + s * tiles; }
};

void slice_weights(const float* x, bool low, float* out) {
  for (int i = 0; i < ProductRun::kRightFloats; ++i) out[i] = weight_slice(widen(x[i]), 0);
  if (!low) return;
  for (int i = 0; i < ProductRun::kRightFloats; ++i) out[ProductRun::kRightFloats + i] = weight_slice(widen(x[i]), 1);
}

Right pack_right(const Product& product, ProductColumns b) {
  const bool low = product.compute.fidelity != MathFidelity::lofi;
  const std::int64_t strips = ceil_div(product.n, kColumns), tile_floats = 2 * ProductRun::kRightFloats;
  Right right;
  right.tiles = ceil_div(product.k, kTile);
  right.strips.resize(static_cast<std::size_t>(strips));
  right.at.resize(static_cast<std::size_t>(strips * right.tiles));
  parallel_for(strips, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> part(static_cast<std::size_t>(ProductRun::kRightFloats));
    for (std::int64_t s = begin; s < end; ++s) {
      std::vector<float>& strip = right.strips[static_cast<std::size_t>(s)];
      std::vector<std::int64_t> offsets(static_cast<std::size_t>(right.tiles), -1);
      const std::int64_t columns = std::min(kColumns, product.n - s * kColumns);
      for (std::int64_t t = 0; t < right.tiles; ++t) {
        const std::int64_t count = std::min(kTile, product.k - t * kTile);
        b(t * kTile, count, s * kColumns, columns, part.data());
        // Rows of `columns` become rows of 32, the last first: they only move up.
        std::fill(part.begin() + count * columns, part.end(), 0.0f);
        if (columns < kColumns)
          for (std::int64_t k = count - 1; k >= 0; --k) {
            std::memmove(part.data() + k * kColumns, part.data() + k * columns,
                         static_cast<std::size_t>(columns) * sizeof(float));
            std::fill_n(part.data() + k * kColumns + columns, kColumns - columns, 0.0f);
          }
        if (std::all_of(part.begin(), part.end(), [](float v) { return v == 0; })) continue;
        offsets[static_cast<std::size_t>(t)] = static_cast<std::int64_t>(strip.size());
        strip.resize(strip.size() + static_cast<std::size_t>(tile_floats));
        slice_weights(part.data(), low, strip.data() + offsets[static_cast<std::size_t>(t)]);
      }
      for (std::int64_t t = 0; t < right.tiles; ++t) {
        const std::int64_t offset = offsets[static_cast<std::size_t>(t)];
        right.at[static_cast<std::size_t>(s * right.tiles + t)] = offset < 0 ? nullptr : strip.data() + offset;
      }
    }
  });
  return right;
}

// Some rows and columns of the result, worked out by one thread.
class Task {
 public:
  Task(const Product& product, ProductRows a, const Right& right, Kernel kernel)
      : product_(product), a_(a), right_(right), kernel_(kernel) {
    rows_.resize(static_cast<std::size_t>(kPanels * kRows * kSlots * kTile));
    left_.resize(static_cast<std::size_t>(kPanels * kSlots * 2 * ProductRun::kLeftFloats));
    dst_.resize(static_cast<std::size_t>(kPanels * kRows * kStrips * kColumns));
    partials_.resize(dst_.size());
  }

  void run(std::int64_t row, std::int64_t strip, float* y) {
    row_ = row;
    count_ = std::min(kPanels * kRows, product_.m - row);
    strip_ = strip;
    strips_ = std::min(kStrips, ceil_div(product_.n, kColumns) - strip);
    const std::int64_t blocks = product_.blocks();
    const std::int64_t block_tiles = blocks == 1 ? right_.tiles : product_.k_block / kTile;
    for (std::int64_t block = 0; block < blocks; ++block) {
      for_each_row([&](std::span<float> dst, std::span<float> partials, std::int64_t, std::int64_t) {
        begin_block(product_, block, partials, dst);
      });
      add_tiles(block * block_tiles, std::min(right_.tiles, (block + 1) * block_tiles));
      for_each_row([&](std::span<float> dst, std::span<float> partials, std::int64_t, std::int64_t) {
        end_block(product_, block, dst, partials);
      });
    }
    for_each_row([&](std::span<float> dst, std::span<float> partials, std::int64_t r, std::int64_t column) {
      const std::size_t columns = static_cast<std::size_t>(std::min(kColumns, product_.n - column));
      finish(product_, column, partials.first(columns), dst.first(columns));
      std::copy_n(dst.begin(), columns, y + (row_ + r) * product_.n + column);
    });
  }

 private:
  // Dst and the partial results are kept as the kernel takes them: [strip][panel][row][column].
  template <class Body>
  void for_each_row(Body body) {
    for (std::int64_t s = 0; s < strips_; ++s)
      for (std::int64_t r = 0; r < count_; ++r) {
        const auto at = static_cast<std::ptrdiff_t>((s * kPanels * kRows + r) * kColumns);
        body(std::span<float>(dst_.data() + at, kColumns), std::span<float>(partials_.data() + at, kColumns), r,
             (strip_ + s) * kColumns);
      }
  }

  bool is_needed(std::int64_t tile) const {
    for (std::int64_t s = strip_; s < strip_ + strips_; ++s)
      if (right_.strip(s)[tile] != nullptr) return true;
    return false;
  }

  // Collects the tiles of k that any strip needs, some at a time.
  void add_tiles(std::int64_t begin, std::int64_t end) {
    std::int64_t slots = 0, tiles[kSlots] = {};
    for (std::int64_t t = begin; t < end; ++t) {
      if (is_needed(t)) tiles[slots++] = t;
      if (slots == kSlots || (slots > 0 && t + 1 == end)) {
        multiply({tiles, static_cast<std::size_t>(slots)});
        slots = 0;
      }
    }
  }

  void multiply(std::span<const std::int64_t> tiles) {
    for (std::size_t first = 0; first < tiles.size();) {
      std::size_t last = first + 1;
      while (last < tiles.size() && tiles[last] == tiles[last - 1] + 1) ++last;
      const std::int64_t k = tiles[first] * kTile, depth = static_cast<std::int64_t>(last - first) * kTile;
      const std::int64_t count = std::min(depth, product_.k - k);
      a_(row_, count_, k, count, rows_.data());
      slice_left(static_cast<std::int64_t>(first), count, depth);
      first = last;
    }
    const float* right[kSlots] = {};
    ProductRun run{};
    run.right = right;
    run.tiles = static_cast<std::int64_t>(tiles.size());
    run.phases = phases(product_.compute.fidelity);
    run.float32 = product_.compute.fp32_dest_acc_en;
    for (std::int64_t s = 0; s < strips_; ++s) {
      for (std::size_t i = 0; i < tiles.size(); ++i) right[i] = right_.strip(strip_ + s)[tiles[i]];
      for (std::int64_t p = 0; p < ceil_div(count_, kRows); ++p) {
        run.left = left_.data() + p * kSlots * 2 * ProductRun::kLeftFloats;
        run.dst = dst_.data() + (s * kPanels + p) * kRows * kColumns;
        kernel_(run);
      }
    }
  }

  // rows_, `count` k of each, to slices from the given slot on; zeros behind them, up to `depth`, and below the last
  // row.
  void slice_left(std::int64_t slot, std::int64_t count, std::int64_t depth) {
    const bool low = phases(product_.compute.fidelity) > 2;
    for (std::int64_t p = 0; p < ceil_div(count_, kRows); ++p) {
      float* panel = left_.data() + (p * kSlots + slot) * 2 * ProductRun::kLeftFloats;
      for (std::int64_t r = 0; r < kRows; ++r) {
        const bool real = p * kRows + r < count_;
        const float* from = rows_.data() + (p * kRows + r) * count;
        for (std::int64_t k = 0; k < depth; ++k) {
          const float x = real && k < count ? widen(from[k]) : 0.0f;
          float* to = panel + k / kTile * 2 * ProductRun::kLeftFloats + k % kTile * kRows + r;
          to[0] = activation_slice(x, 0);
          if (low) to[ProductRun::kLeftFloats] = activation_slice(x, 2);
        }
      }
    }
  }

  const Product& product_;
  ProductRows a_;
  const Right& right_;
  Kernel kernel_;
  std::int64_t row_ = 0, count_ = 0, strip_ = 0, strips_ = 0;
  std::vector<float> rows_, left_, dst_, partials_;
};

}  // namespace

std::vector<float> product_values(const Product& product, ProductRows a, ProductColumns b) {
  check_product(product);
  std::vector<float> y(static_cast<std::size_t>(product.m * product.n));
  if (y.empty()) return y;
  const Right right = pack_right(product, b);
  const Kernel kernel = chosen_kernel();
  const std::int64_t across = ceil_div(ceil_div(product.n, kColumns), kStrips);
  const std::int64_t down = ceil_div(product.m, kPanels * kRows);
  parallel_for(across * down, 1, [&](std::int64_t begin, std::int64_t end) {
    Task task(product, a, right, kernel);
    for (std::int64_t i = begin; i < end; ++i) task.run(i / across * kPanels * kRows, i % across * kStrips, y.data());
  });
  return y;
}

std::vector<float> product_values(const Product& product, const float* a, const float* b) {
  const auto rows = [&](std::int64_t row, std::int64_t count, std::int64_t k, std::int64_t depth, float* out) {
    for (std::int64_t r = 0; r < count; ++r) std::copy_n(a + (row + r) * product.k + k, depth, out + r * depth);
  };
  const auto columns = [&](std::int64_t k, std::int64_t depth, std::int64_t column, std::int64_t count, float* out) {
    for (std::int64_t i = 0; i < depth; ++i) std::copy_n(b + (k + i) * product.n + column, count, out + i * count);
  };
  return product_values(product, rows, columns);
}

}  // namespace tessera::tensix
