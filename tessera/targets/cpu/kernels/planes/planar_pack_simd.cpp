#include "tessera/targets/cpu/kernels/planes/planar_pack.h"
#include "tessera/targets/cpu/kernels/planes/planar_rows.h"

namespace tessera::cpu::TSR_ISA {

void pack_pixels(const PlanarShape& shape, const float* x, std::int64_t first, std::int64_t count, std::int64_t step,
                 float* to) {
  const std::int64_t plane = shape.height * shape.width;
  const bool plain = shape.kh * shape.kw * shape.stride_h * shape.stride_w == 1 && shape.top == 0 && shape.left == 0 &&
                     shape.width == shape.out_width && first + count <= plane;
  if (plain) {  // pixels of the result are those of the input
    for (std::int64_t c = 0; c < shape.channels; ++c) copy_strided(x + c * plane + first, 1, to + c * step, count);
    return;
  }
  const std::int64_t taps = shape.kh * shape.kw;
  // Runs of pixels within one row of the result.
  for (std::int64_t j = 0; j < count;) {
    const std::int64_t oy = (first + j) / shape.out_width, ox = (first + j) % shape.out_width;
    const std::int64_t left = shape.out_width - ox, n = left < count - j ? left : count - j;
    for (std::int64_t ky = 0; ky < shape.kh; ++ky) {
      const std::int64_t iy = oy * shape.stride_h + ky * shape.dilation_h - shape.top;
      const bool inside = iy >= 0 && iy < shape.height;
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        float* at = to + (c * taps + ky * shape.kw) * step + j;
        if (!inside) {
          for (std::int64_t kx = 0; kx < shape.kw; ++kx) fill_zeros(at + kx * step, n);
          continue;
        }
        const float* row = x + c * plane + iy * shape.width;
        std::int64_t ix = ox * shape.stride_w - shape.left;
        for (std::int64_t kx = 0; kx < shape.kw; ++kx, ix += shape.dilation_w, at += step) {
          if (ix >= 0 && ix + (n - 1) * shape.stride_w < shape.width)
            copy_strided(row + ix, shape.stride_w, at, n);
          else
            copy_padded(row, shape.width, ix, shape.stride_w, at, n);
        }
      }
    }
    j += n;
  }
}

}  // namespace tessera::cpu::TSR_ISA
