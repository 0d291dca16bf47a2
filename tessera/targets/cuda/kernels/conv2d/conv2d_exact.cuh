#pragma once

// Convolution in float32 throughout, as a matrix product with fused multiply-adds: a block makes 128 output pixels
// times 128 or 64 output channels, a thread 8 x 8 or 8 x 4 of them. Each step takes 16 channels of one tap: pixels are
// loaded with their channels side by side and turned on the way to shared memory, while the step before is multiplied.
// x is n h w c, weights are kh kw ic oc. The sum of a result runs over taps and channels in order.

#include "tessera/targets/cuda/kernels/conv2d/conv2d_arguments.h"
#include "tessera/targets/cuda/kernels/conv2d/conv2d_shared.h"
#include "tessera/targets/cuda/kernels/elements.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

#include <cstdint>

namespace tessera::cuda {

template <int kOc>
struct ExactTile {
  static constexpr int kPixels = kExactPixels, kDepth = kExactDepth, kPixelPitch = kPixels + 4;
  static constexpr int kColumns = kOc / 16;  // of a thread

  const float *x, *w;
  const Conv2dArguments& a;
  int tile;  // of pixels
  float (&pixels)[2][kDepth * kPixelPitch];
  float (&weights)[2][kDepth * kOc];

  struct Place {
    int image, y, x;  // image -1: there is none
  };
  // Four neighbours are the four pixels that one pooled result is the largest of.
  __device__ Place place(int pixel) const {
    if (a.pool == 2) {
      const int ow = a.ow / 2, oh = a.oh / 2;
      const std::int64_t window = (static_cast<std::int64_t>(tile) * kPixels + pixel) / 4;
      if (window >= static_cast<std::int64_t>(a.n) * oh * ow) return {-1, 0, 0};
      const int rest = static_cast<int>(window % (oh * ow));
      return {static_cast<int>(window / (oh * ow)), rest / ow * 2 + pixel % 4 / 2, rest % ow * 2 + pixel % 2};
    }
    const std::int64_t index = static_cast<std::int64_t>(tile) * kPixels + pixel;
    if (index >= static_cast<std::int64_t>(a.n) * a.oh * a.ow) return {-1, 0, 0};
    const int rest = static_cast<int>(index % (a.oh * a.ow));
    return {static_cast<int>(index / (a.oh * a.ow)), rest / a.ow, rest % a.ow};
  }

  // A step's part of this thread, on its way: two times 4 channels of a pixel, 8 apart; weights of one or two places of
  // the depth.
  static constexpr int kParts = kDepth / 8, kWeightParts = kOc / 64;
  struct Loaded {
    float4 pixels[kParts], weights[kWeightParts];
  };

  __device__ static float4 load4(const float* from, int left, bool whole) {
    if (left >= 4 && whole) return *reinterpret_cast<const float4*>(from);
    return make_float4(left > 0 ? from[0] : 0, left > 1 ? from[1] : 0, left > 2 ? from[2] : 0, left > 3 ? from[3] : 0);
  }

  // row: of the pixel that the tap sees, null outside of the image.
  __device__ void load(Loaded& to, const float* row, int channel, int tap, int oc0) const {
    const bool whole_pixels = a.x_pixel % 4 == 0, whole_weights = a.oc % 4 == 0;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int c = channel + part * 8 + static_cast<int>(threadIdx.x) % 2 * 4;
      to.pixels[part] = row != nullptr ? load4(row + c, a.c - c, whole_pixels) : make_float4(0, 0, 0, 0);
    }
#pragma unroll
    for (int part = 0; part < kWeightParts; ++part) {
      const int i = part * 256 + static_cast<int>(threadIdx.x), k = i / (kOc / 4), oc = oc0 + i % (kOc / 4) * 4;
      const std::int64_t at = (static_cast<std::int64_t>(tap) * a.c + channel + k) * a.oc + oc;
      to.weights[part] = load4(w + at, channel + k < a.c ? a.oc - oc : 0, whole_weights);
    }
  }

  __device__ void keep(const Loaded& from, int slot) const {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      float* const to =
          &pixels[slot][(part * 8 + static_cast<int>(threadIdx.x) % 2 * 4) * kPixelPitch + threadIdx.x / 2];
      to[0] = from.pixels[part].x;
      to[kPixelPitch] = from.pixels[part].y;
      to[2 * kPixelPitch] = from.pixels[part].z;
      to[3 * kPixelPitch] = from.pixels[part].w;
    }
#pragma unroll
    for (int part = 0; part < kWeightParts; ++part)
      *reinterpret_cast<float4*>(&weights[slot][(part * 256 + threadIdx.x) * 4]) = from.weights[part];
  }

  __device__ static void unpack(float* to, const float* from) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  }

  using Sums = float[8][kColumns];

  __device__ void multiply(Sums& sums, int slot) const {
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      float p[8], q[kColumns];
      unpack(p, &pixels[slot][k * kPixelPitch + ty * 4]);
      unpack(p + 4, &pixels[slot][k * kPixelPitch + 64 + ty * 4]);
#pragma unroll
      for (int part = 0; part < kOc / 64; ++part) unpack(q + part * 4, &weights[slot][k * kOc + part * 64 + tx * 4]);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < kColumns; ++j) sums[i][j] = fmaf(p[i], q[j], sums[i][j]);
    }
  }

  __device__ void run(int oc0) const {
    ptx::wait_for_previous_kernel();
    const Place mine = place(threadIdx.x / 2);
    const int y0 = mine.y * a.stride_h - a.pad_top, x0 = mine.x * a.stride_w - a.pad_left;
    const auto row_of = [&](int tap) -> const float* {
      const int y = y0 + tap / a.kw * a.dilation_h, column = x0 + tap % a.kw * a.dilation_w;
      if (mine.image < 0 || y < 0 || y >= a.h || column < 0 || column >= a.w) return nullptr;
      return x + ((static_cast<std::int64_t>(mine.image) * a.h + y) * a.w + column) * a.x_pixel;
    };
    const int taps = a.kh * a.kw;
    Sums sums = {};
    Loaded next;
    int tap = 0, channel = 0, slot = 0;
    const float* row = row_of(0);
    load(next, row, 0, 0, oc0);
    keep(next, 0);
    __syncthreads();
    for (;;) {
      channel += kDepth;
      if (channel >= a.c) {
        channel = 0;
        if (++tap < taps) row = row_of(tap);
      }
      const bool more = tap < taps;
      if (more) load(next, row, channel, tap, oc0);
      multiply(sums, slot);
      if (!more) break;
      slot ^= 1;
      keep(next, slot);
      __syncthreads();
    }
    store(sums, oc0);
  }

  __device__ void store(const Sums& sums, int oc0) const {
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
#pragma unroll
    for (int group = 0; group < 2; ++group)
#pragma unroll
      for (int part = 0; part < kOc / 64; ++part) {
        const int oc = oc0 + part * 64 + tx * 4;
        if (oc >= a.oc) continue;
        float largest[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const Place at = place(group * 64 + ty * 4 + i);
          if (at.image < 0) break;
          float made[4];
          const std::int64_t residual =
              ((static_cast<std::int64_t>(at.image) * a.oh + at.y) * a.ow + at.x) * a.residual_pixel + oc;
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            made[j] = sums[group * 4 + i][part * 4 + j] + (oc + j < a.oc ? a.bias[oc + j] : 0);
            if (a.residual != nullptr && oc + j < a.oc) made[j] += static_cast<const float*>(a.residual)[residual + j];
            made[j] = activated(made[j], a.activation);
            largest[j] = i == 0 ? made[j] : larger(largest[j], made[j]);
          }
          if (a.pool == 1 || i == 3)
            put(at.image * a.y_image + at.y / a.pool * a.y_row + static_cast<std::int64_t>(at.x / a.pool) * a.y_pixel,
                oc, a.pool == 1 ? made : largest);
        }
      }
  }
  __device__ void put(std::int64_t offset, int oc, const float (&values)[4]) const {
    float* const to = static_cast<float*>(a.y) + offset + oc;
    if (oc + 4 <= a.oc && a.y_vectors) {
      *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
      return;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (oc + j < a.oc) to[j] = values[j];
  }
};

template <int kOc>
__device__ __forceinline__ void conv2d_exact(const float* x, const float* w, const Conv2dArguments& a) {
  __shared__ __align__(16) float pixels[2][ExactTile<kOc>::kDepth * ExactTile<kOc>::kPixelPitch];
  __shared__ __align__(16) float weights[2][ExactTile<kOc>::kDepth * kOc];
  ptx::launch_dependents();
  // Blocks that share pixels follow each other.
  const int oc_tiles = (a.oc + kOc - 1) / kOc, block = static_cast<int>(blockIdx.x);
  ExactTile<kOc>{x, w, a, block / oc_tiles, pixels, weights}.run(block % oc_tiles * kOc);
}

}  // namespace tessera::cuda
