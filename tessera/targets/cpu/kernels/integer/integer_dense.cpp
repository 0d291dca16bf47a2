#include "tessera/targets/cpu/kernels/integer/integer_dense.h"

#include "tessera/core/parallel_for.h"
#include "tessera/core/shape.h"
#include "tessera/targets/cpu/kernels/integer/requantize.h"

#include <algorithm>
#include <cstring>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kTableRows = 4096;        // row pointers of one call, on the stack
constexpr std::int64_t kMostRows = 14;           // of any tile
constexpr std::int64_t kBorderBytes = 1024;      // of all taps of a row, copied where runs begin or end in the padding
constexpr std::int64_t kShortDepth = 16;         // taps side by side are read as one run where channels are fewer
constexpr std::int64_t kCacheBytes = 512 << 10;  // of a second cache, left to weights
constexpr std::int64_t kUnitsPerThread = 4;
constexpr std::int64_t kUnitProducts = 1 << 17;  // fewer take less time than waking a thread
constexpr std::int64_t kCopyGrain = 1 << 15;

constexpr IntegerKernel kKernels[] = {
    {Isa::portable, 4, 8, 2, portable::integer_tile},
#if defined(__x86_64__)
    {Isa::avx2, 6, 16, 2, avx2::integer_tile},
    {Isa::avx512, 14, 32, 2, avx512::integer_tile},
    {Isa::avx512_vnni, 14, 32, 4, avx512_vnni::integer_tile},
#endif
};

// Pointers to the rows of a tile.
class RowTable {
 public:
  RowTable(const IntegerWork& work, const IntegerOperands& operands, std::int64_t group, const std::byte* padding)
      : work_(work), tile_rows_(work.kernel->rows), element_(work.kernel->element_bytes()), padding_(padding) {
    const IntegerShape& s = work.shape;
    y_bytes_ = operands.epilogue->requantizes ? 1 : 4;
    x_ = operands.x + group * work.x_group * element_;
    y_ = operands.y + group * work.y_group * y_bytes_;
    residual_ = operands.residual == nullptr ? nullptr : operands.residual + group * work.y_group;
    top_ = -s.top, bottom_ = (s.kh - 1) * s.dh - s.top;
    left_ = -s.left, right_ = (s.kw - 1) * s.dw - s.left;
  }

  // Rows [first, first + count), results from `column` on.
  void point(std::int64_t first, std::int64_t count, std::int64_t column) {
    const IntegerShape& s = work_.shape;
    std::int64_t ox = first % s.ow, oy = first / s.ow % s.oh, image = first / s.ow / s.oh;
    const std::int64_t step = s.sw * work_.x_pixel * element_;
    for (std::int64_t m = 0; m < count; ox = 0) {  // part of one row of the output
      const std::int64_t end = std::min(count, m + s.ow - ox), iy = oy * s.sh;
      std::int64_t ix = ox * s.sw;
      const bool inside_y = iy + top_ >= 0 && iy + bottom_ < s.h;
      const std::byte* origin = x_ + ((image * s.h + iy) * s.w + ix) * work_.x_pixel * element_;
      std::int64_t at = ((image * s.oh + oy) * s.ow + ox) * work_.y_pixel + column;
      for (; m < end; ++m, ix += s.sw, origin += step, at += work_.y_pixel) {
        ys_[m] = y_ + at * y_bytes_;
        if (residual_ != nullptr) residuals_[m] = residual_ + at;
        if (inside_y && ix + left_ >= 0 && ix + right_ < s.w) {
          const std::byte** to = rows_ + m;
          for (const std::int64_t offset : work_.tap_offsets) {
            *to = origin + offset;
            to += tile_rows_;
          }
        } else {
          point_border(m, iy, ix, origin);
        }
      }
      if (++oy == s.oh) oy = 0, ++image;
    }
  }

  const std::byte* const* rows() const { return rows_; }
  std::byte* const* y() const { return ys_; }
  const std::byte* const* residual() const { return residuals_; }

 private:
  void point_border(std::int64_t m, std::int64_t iy, std::int64_t ix, const std::byte* origin) {
    const IntegerShape& s = work_.shape;
    const std::byte** to = rows_ + m;
    const std::int64_t depth_bytes = work_.depth * element_, pixel_bytes = work_.x_pixel * element_;
    for (std::int64_t t = 0; t < work_.taps; ++t, to += tile_rows_) {
      const auto tap = static_cast<std::size_t>(t);
      const std::byte* from = origin + work_.tap_offsets[tap];
      const std::int64_t y = iy + work_.tap_y[tap], x = ix + work_.tap_x[tap];
      const std::int64_t begin = std::max<std::int64_t>(0, -x), end = std::min(work_.run, s.w - x);
      if (y < 0 || y >= s.h || begin >= end) {
        *to = padding_;
      } else if (begin == 0 && end == work_.run) {
        *to = from;
      } else {
        std::byte* copy = border_ + (m * work_.taps + t) * depth_bytes;
        std::memcpy(copy, padding_, static_cast<std::size_t>(depth_bytes));
        std::memcpy(copy + begin * pixel_bytes, from + begin * pixel_bytes,
                    static_cast<std::size_t>((end - begin) * pixel_bytes));
        *to = copy;
      }
    }
  }

  const IntegerWork& work_;
  std::int64_t tile_rows_, element_, y_bytes_ = 1;
  const std::byte *padding_, *x_ = nullptr, *residual_ = nullptr;
  std::byte* y_ = nullptr;
  std::int64_t top_ = 0, bottom_ = 0, left_ = 0, right_ = 0;
  const std::byte* rows_[kTableRows];
  std::byte* ys_[kMostRows];
  const std::byte* residuals_[kMostRows];
  std::byte border_[kMostRows * kBorderBytes + 4];  // a group may begin at the last element
};

void run_block(const IntegerWork& work, const IntegerOperands& operands, std::int64_t group, std::int64_t row_begin,
               std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
  const IntegerKernel& kernel = *work.kernel;
  RowTable table(work, operands, group, operands.scratch);
  IntegerTile tile;
  tile.rows = table.rows();
  tile.y = table.y();
  tile.residual = table.residual();
  tile.taps = work.taps;
  tile.groups = work.groups_of_row;
  tile.last_at = work.last_at;
  tile.flips = kernel.in_place() && operands.x_sign;
  tile.panel_bytes = work.panel_bytes;
  tile.weights = operands.weights + (group * work.panels + panel_begin) * work.panel_bytes;
  const std::int64_t first_column = panel_begin * kernel.columns;
  tile.columns = std::min(panel_end * kernel.columns, work.shape.oc) - first_column;
  tile.bias = operands.bias + group * work.padded + first_column;
  tile.factors = operands.factors == nullptr ? nullptr : operands.factors + group * work.padded + first_column;
  tile.epilogue = operands.epilogue;
  tile.within_int32 = operands.within_int32;
  const std::int64_t rows = row_end - row_begin, tiles = ceil_div(rows, kernel.rows);
  for (std::int64_t i = 0; i < tiles; ++i) {  // as even as can be
    const std::int64_t first = row_begin + rows * i / tiles;
    tile.count = row_begin + rows * (i + 1) / tiles - first;
    table.point(first, tile.count, first_column);
    kernel.tile(tile);
  }
}

// Differences from the zero point, in int16.
void copy_differences(const std::byte* x, bool has_sign, std::int32_t zero, std::int64_t count, std::int16_t* to) {
  parallel_for(count, kCopyGrain, [&](std::int64_t begin, std::int64_t end) {
    const auto copy = [&](const auto* from) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<std::int16_t>(from[i] - zero);
    };
    has_sign ? copy(reinterpret_cast<const std::int8_t*>(x)) : copy(reinterpret_cast<const std::uint8_t*>(x));
  });
}

}  // namespace

const IntegerKernel& integer_kernel(Isa isa) {
  const auto* best = kKernels;
  for (const IntegerKernel& kernel : kKernels)
    if (kernel.isa <= isa) best = &kernel;
  return *best;
}

std::int64_t IntegerWork::padding_bytes() const {
  return round_up((depth + kernel->group) * kernel->element_bytes(), 64);
}
std::int64_t IntegerWork::copy_bytes() const {
  return kernel->in_place() ? 0 : round_up((shape.x_count() + kernel->group) * kernel->element_bytes(), 64);
}

std::string_view refuse_integer(const IntegerShape& s, const IntegerKernel& kernel) {
  if (s.rows() == 0 || s.oc == 0 || s.ic == 0 || s.taps() == 0 || s.x_count() == 0) return "nothing to compute";
  const IntegerWork work = integer_work(s, kernel, 1);
  if (work.taps * kernel.rows > kTableRows) return "more taps than the table of rows holds";
  if (kernel.in_place() && work.depth < kernel.group) return "fewer elements side by side than it multiplies at once";
  return "";
}

IntegerWork integer_work(const IntegerShape& shape, const IntegerKernel& kernel, int threads) {
  IntegerWork work;
  work.kernel = &kernel;
  work.shape = shape;
  const IntegerShape& s = work.shape;
  const std::int64_t element = kernel.element_bytes();
  const bool merged =
      s.groups == 1 && s.dw == 1 && s.kw > 1 && s.ic < kShortDepth && s.taps() * s.ic * element <= kBorderBytes;
  work.run = merged ? s.kw : 1;
  work.depth = work.run * s.ic;
  work.taps = s.kh * (merged ? 1 : s.kw);
  work.x_pixel = s.batched ? s.ic : s.ic * s.groups;
  work.y_pixel = s.batched ? s.oc : s.oc * s.groups;
  work.x_group = s.batched ? s.rows() * s.ic : s.ic;
  work.y_group = s.batched ? s.rows() * s.oc : s.oc;
  for (std::int64_t ky = 0; ky < s.kh; ++ky)
    for (std::int64_t kx = 0; kx < (merged ? 1 : s.kw); ++kx) {
      work.tap_y.push_back(ky * s.dh - s.top);
      work.tap_x.push_back(kx * s.dw - s.left);
      work.tap_offsets.push_back((work.tap_y.back() * s.w + work.tap_x.back()) * work.x_pixel * element);
    }
  work.groups_of_row = work.depth / kernel.group;
  if (work.depth % kernel.group != 0) work.last_at = std::max<std::int64_t>(0, work.depth - kernel.group) * element;
  const std::int64_t groups = work.groups_of_row + (work.last_at >= 0 ? 1 : 0);
  work.panels = ceil_div(s.oc, kernel.columns);
  work.padded = work.panels * kernel.columns;
  work.panel_bytes = work.taps * groups * kernel.columns * 4;

  work.panel_block = std::clamp<std::int64_t>(kCacheBytes / std::max<std::int64_t>(work.panel_bytes, 1), 1,
                                              std::max<std::int64_t>(work.panels, 1));
  std::int64_t panel_blocks = ceil_div(work.panels, work.panel_block), row_blocks = 1;
  const std::int64_t products = s.rows() * s.oc * s.taps() * s.ic;
  const std::int64_t wanted = std::min(ceil_div(threads * kUnitsPerThread, s.groups), products / kUnitProducts);
  if (threads > 1) {
    if (panel_blocks < wanted)
      row_blocks = std::clamp<std::int64_t>(s.rows() / (2 * kernel.rows), 1, ceil_div(wanted, panel_blocks));
    if (panel_blocks * row_blocks < wanted)
      panel_blocks = std::clamp<std::int64_t>(ceil_div(wanted, row_blocks), panel_blocks, work.panels);
  }
  work.panel_block = std::max<std::int64_t>(1, ceil_div(work.panels, std::max<std::int64_t>(panel_blocks, 1)));
  work.row_block = std::max<std::int64_t>(1, ceil_div(s.rows(), row_blocks));
  if (row_blocks > 1) work.row_block = round_up(work.row_block, kernel.rows);
  work.units = s.groups * ceil_div(work.panels, work.panel_block) * ceil_div(s.rows(), work.row_block);
  const std::int64_t all_products = std::max<std::int64_t>(products * s.groups, 1);
  work.grain =
      std::clamp<std::int64_t>(work.units * kUnitProducts / all_products, 1, std::max<std::int64_t>(work.units, 1));
  return work;
}

void pack_integers(const IntegerWork& work, const IntegerWeights& weights, std::byte* to) {
  const IntegerShape& s = work.shape;
  const IntegerKernel& kernel = *work.kernel;
  auto* sums = reinterpret_cast<std::int32_t*>(to + work.weight_bytes());
  std::memset(to, 0, static_cast<std::size_t>(work.weight_bytes() + 4 * work.columns()));
  const std::int64_t groups = work.groups_of_row + (work.last_at >= 0 ? 1 : 0);
  const std::int64_t last_first = work.last_at < 0 ? 0 : work.last_at / kernel.element_bytes();
  parallel_for(s.groups * s.oc, std::max<std::int64_t>(1, (1 << 16) / (s.taps() * s.ic)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t column = begin; column < end; ++column) {
                   const std::int64_t g = column / s.oc, n = column % s.oc, panel = n / kernel.columns,
                                      lane = n % kernel.columns;
                   const std::byte* from = weights.at + g * weights.group + n * weights.column;
                   const std::int32_t zero =
                       weights.zeros == nullptr
                           ? 0
                           : byte_value(weights.zeros + (weights.one_zero ? 0 : column), weights.has_sign);
                   std::byte* panel_at = to + (g * work.panels + panel) * work.panel_bytes;
                   std::int32_t sum = 0;
                   for (std::int64_t t = 0; t < work.taps; ++t)
                     for (std::int64_t d = 0; d < work.depth; ++d) {
                       const std::int64_t tap = t * work.run + d / s.ic, channel = d % s.ic;
                       const std::int32_t value =
                           byte_value(from + channel * weights.channel + tap * weights.tap, weights.has_sign) - zero;
                       sum += value;
                       const bool whole = d / kernel.group < work.groups_of_row;
                       const std::int64_t group = whole ? d / kernel.group : work.groups_of_row,
                                          e = whole ? d % kernel.group : d - last_first;
                       std::byte* at = panel_at + ((t * groups + group) * kernel.columns + lane) * 4;
                       if (kernel.group == 4)
                         at[e] = static_cast<std::byte>(value);
                       else
                         reinterpret_cast<std::int16_t*>(at)[e] = static_cast<std::int16_t>(value);
                     }
                   sums[g * work.padded + n] = sum;
                 }
               });
}

bool fit_int8(const Array& weights, const Array* zeros, std::int64_t per_zero) {
  const bool has_sign = weights.type() == ElementType::int8;
  const std::vector<std::int64_t> z = constant_zeros(zeros);
  if (has_sign && std::all_of(z.begin(), z.end(), [](std::int64_t v) { return v == 0; })) return true;
  for (std::int64_t i = 0; i < weights.count(); ++i) {
    const std::int64_t zero = z[z.size() == 1 ? 0 : static_cast<std::size_t>(i / per_zero) % z.size()];
    const std::int64_t value = byte_value(weights.bytes().data() + i, has_sign) - zero;
    if (value < -128 || value > 127) return false;
  }
  return true;
}

const std::int32_t* integer_sums(const IntegerWork& work, const std::byte* packed) {
  return work.kernel->in_place() ? reinterpret_cast<const std::int32_t*>(packed + work.weight_bytes()) : nullptr;
}

void run_integer(const IntegerWork& work, const IntegerOperands& operands) {
  const IntegerShape& s = work.shape;
  IntegerOperands mine = operands;
  if (work.kernel->in_place()) {
    std::memset(operands.scratch, operands.x_zero, static_cast<std::size_t>(work.padding_bytes()));
  } else {
    std::memset(operands.scratch, 0, static_cast<std::size_t>(work.padding_bytes()));
    std::byte* copy = operands.scratch + work.padding_bytes();
    copy_differences(operands.x, operands.x_sign, operands.x_zero, s.x_count(), reinterpret_cast<std::int16_t*>(copy));
    mine.x = copy;
  }
  const std::int64_t row_blocks = ceil_div(s.rows(), work.row_block),
                     panel_blocks = ceil_div(work.panels, work.panel_block);
  parallel_for(work.units, work.grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t group = unit / (row_blocks * panel_blocks), row = unit % row_blocks * work.row_block,
                         panel = unit / row_blocks % panel_blocks * work.panel_block;
      run_block(work, mine, group, row, std::min(row + work.row_block, s.rows()), panel,
                std::min(panel + work.panel_block, work.panels));
    }
  });
}

double integer_efficiency(const IntegerWork& work) {
  const IntegerKernel& kernel = *work.kernel;
  const std::int64_t vector = kernel.columns / 2;
  const double useful = static_cast<double>(work.shape.oc) / static_cast<double>(round_up(work.shape.oc, vector));
  const std::int64_t groups = work.groups_of_row + (work.last_at >= 0 ? 1 : 0);
  const double full = static_cast<double>(work.depth) / static_cast<double>(groups * kernel.group);
  // Against one multiply-add of float32: four at once, or two in two instructions.
  return useful * full * (kernel.in_place() ? 3.5 : 0.85);
}

}  // namespace tessera::cpu
