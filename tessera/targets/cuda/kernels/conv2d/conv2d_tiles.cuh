#pragma once

// Convolution as a matrix product on Hopper's tensor cores: output pixels times output channels, summed over kernel
// taps and blocks of 128 bytes of input channels: 64 of 16 bits, 32 of float32, whose products are tf32. x is n h w c,
// weights are oc kh kw ic, sums are float32.
//
// A block of threads computes a tile of 64 or 128 pixels (a box of images, rows and columns) times 64, 128 or 256
// channels. One warp asks the copy engine for inputs, one warpgroup for each 64 pixels multiplies. The copy engine
// pads: what lies outside the image or beyond the last channel arrives as zeros.
//
//   gather  every step loads the box of pixels that one tap sees: any kernel, stride and dilation
//   patch   3x3 with stride 1: the pixels that all nine taps see are loaded once, and each tap multiplies a window of
//           them in place. A tile is 8 pixels wide, so that 8 rows of a matrix are 8 neighbours in memory. This moves a
//           sixth of gather's pixels from L2, which is what gather is bound by where channels are few.
//
// Blocks of a cluster either share weights (multicast: each loads its part for all) or the sum of one tile (splits, for
// images with few pixels): then each adds up its channels of the tile from the shared memory of all.
//
// A result leaves through registers: a thread's two rows are two rows of the image in a tile 8 wide, so that the
// largest of 2x2 is one comparison in the thread and one with its neighbour, and the full image is never written.

#include "tessera/targets/cuda/kernels/conv2d/conv2d_arguments.h"
#include "tessera/targets/cuda/kernels/conv2d/conv2d_shared.h"
#include "tessera/targets/cuda/kernels/elements.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"
#include "tessera/targets/cuda/kernels/wgmma.cuh"

#include <cstdint>

namespace tessera::cuda {

// kGelu: what comes before the bounds is gelu, otherwise silu or nothing.
template <class Element, Conv2dTiling kTiling, bool kGelu>
struct Conv2dTile {
  using T = Element;
  static constexpr int kWarpgroups = kTiling.warpgroups, kOc = kTiling.oc, kStages = kTiling.stages;
  static constexpr int kMulticast = kTiling.multicast;
  static constexpr bool kPatch = kTiling.patch, kMovesRegisters = kTiling.moves_registers();
  static constexpr bool kSplits = kTiling.takes_splits(), kWideStore = sizeof(T) == 4;
  static constexpr int kRowBytes = 128, kBlock = kRowBytes / static_cast<int>(sizeof(T));  // channels of a step
  static constexpr int kWeightBytes = kOc * kRowBytes;
  static constexpr int kTaps = 9;  // of patch kernels
  static constexpr int kPatchBytes = kTiling.patch_bytes(), kStageBytes = kTiling.stage_bytes();
  static constexpr std::uint32_t kPipelineBytes = kTiling.pipeline_bytes();

  struct Position {
    int image, y, x, oc;
  };

  const CUtensorMap* x_map;
  const CUtensorMap* w_map;
  const Conv2dArguments& a;
  std::uint32_t shared;    // start of the pipeline
  std::uint32_t barriers;  // full, then empty, then the same of patches

  __device__ std::uint32_t full(int stage) const { return barriers + stage * 8; }
  __device__ std::uint32_t empty(int stage) const { return barriers + (kStages + stage) * 8; }
  __device__ std::uint32_t patch_full(int slot) const { return barriers + (2 * kStages + slot) * 8; }
  __device__ std::uint32_t patch_empty(int slot) const { return barriers + (2 * kStages + 2 + slot) * 8; }
  __device__ std::uint32_t patch(int slot) const { return shared + slot * kPatchBytes; }
  __device__ std::uint32_t pixels(int stage) const { return shared + stage * kStageBytes; }
  __device__ std::uint32_t weights(int stage) const {
    return kPatch ? shared + 2 * kPatchBytes + stage * kWeightBytes
                  : shared + stage * kStageBytes + kWarpgroups * 64 * kRowBytes;
  }

  __device__ Position position(int tile) const {
    const int oc_tile = tile / a.pixel_tiles, pixel_tile = tile % a.pixel_tiles;
    const int row = pixel_tile / a.tiles_w;
    return {row / a.tiles_h * a.box_n, row % a.tiles_h * a.box_h, pixel_tile % a.tiles_w * a.box_w, oc_tile * kOc};
  }

  __device__ int split() const { return a.splits > 1 ? blockIdx.x % a.splits : 0; }
  __device__ int first_tile() const { return blockIdx.x / a.splits; }
  __device__ int tile_stride() const { return gridDim.x / a.splits; }
  __device__ int steps() const { return a.kh * a.kw * a.channel_blocks; }
  __device__ int first_step() const { return steps() * split() / a.splits; }
  __device__ int last_step() const { return steps() * (split() + 1) / a.splits; }
  // Patch kernels split at whole blocks of channels.
  __device__ int first_block() const { return a.channel_blocks * split() / a.splits; }
  __device__ int last_block() const { return a.channel_blocks * (split() + 1) / a.splits; }

  // A place in the ring of stages.
  struct Ring {
    int stage = 0;
    std::uint32_t parity = 0;
    __device__ void next() {
      if (++stage == kStages) stage = 0, parity ^= 1;
    }
    __device__ int previous() const { return stage == 0 ? kStages - 1 : stage - 1; }
  };

  // --- the warp that loads -----------------------------------------------------------------------------------------

  __device__ void load_weights(int stage, int channel_block, int tap, int oc) const {
    if constexpr (kMulticast == 1) {
      ptx::load_3d(w_map, weights(stage), full(stage), channel_block * kBlock, tap, oc);
    } else {
      const int rank = static_cast<int>(ptx::cluster_rank());
      constexpr int kPart = kOc / kMulticast;
      ptx::load_3d_multicast(w_map, weights(stage) + rank * kPart * kRowBytes, full(stage), channel_block * kBlock, tap,
                             oc + rank * kPart, (1 << kMulticast) - 1);
    }
  }

  __device__ void load_gathered() const {
    const std::uint32_t pixel_bytes = a.box_n * a.box_h * a.box_w * kRowBytes;
    const int first = first_step(), last = last_step(), taps = a.kh * a.kw;
    // Weights do not depend on the kernel before this one.
    const int ahead = last - first < kStages ? last - first : kStages;
    const int ahead_oc = position(first_tile()).oc;
#pragma unroll 1
    for (int i = 0; i < ahead; ++i) {
      ptx::barrier_expect(full(i), pixel_bytes + kWeightBytes);
      load_weights(i, (first + i) / taps, (first + i) % taps, ahead_oc);
    }
    ptx::wait_for_previous_kernel();
    int count = 0;
    Ring ring;
#pragma unroll 1
    for (int tile = first_tile(); tile < a.tiles; tile += tile_stride()) {
      const Position at = position(tile);
      const int y0 = at.y * a.stride_h - a.pad_top, x0 = at.x * a.stride_w - a.pad_left;
      int channel_block = first / taps, tap = first % taps, ky = tap / a.kw, kx = tap % a.kw;
#pragma unroll 1
      for (int step = first; step < last; ++step, ++count, ring.next()) {
        const int stage = ring.stage;
        if (count >= ahead) {
          if (count >= kStages) ptx::barrier_wait(empty(stage), ring.parity ^ 1);
          ptx::barrier_expect(full(stage), pixel_bytes + kWeightBytes);
          load_weights(stage, channel_block, ky * a.kw + kx, at.oc);
        }
        ptx::load_4d(x_map, pixels(stage), full(stage), channel_block * kBlock, x0 + kx * a.dilation_w,
                     y0 + ky * a.dilation_h, at.image);
        if (++kx == a.kw) {
          kx = 0;
          if (++ky == a.kh) ky = 0, ++channel_block;
        }
      }
    }
  }

  __device__ void load_patches() const {
    const std::uint32_t patch_bytes = a.box_n * (a.box_h + 2) * (a.box_w + 2) * kRowBytes;
    const int first = first_block(), last = last_block();
    const int ahead = (last - first) * kTaps < kStages ? (last - first) * kTaps : kStages;
    const int ahead_oc = position(first_tile()).oc;
#pragma unroll 1
    for (int i = 0; i < ahead; ++i) {
      ptx::barrier_expect(full(i), kWeightBytes);
      load_weights(i, first + i / kTaps, i % kTaps, ahead_oc);
    }
    ptx::wait_for_previous_kernel();
    int count = 0, patches = 0;
    Ring ring;
#pragma unroll 1
    for (int tile = first_tile(); tile < a.tiles; tile += tile_stride()) {
      const Position at = position(tile);
      for (int channel_block = first; channel_block < last; ++channel_block, ++patches) {
        const int slot = patches & 1;
        if (patches >= 2) ptx::barrier_wait(patch_empty(slot), (patches / 2 - 1) & 1);
        ptx::barrier_expect(patch_full(slot), patch_bytes);
        ptx::load_4d(x_map, patch(slot), patch_full(slot), channel_block * kBlock, at.x - a.pad_left, at.y - a.pad_top,
                     at.image);
        if (a.weights_resident) continue;
        for (int tap = 0; tap < kTaps; ++tap, ++count, ring.next()) {
          if (count < ahead) continue;
          const int stage = ring.stage;
          if (count >= kStages) ptx::barrier_wait(empty(stage), ring.parity ^ 1);
          ptx::barrier_expect(full(stage), kWeightBytes);
          load_weights(stage, channel_block, tap, at.oc);
        }
      }
    }
  }

  // --- the warpgroups that multiply --------------------------------------------------------------------------------

  using Sums = float[kOc / 2];

  // The same for all threads of a warp, and the compiler knows: descriptors are then made once for all.
  __device__ static int warpgroup() { return __shfl_sync(~0u, static_cast<int>(threadIdx.x / 128), 0); }

  __device__ void release(std::uint32_t barrier, bool to_all) const {
    const int lane = threadIdx.x % 32;
    if (kMulticast > 1 && to_all) {
      if (lane < kMulticast) ptx::barrier_arrive_in(barrier, lane);
    } else if (lane == 0) {
      ptx::barrier_arrive(barrier);
    }
  }

  // A block of input channels. Descriptors count in 16 bytes.
  __device__ static void multiply(Sums& sums, std::uint64_t pixel_descriptor, std::uint64_t weight_descriptor,
                                  bool add) {
#pragma unroll
    for (int part = 0; part < 4; ++part)
      wgmma::Multiply<T, kOc>::run(sums, pixel_descriptor + part * 2, weight_descriptor + part * 2, add || part > 0);
  }

  __device__ void multiply_gathered(Sums& sums, Ring& ring) const {
    const std::uint64_t pixels0 = wgmma::descriptor(pixels(0) + warpgroup() * 64 * kRowBytes, 8 * kRowBytes);
    const std::uint64_t weights0 = wgmma::descriptor(weights(0), 8 * kRowBytes);
    const int first = first_step(), last = last_step();
    for (int step = first; step < last; ++step, ring.next()) {
      const std::uint32_t offset = ring.stage * (kStageBytes / 16);
      ptx::barrier_wait(full(ring.stage), ring.parity);
      wgmma::fence();
      multiply(sums, pixels0 + offset, weights0 + offset, step > first);
      wgmma::commit();
      if (step > first) {
        wgmma::wait<1>();
        release(empty(ring.previous()), true);
      }
    }
    wgmma::wait<0>();
    release(empty(ring.previous()), true);
  }

  __device__ void multiply_patches(Sums& sums, Ring& ring, int& patches) const {
    const std::uint32_t pitch = a.patch_pitch * kRowBytes;
    const std::uint64_t corner0 = wgmma::descriptor(patch(0) + warpgroup() * a.patch_step * kRowBytes, pitch);
    const std::uint64_t weights0 = wgmma::descriptor(weights(0), 8 * kRowBytes);
    if (a.weights_resident) ring = Ring{};
    const int first_channels = first_block(), last_channels = last_block();
    for (int channel_block = first_channels; channel_block < last_channels; ++channel_block, ++patches) {
      ptx::barrier_wait(patch_full(patches & 1), (patches / 2) & 1);
      const std::uint64_t corner = corner0 + (patches & 1) * (kPatchBytes / 16);
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) {
        // With as many stages as taps, the stage is known when this is compiled.
        const int stage = kStages == kTaps ? tap : ring.stage;
        const int previous = kStages == kTaps ? (tap + kTaps - 1) % kTaps : ring.previous();
        const bool first = channel_block == first_channels && tap == 0;
        ptx::barrier_wait(full(stage), ring.parity);
        wgmma::fence();
        multiply(sums, corner + (tap / 3 * pitch + tap % 3 * kRowBytes) / 16, weights0 + stage * (kWeightBytes / 16),
                 !first);
        wgmma::commit();
        if (!first) {
          wgmma::wait<1>();
          if (!a.weights_resident) release(empty(previous), true);
          // What the step before read last was the patch before this one.
          if (tap == 0) release(patch_empty((patches - 1) & 1), false);
        }
        if constexpr (kStages != kTaps) ring.next();
      }
      if constexpr (kStages == kTaps) ring.parity ^= 1;
    }
    wgmma::wait<0>();
    if (!a.weights_resident) release(empty(ring.previous()), true);
    release(patch_empty((patches - 1) & 1), false);
  }

  // --- results -----------------------------------------------------------------------------------------------------

  // The place in the box of a row of the tile. Patches are 8 wide, which saves the divisions.
  struct Place {
    int image, y, x, image_of_box;
  };
  __device__ Place place(const Position& at, int row) const {
    if constexpr (kPatch) {
      const int image = a.box_n == 1 ? 0 : row / 64, rest = row - image * 64;
      return {at.image + image, at.y + rest / 8, at.x + rest % 8, image};
    }
    const int image = row / (a.box_h * a.box_w), rest = row % (a.box_h * a.box_w);
    return {at.image + image, at.y + rest / a.box_w, at.x + rest % a.box_w, image};
  }
  __device__ bool is_inside(const Place& pixel) const {
    return pixel.image_of_box < a.box_n && pixel.image < a.n && pixel.y < a.oh && pixel.x < a.ow;
  }
  // Elements before the pixel of a row of the tile in y without pooling, or -1 where the row is none of the image.
  __device__ std::int64_t pixel_offset(const Position& at, int row) const {
    const Place pixel = place(at, row);
    return is_inside(pixel)
               ? pixel.image * a.y_image + pixel.y * a.y_row + static_cast<std::int64_t>(pixel.x) * a.y_pixel
               : -1;
  }
  __device__ std::int64_t residual_offset(const Position& at, int row) const {
    const Place pixel = place(at, row);
    return is_inside(pixel)
               ? ((static_cast<std::int64_t>(pixel.image) * a.oh + pixel.y) * a.ow + pixel.x) * a.residual_pixel
               : -1;
  }
  // What is to be added for channels from `oc` on, all of one phase.
  __device__ std::int64_t phase_offset(int oc) const {
    const int phase = oc / a.phase_oc;
    return phase / a.phases_w * a.phase_row + phase % a.phases_w * a.phase_column -
           static_cast<std::int64_t>(phase) * a.phase_oc;
  }
  // The same in y after pooling, of a row at an even place of a tile 8 wide.
  __device__ std::int64_t pooled_offset(const Position& at, int row) const {
    const Place pixel = place(at, row);
    const int oh = a.oh / 2, ow = a.ow / 2, y = pixel.y / 2, x = pixel.x / 2;
    const bool inside = pixel.image_of_box < a.box_n && pixel.image < a.n && y < oh && x < ow;
    return inside ? pixel.image * a.y_image + y * a.y_row + static_cast<std::int64_t>(x) * a.y_pixel : -1;
  }

  // Four registers of each of four lanes, transposed: lane i gets all parts of group i.
  __device__ static uint4 transposed(const std::uint32_t (&group)[4]) {
    const int lane = threadIdx.x & 3;
    const bool odd = lane & 1, high = lane & 2;
    const std::uint32_t from0 = __shfl_xor_sync(~0u, odd ? group[0] : group[1], 1);
    const std::uint32_t from1 = __shfl_xor_sync(~0u, odd ? group[2] : group[3], 1);
    const std::uint32_t low0 = odd ? from0 : group[0], low1 = odd ? group[1] : from0;
    const std::uint32_t high0 = odd ? from1 : group[2], high1 = odd ? group[3] : from1;
    const std::uint32_t other0 = __shfl_xor_sync(~0u, high ? low0 : high0, 2);
    const std::uint32_t other1 = __shfl_xor_sync(~0u, high ? low1 : high1, 2);
    return high ? make_uint4(other0, other1, high0, high1) : make_uint4(low0, low1, other0, other1);
  }

  // 8 channels of the residual from `oc` on, of the pixel at `offset`; zeros where there are none.
  __device__ uint4 residual8(std::int64_t offset, int oc) const {
    if (offset < 0 || oc >= a.oc) return make_uint4(0, 0, 0, 0);
    const T* const from = static_cast<const T*>(a.residual) + offset + oc;
    if (a.residual_vectors) return *reinterpret_cast<const uint4*>(from);
    std::uint32_t parts[4] = {};
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (oc + i < a.oc)
        parts[i / 2] |= static_cast<std::uint32_t>(reinterpret_cast<const std::uint16_t*>(from)[i]) << (i % 2 * 16);
    return make_uint4(parts[0], parts[1], parts[2], parts[3]);
  }
  __device__ static void add(float2& sum, std::uint32_t bits) {
    const float2 more = Pair<T>::widen(bits);
    sum.x += more.x, sum.y += more.y;
  }
  __device__ static float2 curved(float2 x) {
    if constexpr (kGelu)
      return make_float2(gelu(x.x), gelu(x.y));
    else
      return make_float2(silu(x.x), silu(x.y));
  }
  __device__ std::uint32_t finished(float2 sum) const {
    return Pair<T>::round(bounded(sum.x, a.activation.lower, a.activation.upper),
                          bounded(sum.y, a.activation.lower, a.activation.upper));
  }
  // Nobody writes biases while kernels run, so their loads may move ahead of stores.
  __device__ float2 bias_of(int oc) const { return __ldg(reinterpret_cast<const float2*>(a.bias + oc)); }

  // 8 channels from `oc` on to the pixel at `offset`; all that there are, where that is fewer or they are not aligned.
  __device__ void store8(std::int64_t offset, int oc, const uint4& values) const {
    if (offset < 0 || oc >= a.oc) return;
    T* const to = static_cast<T*>(a.y) + offset + oc;
    if (oc + 8 <= a.oc && a.y_vectors) {
      *reinterpret_cast<uint4*>(to) = values;
      return;
    }
    const std::uint32_t parts[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const auto bits = static_cast<std::uint16_t>(parts[i / 2] >> (i % 2 * 16));
      if (oc + i < a.oc) to[i] = reinterpret_cast<const T&>(bits);
    }
  }

  // The residual is read 16 bytes at a time and so many groups of 32 channels ahead; the first while the tile is still
  // being multiplied. Waiting for it was most of a short convolution's time.
  static constexpr int kAhead = kOc / 32 < 4 ? kOc / 32 : 4;
  struct Ahead {
    uint4 upper[kAhead], lower[kAhead];
  };
  __device__ void ask_ahead(Ahead& ahead, int tile) const {
    const Position at = position(tile);
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4, first_oc = at.oc + lane % 4 * 8;
    const std::int64_t residual0 = residual_offset(at, row), residual1 = residual_offset(at, row + 8);
#pragma unroll
    for (int group = 0; group < kAhead; ++group) {
      ahead.upper[group] = residual8(residual0, first_oc + group * 32);
      ahead.lower[group] = residual8(residual1, first_oc + group * 32);
    }
  }

  // Plain: whole tiles of channels in whole 16 bytes, without residual, curve and phases. There is one other piece of
  // code for all the rest, and no more: its length is what a kernel between other kernels waits for. Its branches are
  // around whole groups of channels: one between two loads would have each wait for the one before.
  // It runs through the tile in turns of 64 channels, and sums move up in between: code that is run once each would
  // come from afar, which took longer than what it does (gelu behind 256 channels: 12 us for a tile).
  template <bool kPlain>
  __device__ void store(Sums& sums, int tile, Ahead& ahead) const {
    constexpr int kTurns = kPlain || kOc <= 64 ? 1 : kOc / 64, kGroups = kOc / 32 / kTurns;
    const Position at = position(tile);
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    const std::int64_t offset0 = pixel_offset(at, row), offset1 = pixel_offset(at, row + 8);
    const std::int64_t pooled = a.pool == 2 && (row & 1) == 0 ? pooled_offset(at, row) : -1;
    const int first_oc = at.oc + lane % 4 * 8;  // of this lane's stores; its sums are of two channels in every 8
    const float2* const bias = reinterpret_cast<const float2*>(a.bias + at.oc + lane % 4 * 2);
    T* const y = static_cast<T*>(a.y) + first_oc;
    const bool reads = !kPlain && a.residual != nullptr, curves = !kPlain && a.activation.curve != Curve::none;
    std::int64_t residual0 = -1, residual1 = -1;
    if (reads) residual0 = residual_offset(at, row), residual1 = residual_offset(at, row + 8);
#pragma unroll 1
    for (int turn = 0; turn < kTurns; ++turn) {
      if (!kPlain && at.oc + turn * kGroups * 32 >= a.oc) break;
#pragma unroll
      for (int of_turn = 0; of_turn < kGroups; ++of_turn) {
        const int group = turn * kGroups + of_turn;
        uint4 upper_more = {}, lower_more = {};
        if constexpr (!kPlain) upper_more = ahead.upper[of_turn], lower_more = ahead.lower[of_turn];
        float2 upper_sums[4], lower_sums[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float2 more = __ldg(bias + group * 16 + i * 4);
          const int first = (of_turn * 4 + i) * 4;
          upper_sums[i] = make_float2(sums[first] + more.x, sums[first + 1] + more.y);
          lower_sums[i] = make_float2(sums[first + 2] + more.x, sums[first + 3] + more.y);
        }
        if (reads) {
          // Back to the order of the sums: the same exchange among four lanes.
          upper_more = transposed({upper_more.x, upper_more.y, upper_more.z, upper_more.w});
          lower_more = transposed({lower_more.x, lower_more.y, lower_more.z, lower_more.w});
          add(upper_sums[0], upper_more.x), add(upper_sums[1], upper_more.y);
          add(upper_sums[2], upper_more.z), add(upper_sums[3], upper_more.w);
          add(lower_sums[0], lower_more.x), add(lower_sums[1], lower_more.y);
          add(lower_sums[2], lower_more.z), add(lower_sums[3], lower_more.w);
        }
        if (curves) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            upper_sums[i] = curved(upper_sums[i]);
            lower_sums[i] = curved(lower_sums[i]);
          }
        }
        std::uint32_t upper[4], lower[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) upper[i] = finished(upper_sums[i]), lower[i] = finished(lower_sums[i]);
        const int oc = first_oc + group * 32;
        if (a.pool == 2) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            upper[i] = Pair<T>::larger(upper[i], lower[i]);
            upper[i] = Pair<T>::larger(upper[i], __shfl_xor_sync(~0u, upper[i], 4));
          }
          const uint4 largest = transposed(upper);
          if constexpr (kPlain) {
            if (pooled >= 0) *reinterpret_cast<uint4*>(y + pooled + group * 32) = largest;
          } else {
            store8(pooled, oc, largest);
          }
        } else if constexpr (kPlain) {
          const uint4 first = transposed(upper), second = transposed(lower);
          if (offset0 >= 0) *reinterpret_cast<uint4*>(y + offset0 + group * 32) = first;
          if (offset1 >= 0) *reinterpret_cast<uint4*>(y + offset1 + group * 32) = second;
        } else {
          const uint4 first = transposed(upper), second = transposed(lower);
          const std::int64_t more = a.phases_w ? phase_offset(oc) : 0;
          store8(offset0 >= 0 ? offset0 + more : -1, oc, first);
          store8(offset1 >= 0 ? offset1 + more : -1, oc, second);
        }
      }
      if constexpr (kTurns > 1) {
        move_up<kGroups * 16>(sums);
#pragma unroll
        for (int g = 0; g < kAhead - kGroups; ++g)
          ahead.upper[g] = ahead.upper[g + kGroups], ahead.lower[g] = ahead.lower[g + kGroups];
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          const int group = turn * kGroups + kAhead + g;
          if (!reads || group >= kOc / 32) continue;
          ahead.upper[kAhead - kGroups + g] = residual8(residual0, first_oc + group * 32);
          ahead.lower[kAhead - kGroups + g] = residual8(residual1, first_oc + group * 32);
        }
      }
    }
  }
  template <int kBy>
  __device__ static void move_up(Sums& sums) {
#pragma unroll
    for (int i = 0; i + kBy < kOc / 2; ++i) sums[i] = sums[i + kBy];
  }

  // float32: of two groups of 8 channels, neighbouring lanes exchange what makes 4 channels side by side of each; the
  // four lanes of a row then store 64 bytes.
  __device__ void store_wide(Sums& sums, int tile) const {
    const Position at = position(tile);
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    const bool odd = lane & 1;
    const std::int64_t pooled = a.pool == 2 && (row & 1) == 0 ? pooled_offset(at, row) : -1;
    const std::int64_t offsets[2] = {a.pool == 2 ? pooled : pixel_offset(at, row), pixel_offset(at, row + 8)};
    const std::int64_t residuals[2] = {a.residual ? residual_offset(at, row) : -1,
                                       a.residual ? residual_offset(at, row + 8) : -1};
    int stored = at.oc + (odd ? 8 : 0) + (lane & 2) * 2;  // the first of this lane's 4 channels
#pragma unroll 1
    for (int turn = 0; turn < kOc / 64; ++turn, stored += 64) {
      if (at.oc + turn * 64 >= a.oc) break;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float4 made[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int first = j * 8 + half * 2;
          const float2 low = make_float2(sums[first], sums[first + 1]),
                       high = make_float2(sums[first + 4], sums[first + 5]);
          const float other_x = __shfl_xor_sync(~0u, odd ? low.x : high.x, 1);
          const float other_y = __shfl_xor_sync(~0u, odd ? low.y : high.y, 1);
          const float4 four =
              odd ? make_float4(other_x, other_y, high.x, high.y) : make_float4(low.x, low.y, other_x, other_y);
          made[half] = ended4(four, residuals[half], stored + j * 16);
        }
        if (a.pool == 2) {
          float4 largest = larger4(made[0], made[1]);
          largest =
              larger4(largest, make_float4(__shfl_xor_sync(~0u, largest.x, 4), __shfl_xor_sync(~0u, largest.y, 4),
                                           __shfl_xor_sync(~0u, largest.z, 4), __shfl_xor_sync(~0u, largest.w, 4)));
          store4(pooled, stored + j * 16, largest);
          continue;
        }
        const std::int64_t phase = a.phases_w ? phase_offset(stored + j * 16) : 0;
#pragma unroll
        for (int half = 0; half < 2; ++half)
          store4(offsets[half] >= 0 ? offsets[half] + phase : -1, stored + j * 16, made[half]);
      }
      if constexpr (kOc > 64) move_up<32>(sums);
    }
  }
  __device__ static float4 larger4(const float4& p, const float4& q) {
    return make_float4(larger(p.x, q.x), larger(p.y, q.y), larger(p.z, q.z), larger(p.w, q.w));
  }
  // With bias, residual, curve and bounds.
  __device__ float4 ended4(const float4& sum, std::int64_t residual, int oc) const {
    const float2 low = bias_of(oc), high = bias_of(oc + 2);
    const float2 first = ended(make_float2(sum.x + low.x, sum.y + low.y), residual, oc),
                 second = ended(make_float2(sum.z + high.x, sum.w + high.y), residual, oc + 2);
    return make_float4(first.x, first.y, second.x, second.y);
  }
  __device__ void store4(std::int64_t offset, int oc, const float4& values) const {
    if (offset < 0 || oc >= a.oc) return;
    if (oc + 4 <= a.oc && a.y_vectors) {
      auto* const to = reinterpret_cast<float4*>(static_cast<float*>(a.y) + offset + oc);
      if (a.y_leaves)
        __stcs(to, values);
      else
        *to = values;
    } else {
      store2(offset, oc, make_float2(values.x, values.y));
      store2(offset, oc + 2, make_float2(values.z, values.w));
    }
  }
  // With residual, curve and bounds.
  __device__ float2 ended(float2 x, std::int64_t residual, int oc) const {
    const float* const from = static_cast<const float*>(a.residual) + residual + oc;
    if (residual >= 0 && oc < a.oc) x.x += from[0];
    if (residual >= 0 && oc + 1 < a.oc) x.y += from[1];
    if (a.activation.curve != Curve::none)
      x = make_float2(tessera::cuda::curved(x.x, a.activation), tessera::cuda::curved(x.y, a.activation));
    return make_float2(bounded(x.x, a.activation.lower, a.activation.upper),
                       bounded(x.y, a.activation.lower, a.activation.upper));
  }
  __device__ void store2(std::int64_t offset, int oc, float2 values) const {
    if (offset < 0 || oc >= a.oc) return;
    float* const to = static_cast<float*>(a.y) + offset + oc;
    if (oc + 2 <= a.oc && a.y_vectors) {
      *reinterpret_cast<float2*>(to) = values;
    } else {
      to[0] = values.x;
      if (oc + 1 < a.oc) to[1] = values.y;
    }
  }

  // --- sums shared by the blocks of a cluster ------------------------------------------------------------------------

  static constexpr int kPartialPitch = kOc + 4;  // floats; other banks for the next row

  __device__ void keep_partial(const Sums& sums) const {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    const std::uint32_t to = shared + (row * kPartialPitch + lane % 4 * 2) * 4;
#pragma unroll
    for (int j = 0; j < kOc / 8; ++j) {
      ptx::store_shared(to + j * 32, sums[j * 4], sums[j * 4 + 1]);
      ptx::store_shared(to + j * 32 + 8 * kPartialPitch * 4, sums[j * 4 + 2], sums[j * 4 + 3]);
    }
  }

  static constexpr int kMostSplits = 8;

  __device__ float4 whole_wide(const Position& at, int row, int column) const {
    const int oc = at.oc + column;
    float4 parts[kMostSplits];  // all asked for before the first is used
#pragma unroll
    for (int rank = 0; rank < kMostSplits; ++rank)
      if (rank < a.splits) parts[rank] = ptx::load_from_block(shared + (row * kPartialPitch + column) * 4, rank);
    float2 low = bias_of(oc), high = bias_of(oc + 2);
#pragma unroll
    for (int rank = 0; rank < kMostSplits; ++rank) {
      if (rank >= a.splits) break;
      low.x += parts[rank].x, low.y += parts[rank].y, high.x += parts[rank].z, high.y += parts[rank].w;
    }
    const std::int64_t residual = a.residual ? residual_offset(at, row) : -1;
    low = ended(low, residual, oc);
    high = ended(high, residual, oc + 2);
    return make_float4(low.x, low.y, high.x, high.y);
  }

  __device__ uint2 whole(const Position& at, int row, int column) const {
    const int oc = at.oc + column;
    uint2 more = make_uint2(0, 0);
    if (a.residual) {
      const std::int64_t offset = residual_offset(at, row);
      if (a.residual_vectors && offset >= 0 && oc < a.oc) {
        more = *reinterpret_cast<const uint2*>(static_cast<const T*>(a.residual) + offset + oc);
      } else {
        const uint4 eight = residual8(offset, oc);
        more = make_uint2(eight.x, eight.y);
      }
    }
    float4 parts[kMostSplits];  // all asked for before the first is used
#pragma unroll
    for (int rank = 0; rank < kMostSplits; ++rank)
      if (rank < a.splits) parts[rank] = ptx::load_from_block(shared + (row * kPartialPitch + column) * 4, rank);
    float2 low = bias_of(oc), high = bias_of(oc + 2);
#pragma unroll
    for (int rank = 0; rank < kMostSplits; ++rank) {
      if (rank >= a.splits) break;
      low.x += parts[rank].x, low.y += parts[rank].y, high.x += parts[rank].z, high.y += parts[rank].w;
    }
    add(low, more.x);
    add(high, more.y);
    if (a.activation.curve != Curve::none) low = curved(low), high = curved(high);
    return make_uint2(finished(low), finished(high));
  }

  // This block's channels of the tile. Every 2x2 is one item where results are pooled.
  __device__ void store_share(int tile, int threads) const {
    const Position at = position(tile);
    const int columns = kOc / a.splits / 4, first_column = split() * (kOc / a.splits);
    const int items = kWarpgroups * 64 / (a.pool * a.pool) * columns;
#pragma unroll 1
    for (int item = threadIdx.x; item < items; item += threads) {
      const int column = first_column + item % columns * 4, place = item / columns;
      const int row = a.pool == 2 ? place / 4 * 16 + place % 4 * 2 : place;
      std::int64_t offset = a.pool == 2 ? pooled_offset(at, row) : pixel_offset(at, row);
      const int oc = at.oc + column;
      if (offset < 0 || oc >= a.oc) continue;
      if constexpr (kWideStore) {
        float4 made = whole_wide(at, row, column);
        for (int part = 1; a.pool == 2 && part < 4; ++part) {
          const float4 more = whole_wide(at, row + part / 2 * 8 + part % 2, column);
          made = make_float4(larger(made.x, more.x), larger(made.y, more.y), larger(made.z, more.z),
                             larger(made.w, more.w));
        }
        if (a.phases_w) offset += phase_offset(oc);
        store2(offset, oc, make_float2(made.x, made.y));
        store2(offset, oc + 2, make_float2(made.z, made.w));
        continue;
      } else {
        uint2 result = whole(at, row, column);
        if (a.pool == 2) {
#pragma unroll 1
          for (int part = 1; part < 4; ++part) {
            const uint2 more = whole(at, row + part / 2 * 8 + part % 2, column);
            result = make_uint2(Pair<T>::larger(result.x, more.x), Pair<T>::larger(result.y, more.y));
          }
        }
        if (a.phases_w) offset += phase_offset(oc);
        T* const to = static_cast<T*>(a.y) + offset + oc;
        if (oc + 4 <= a.oc && a.y_vectors) {
          *reinterpret_cast<uint2*>(to) = result;
          continue;
        }
        const std::uint32_t parts[2] = {result.x, result.y};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const auto bits = static_cast<std::uint16_t>(parts[i / 2] >> (i % 2 * 16));
          if (oc + i < a.oc) to[i] = reinterpret_cast<const T&>(bits);
        }
      }
    }
  }

  // --- all of it -----------------------------------------------------------------------------------------------------

  __device__ void run() const {
    constexpr int kMultiplying = kWarpgroups * 128;
    const bool loads = threadIdx.x >= kMultiplying;
    if (threadIdx.x == kMultiplying) {
      ptx::prefetch(x_map);
      ptx::prefetch(w_map);
#pragma unroll 1
      for (int stage = 0; stage < kStages; ++stage) {
        ptx::barrier_init(full(stage), 1);
        ptx::barrier_init(empty(stage), kWarpgroups * 4 * kMulticast);
      }
      for (int slot = 0; kPatch && slot < 2; ++slot) {
        ptx::barrier_init(patch_full(slot), 1);
        ptx::barrier_init(patch_empty(slot), kWarpgroups * 4);
      }
      ptx::barrier_init_fence();
    }
    ptx::launch_dependents();
    if constexpr (kMulticast > 1)
      ptx::cluster_sync();
    else
      __syncthreads();

    if (loads) {
      if constexpr (kMovesRegisters) ptx::shrink_registers<40>();
      if (threadIdx.x == kMultiplying) {
        if constexpr (kPatch)
          load_patches();
        else
          load_gathered();
      }
      __syncwarp();
    } else {
      if constexpr (kMovesRegisters) ptx::grow_registers<232>();
      Sums sums;
      Ring ring;
      int patches = 0;
      bool waited = false;
#pragma unroll 1
      for (int tile = first_tile(); tile < a.tiles; tile += tile_stride()) {
        [[maybe_unused]] Ahead ahead;
        if (!kWideStore && a.residual != nullptr && a.splits == 1) {
          if (!waited) ptx::wait_for_previous_kernel();
          waited = true;
          if constexpr (!kWideStore) ask_ahead(ahead, tile);
        }
        if constexpr (kPatch)
          multiply_patches(sums, ring, patches);
        else
          multiply_gathered(sums, ring);
        if (!waited) ptx::wait_for_previous_kernel();
        waited = true;
        if (a.splits > 1) break;  // one tile for each cluster
        if constexpr (kWideStore) {
          store_wide(sums, tile);
        } else {
          const bool plain =
              a.y_vectors && a.oc % kOc == 0 && !a.residual && !a.phases_w && a.activation.curve == Curve::none;
          if (plain)
            store<true>(sums, tile, ahead);
          else
            store<false>(sums, tile, ahead);
        }
      }
      if (kSplits && a.splits > 1) {
        // Every stage has been read: the multiplying threads of this block are done before anything is overwritten.
        ptx::sync_some<kMultiplying>();
        keep_partial(sums);
      }
    }
    if (kSplits && a.splits > 1) {
      ptx::cluster_sync();
      if (!loads) store_share(first_tile(), kMultiplying);
      ptx::cluster_sync();  // peers read this block's part
    } else if (kMulticast > 1) {
      ptx::cluster_sync();  // peers arrive at this block's barriers and write its memory
    }
  }
};

template <class T, Conv2dTiling kTiling, bool kGelu = false>
__device__ __forceinline__ void conv2d_tiles(const CUtensorMap& x, const CUtensorMap& w, const Conv2dArguments& a) {
  extern __shared__ std::uint8_t dynamic[];
  const std::uint32_t start = (ptx::shared_address(dynamic) + 1023) & ~1023u;
  using Tile = Conv2dTile<T, kTiling, kGelu>;
  Tile{&x, &w, a, start, start + Tile::kPipelineBytes}.run();
}

}  // namespace tessera::cuda
