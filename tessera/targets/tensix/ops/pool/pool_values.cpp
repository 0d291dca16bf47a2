#include "tessera/targets/tensix/ops/pool/pool_values.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/ops/pool/weighted_sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tessera::tensix {
namespace {

float to_bfloat16(double x) { return float_from_bfloat16(bfloat16_from_float_host(static_cast<float>(x))); }

std::int64_t outputs(std::int64_t extent, std::int64_t begin, std::int64_t end, std::int64_t kernel,
                     std::int64_t dilation, std::int64_t stride, bool ceil_mode) {
  const std::int64_t room = extent + begin + end - dilation * (kernel - 1) - 1;
  if (room < 0) return 0;
  if (!ceil_mode) return room / stride + 1;
  const std::int64_t count = ceil_div(room, stride) + 1;
  return (count - 1) * stride >= extent + begin ? count - 1 : count;
}

void check_image(const PoolValues& pool, std::span<const float> input) {
  const std::int64_t wanted = pool.batch * pool.height * pool.width * pool.channels;
  check(static_cast<std::int64_t>(input.size()) == wanted, Code::invalid_argument,
        "the input has {} elements instead of {}", input.size(), wanted);
}

void check_pool(const PoolValues& pool, std::span<const float> input) {
  check_image(pool, input);
  check(pool.out_h() > 0 && pool.out_w() > 0, Code::invalid_argument, "a window of {} x {} does not fit into {} x {}",
        pool.window.kernel_h, pool.window.kernel_w, pool.height, pool.width);
}

// Calls body(image, out y, out x, output's channels) for every output pixel, on many threads.
template <class Body>
std::vector<float> for_each_pixel(const PoolValues& pool, std::int64_t out_h, std::int64_t out_w, Body body) {
  const std::int64_t pixels = pool.batch * out_h * out_w;
  std::vector<float> y(static_cast<std::size_t>(pixels * pool.channels));
  parallel_for(pixels, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      body(p / (out_h * out_w), p / out_w % out_h, p % out_w, y.data() + p * pool.channels);
  });
  return y;
}

// The pixel, or null outside of the image.
const float* pixel(const PoolValues& pool, std::span<const float> input, std::int64_t image, std::int64_t y,
                   std::int64_t x) {
  if (y < 0 || y >= pool.height || x < 0 || x >= pool.width) return nullptr;
  return input.data() + ((image * pool.height + y) * pool.width + x) * pool.channels;
}

// Elements that the divisor counts along one axis: padding too, but nothing behind it.
std::int64_t counted(std::int64_t start, std::int64_t kernel, std::int64_t dilation, std::int64_t low,
                     std::int64_t high) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < kernel; ++i) {
    const std::int64_t at = start + i * dilation;
    if (at >= low && at < high) ++count;
  }
  return count;
}

std::int64_t divisor(const PoolValues& pool, std::int64_t top, std::int64_t left) {
  if (pool.divisor_override) return *pool.divisor_override;
  const SlidingWindow& w = pool.window;
  const bool all = pool.count_include_pad;
  return counted(top, w.kernel_h, w.dilation_h, all ? -w.top : 0, pool.height + (all ? w.bottom : 0)) *
         counted(left, w.kernel_w, w.dilation_w, all ? -w.left : 0, pool.width + (all ? w.right : 0));
}

}  // namespace

std::int64_t PoolValues::out_h() const {
  return outputs(height, window.top, window.bottom, window.kernel_h, window.dilation_h, window.stride_h, ceil_mode);
}
std::int64_t PoolValues::out_w() const {
  return outputs(width, window.left, window.right, window.kernel_w, window.dilation_w, window.stride_w, ceil_mode);
}

std::vector<float> max_pool_values(const PoolValues& pool, std::span<const float> input) {
  check_pool(pool, input);
  const SlidingWindow& w = pool.window;
  return for_each_pixel(pool, pool.out_h(), pool.out_w(),
                        [&](std::int64_t image, std::int64_t oy, std::int64_t ox, float* out) {
                          std::fill_n(out, pool.channels, -std::numeric_limits<float>::infinity());
                          for (std::int64_t ky = 0; ky < w.kernel_h; ++ky)
                            for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
                              const float* from = pixel(pool, input, image, oy * w.stride_h - w.top + ky * w.dilation_h,
                                                        ox * w.stride_w - w.left + kx * w.dilation_w);
                              if (from == nullptr) continue;
                              for (std::int64_t c = 0; c < pool.channels; ++c)
                                out[c] = from[c] > out[c] || std::isnan(from[c]) ? from[c] : out[c];
                            }
                        });
}

std::vector<std::uint32_t> max_pool_indices(const PoolValues& pool, std::span<const float> input) {
  check_pool(pool, input);
  const SlidingWindow& w = pool.window;
  const std::int64_t out_h = pool.out_h(), out_w = pool.out_w(), pixels = pool.batch * out_h * out_w;
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(pixels * pool.channels));
  parallel_for(pixels, 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> best(static_cast<std::size_t>(pool.channels));
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t image = p / (out_h * out_w), oy = p / out_w % out_h, ox = p % out_w;
      std::uint32_t* out = indices.data() + p * pool.channels;
      bool first = true;
      for (std::int64_t i = 0; i < w.kernel_h; ++i)
        for (std::int64_t j = 0; j < w.kernel_w; ++j) {
          const std::int64_t y = oy * w.stride_h + i * w.dilation_h - w.top,
                             x = ox * w.stride_w + j * w.dilation_w - w.left;
          const float* at = pixel(pool, input, image, y, x);
          if (at == nullptr) continue;
          for (std::int64_t c = 0; c < pool.channels; ++c) {
            float& most = best[static_cast<std::size_t>(c)];
            if (!first && !(at[c] > most) && !(std::isnan(at[c]) && !std::isnan(most))) continue;
            most = at[c];
            out[c] = static_cast<std::uint32_t>(y * pool.width + x);
          }
          first = false;
        }
    }
  });
  return indices;
}

std::vector<float> average_pool_values(const PoolValues& pool, std::span<const float> input) {
  check_pool(pool, input);
  const SlidingWindow& w = pool.window;
  const auto taps = static_cast<std::size_t>(w.kernel_h * w.kernel_w);
  return for_each_pixel(
      pool, pool.out_h(), pool.out_w(), [&](std::int64_t image, std::int64_t oy, std::int64_t ox, float* out) {
        const std::int64_t top = oy * w.stride_h - w.top, left = ox * w.stride_w - w.left;
        const std::vector<float> scalers(taps, to_bfloat16(1 / static_cast<double>(divisor(pool, top, left))));
        std::vector<const float*> pixels;
        for (std::int64_t ky = 0; ky < w.kernel_h; ++ky)
          for (std::int64_t kx = 0; kx < w.kernel_w; ++kx)
            pixels.push_back(pixel(pool, input, image, top + ky * w.dilation_h, left + kx * w.dilation_w));
        std::vector<float> values(taps);
        for (std::int64_t c = 0; c < pool.channels; ++c) {
          for (std::size_t t = 0; t < taps; ++t) values[t] = pixels[t] == nullptr ? 0.0f : pixels[t][c];
          out[c] = weighted_sum(values, scalers, pool.compute);
        }
      });
}

std::vector<float> upsample_nearest_values(const PoolValues& image, std::int64_t scale_h, std::int64_t scale_w,
                                           std::span<const float> input) {
  check_image(image, input);
  return for_each_pixel(image, image.height * scale_h, image.width * scale_w,
                        [&](std::int64_t b, std::int64_t y, std::int64_t x, float* out) {
                          std::copy_n(pixel(image, input, b, y / scale_h, x / scale_w), image.channels, out);
                        });
}

std::vector<float> upsample_bilinear_values(const PoolValues& image, std::int64_t scale_h, std::int64_t scale_w,
                                            std::span<const float> input) {
  check_image(image, input);
  struct Tap {
    std::int64_t low, high;
    double second;  // weight of the high one
  };
  const auto tap = [](std::int64_t out, std::int64_t scale, std::int64_t extent) -> Tap {
    const double at = (static_cast<double>(out) + 0.5) / static_cast<double>(scale) - 0.5;
    const double low = std::floor(at);
    const auto first = static_cast<std::int64_t>(low);
    return {std::clamp<std::int64_t>(first, 0, extent - 1), std::clamp<std::int64_t>(first + 1, 0, extent - 1),
            at - low};
  };
  return for_each_pixel(
      image, image.height * scale_h, image.width * scale_w,
      [&](std::int64_t b, std::int64_t oy, std::int64_t ox, float* out) {
        const Tap y = tap(oy, scale_h, image.height), x = tap(ox, scale_w, image.width);
        const float* from[] = {pixel(image, input, b, y.low, x.low), pixel(image, input, b, y.low, x.high),
                               pixel(image, input, b, y.high, x.low), pixel(image, input, b, y.high, x.high)};
        const std::array<float, 4> scalers = {to_bfloat16((1 - y.second) * (1 - x.second)),
                                              to_bfloat16((1 - y.second) * x.second),
                                              to_bfloat16(y.second * (1 - x.second)), to_bfloat16(y.second * x.second)};
        for (std::int64_t c = 0; c < image.channels; ++c) {
          const std::array<float, 4> values = {from[0][c], from[1][c], from[2][c], from[3][c]};
          out[c] = weighted_sum(values, scalers, image.compute);
        }
      });
}

}  // namespace tessera::tensix
