#pragma once

#include "tessera/targets/cpu/kernels/dense/dense.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tessera::cpu {

constexpr std::int64_t kTableRows = 2048;  // row pointers of one call, on the stack
constexpr std::int64_t kTileRows = 32;     // of any tile, at most

// Copies of runs that begin or end in the padding.
static_assert(kTileRows * kDenseBorderElements * sizeof(float) <= 64 << 10);

// Pointers to the rows of a tile.
class DenseRows {
 public:
  DenseRows(const DenseWork& work, const DenseJob& job, const DenseOperands& operands)
      : work_(work),
        job_(job),
        operands_(operands),
        tile_rows_(work.kernel->rows),
        element_bytes_(element_bytes(work.kernel->type)),
        x_bytes_(element_bytes(work.kernel->x_type())) {
    const auto by_y = [](const DenseTap& a, const DenseTap& b) { return a.dy < b.dy; };
    const auto by_x = [](const DenseTap& a, const DenseTap& b) { return a.dx < b.dx; };
    if (job.taps.empty()) return;
    const auto [top, bottom] = std::minmax_element(job.taps.begin(), job.taps.end(), by_y);
    const auto [left, right] = std::minmax_element(job.taps.begin(), job.taps.end(), by_x);
    top_ = top->dy, bottom_ = bottom->dy, left_ = left->dx, right_ = right->dx + job.run - 1;
  }

  // Rows [first, first + count) and their taps [tap_begin, tap_end); results from `column` on.
  void point(std::int64_t first, std::int64_t count, std::int64_t tap_begin, std::int64_t tap_end,
             std::int64_t column) {
    const DenseJob& job = job_;
    std::int64_t gx = first % job.grid_w, gy = first / job.grid_w % job.grid_h, image = first / job.grid_w / job.grid_h;
    const std::int64_t* offsets = job.tap_offsets.data();
    for (std::int64_t m = 0; m < count; gx = 0) {  // part of one row of the grid
      const std::int64_t end = std::min(count, m + job.grid_w - gx);
      const std::int64_t iy = gy * job.step_h;
      std::int64_t ix = gx * job.step_w;
      const bool inside_y = iy + top_ >= 0 && iy + bottom_ < job.height;
      const auto* origin = static_cast<const std::byte*>(operands_.x) +
                           (job.x_first + ((image * job.height + iy) * job.width + ix) * job.pixel) * x_bytes_;
      const std::int64_t y_row =
          operands_.y_ring > 0 ? gy % operands_.y_ring * job.y.row : image * job.y.image + gy * job.y.row;
      auto* y =
          static_cast<std::byte*>(operands_.y) + (job.y.first + y_row + gx * job.y.pixel + column) * element_bytes_;
      const std::byte* residual = y;  // not read where there is none
      if (operands_.residual)
        residual = static_cast<const std::byte*>(operands_.residual) +
                   (job.residual.first + image * job.residual.image + gy * job.residual.row + gx * job.residual.pixel +
                    column) *
                       element_bytes_;
      const std::int64_t y_step = job.y.pixel * element_bytes_, residual_step = job.residual.pixel * element_bytes_,
                         x_step = job.step_w * job.pixel * x_bytes_;
      for (; m < end; ++m, ix += job.step_w, origin += x_step, y += y_step, residual += residual_step) {
        y_[m] = y;
        residual_[m] = residual;
        if (inside_y && ix + left_ >= 0 && ix + right_ < job.width) {
          const void** to = rows_ + m;
          for (std::int64_t t = tap_begin; t < tap_end; ++t, to += tile_rows_) *to = origin + offsets[t];
        } else {
          point_border(m, iy, ix, origin, tap_begin, tap_end);
        }
      }
      if (++gy == job.grid_h) gy = 0, ++image;
    }
  }

  const void* const* rows() const { return rows_; }
  void* const* y() const { return y_; }
  const void* const* residual() const { return operands_.residual ? residual_ : nullptr; }

 private:
  void point_border(std::int64_t m, std::int64_t iy, std::int64_t ix, const std::byte* origin, std::int64_t tap_begin,
                    std::int64_t tap_end) {
    const DenseJob& job = job_;
    const void** to = rows_ + m;
    for (std::int64_t t = tap_begin; t < tap_end; ++t, to += tile_rows_) {
      const DenseTap tap = job.taps[static_cast<std::size_t>(t)];
      const std::byte* from = origin + job.tap_offsets[static_cast<std::size_t>(t)];
      const std::int64_t y = iy + tap.dy, x = ix + tap.dx;
      const std::int64_t begin = std::max<std::int64_t>(0, -x), end = std::min(job.run, job.width - x);
      if (y < 0 || y >= job.height || begin >= end) {
        *to = work_.zeros.data();
      } else if (begin == 0 && end == job.run) {
        *to = from;
      } else {
        std::byte* copy = border_ + (m * (tap_end - tap_begin) + t - tap_begin) * job.depth * x_bytes_;
        const std::int64_t first = begin * job.pixel * x_bytes_, last = end * job.pixel * x_bytes_;
        std::fill(copy, copy + first, std::byte{});
        std::copy(from + first, from + last, copy + first);
        std::fill(copy + last, copy + job.depth * x_bytes_, std::byte{});
        *to = copy;
      }
    }
  }

  const DenseWork& work_;
  const DenseJob& job_;
  const DenseOperands& operands_;
  std::int64_t tile_rows_, element_bytes_, x_bytes_;
  std::int64_t top_ = 0, bottom_ = 0, left_ = 0, right_ = 0;
  const void* rows_[kTableRows];
  void* y_[kTileRows];
  const void* residual_[kTileRows];
  alignas(64) std::byte border_[kTileRows * kDenseBorderElements * sizeof(float)];
};

}  // namespace tessera::cpu
