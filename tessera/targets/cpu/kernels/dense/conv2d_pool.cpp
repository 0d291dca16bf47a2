// A convolution whose result is pooled before anyone sees it: a few of its rows at a time lie in scratch.

#include "tessera/targets/cpu/kernels/dense/conv2d.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kMaxTaps = 256;

std::int64_t ring_rows(const PoolShape& pool, const Conv2dShape& conv) {
  return std::min((pool.kh - 1) * pool.dilation_h + 1, conv.oh);
}

// Whether each window along one dimension sees at least one element.
bool sees_something(std::int64_t extent, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                    std::int64_t dilation, std::int64_t begin) {
  for (std::int64_t o = 0; o < out; ++o) {
    bool any = false;
    for (std::int64_t k = 0; k < kernel && !any; ++k) {
      const std::int64_t at = o * stride - begin + k * dilation;
      any = at >= 0 && at < extent;
    }
    if (!any) return false;
  }
  return true;
}

}  // namespace

void pool_rows(const PoolShape& pool, const Conv2dShape& conv, const PoolRing& ring, DenseMaxFn max, std::byte* y,
               std::int64_t y_pixel_bytes, std::int64_t begin, std::int64_t end,
               FunctionRef<void(std::int64_t image, std::int64_t from, std::int64_t to)> make) {
  std::int64_t image = -1, done = 0;  // rows of the image before `done` are made or not needed any more
  for (std::int64_t row = begin; row < end; ++row) {
    if (row / pool.oh != image) image = row / pool.oh, done = 0;
    const std::int64_t first = row % pool.oh * pool.stride_h - pool.top;
    const std::int64_t from = std::max(first, done),
                       to = std::min(first + (pool.kh - 1) * pool.dilation_h + 1, conv.oh);
    if (from < to) {
      make(image, from, to);
      done = to;
    }
    for (std::int64_t px = 0; px < pool.ow; ++px) {
      const void* pixels[kMaxTaps];
      std::int64_t count = 0;
      for (std::int64_t ky = 0; ky < pool.kh; ++ky) {
        const std::int64_t cy = first + ky * pool.dilation_h;
        if (cy < 0 || cy >= conv.oh) continue;
        for (std::int64_t kx = 0; kx < pool.kw; ++kx) {
          const std::int64_t cx = px * pool.stride_w - pool.left + kx * pool.dilation_w;
          if (cx >= 0 && cx < conv.ow)
            pixels[count++] = ring.at + cy % ring.rows * ring.row_bytes + cx * ring.pixel_bytes;
        }
      }
      max(pixels, count, conv.oc, y + (row * pool.ow + px) * y_pixel_bytes);
    }
  }
}

std::optional<std::string> refuse_pool(const MaxPool& pool, const Conv2dShape& conv) {
  if (pool.with_indices) return "the fused pool gives indices";
  const PoolShape p = read_pool(pool, conv);
  if (p.oh * p.ow == 0) return "nothing to pool";
  if (p.kh * p.kw > kMaxTaps)
    return fmt::format("a fused pool over {}x{}, more than {} elements", p.kh, p.kw, kMaxTaps);
  if (!sees_something(conv.oh, p.oh, p.kh, p.stride_h, p.dilation_h, p.top) ||
      !sees_something(conv.ow, p.ow, p.kw, p.stride_w, p.dilation_w, p.left))
    return "the fused pool has windows that see only padding";
  return std::nullopt;
}

PoolShape read_pool(const MaxPool& pool, const Conv2dShape& conv) {
  const bool plane = pool.window.kernel.size() == 2;
  const ResolvedWindow r = plane ? resolve(pool.window, {conv.oh, conv.ow}, pool.ceil_mode, MaxPool::kName)
                                 : resolve(pool.window, {conv.ow}, pool.ceil_mode, MaxPool::kName);
  const std::size_t last = r.kernel.size() - 1;
  PoolShape p;
  p.kh = plane ? r.kernel[0] : 1, p.kw = r.kernel[last];
  p.stride_h = plane ? r.strides[0] : 1, p.stride_w = r.strides[last];
  p.dilation_h = plane ? r.dilations[0] : 1, p.dilation_w = r.dilations[last];
  p.top = plane ? r.begins[0] : 0, p.left = r.begins[last];
  p.oh = plane ? r.output[0] : 1, p.ow = r.output[last];
  return p;
}

// Two for each thread even out what begins late; rows at the border of two chunks are computed twice.
int pool_chunks(int threads) { return threads > 1 ? 2 * threads : 1; }

std::int64_t pool_slot_bytes(const PoolShape& pool, const Conv2dShape& conv, std::int64_t element_bytes) {
  return round_up(ring_rows(pool, conv) * conv.ow * conv.oc * element_bytes, 64);
}

void run_pooled(const DenseWork& work, const DenseOperands& operands, const Conv2dShape& conv, const PoolShape& pool,
                int chunks, std::byte* scratch) {
  const std::int64_t bytes = element_bytes(work.kernel->type), slot_bytes = pool_slot_bytes(pool, conv, bytes);
  const std::int64_t rows = conv.n * pool.oh, pixel_bytes = conv.oc * bytes;
  parallel_for(chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const PoolRing ring{scratch + chunk * slot_bytes, ring_rows(pool, conv), conv.ow * pixel_bytes, pixel_bytes};
      DenseOperands mine = operands;
      mine.y = ring.at;
      mine.y_ring = ring.rows;
      pool_rows(pool, conv, ring, work.kernel->max, static_cast<std::byte*>(operands.y), conv.y_pixel * bytes,
                chunk * rows / chunks, (chunk + 1) * rows / chunks,
                [&](std::int64_t image, std::int64_t from, std::int64_t to) {
                  for (const DenseJob& job : work.jobs)
                    run_dense_rows(work, job, mine, (image * conv.oh + from) * conv.ow,
                                   (image * conv.oh + to) * conv.ow);
                });
    }
  });
}

}  // namespace tessera::cpu
