#pragma once

// CfC cells with a backbone of one layer, whose weights stay in registers: one launch for the whole sequence, products
// of tensor cores (operands rounded to tf32, sums in float32).
//
// A block, or a cluster of them that shares the units, takes 8 or 16 samples. Each of its 8 warps holds a tile of the
// backbone (16 results, up to 80 inputs) and the heads of 8 units (4 x 8 results, up to 128 inputs). Where a block has
// fewer tiles than warps, several warps share the depth of one and leave sums in shared memory; else results are made
// where the sums are: a lane has all four heads of a unit for two samples. What products read lies in shared memory,
// state before input. Blocks of a cluster send each result to all of them; a barrier counts the bytes that arrive, so
// that nobody waits for more than what it reads.

#include "tessera/targets/cuda/kernels/liquid/cfc.cuh"
#include "tessera/targets/cuda/kernels/liquid/liquid_arguments.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_device.cuh"

namespace tessera::cuda::liquid {

// Into another block's shared memory; counted at a barrier there. Both addresses are of this block.
__device__ __forceinline__ void send(std::uint32_t place, float value, std::uint32_t barrier, int cluster) {
  for (int rank = 0; rank < cluster; ++rank)
    asm volatile(
        "{\n.reg .b32 place, barrier;\nmapa.shared::cluster.u32 place, %0, %3;\nmapa.shared::cluster.u32 barrier, %2, "
        "%3;\nst.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [place], %1, [barrier];\n}" ::"r"(place),
        "f"(value), "r"(barrier), "r"(rank)
        : "memory");
}

// Until the phase of this parity is over, and what blocks of the cluster sent is there.
__device__ __forceinline__ void wait_for_cluster(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@done bra.uni finished;\nbra.uni again;\nfinished:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Lanes that write results of a sample pair, and lanes that read four inputs of a sample, touch different banks.
__device__ __forceinline__ int row_place(int sample, int column, int pitch) {
  return sample * pitch + (column ^ (sample << 2 & 8));
}

template <int kColumns>
struct CfcRegisters {
  static constexpr int kSamples = 8 * kColumns;
  static constexpr int kBackbone = kRegisterBackboneSteps, kHeads = kRegisterHeadSteps;
  using Math = CfcMath<false>;

  const CfcRegisterArguments& a;
  float* shared;
  int rank, first, samples, warp, lane;

  __device__ __forceinline__ void put(int place, float value, int barrier) const {
    if (a.cluster == 1)
      shared[place] = TensorProduct::rounded(value);
    else
      send(ptx::shared_address(shared + place), TensorProduct::rounded(value),
           ptx::shared_address(shared + a.barriers_at) + barrier * 8, a.cluster);
  }

  __device__ __forceinline__ void put_backbone(int row, int n, float sum) const {
    const int unit = rank * a.block_width + row;
    if (row >= a.block_width || unit >= a.width || n >= samples) return;
    put(a.backbone_at + row_place(n, unit, a.backbone_pitch), Math::activated(a.activation, sum), 0);
  }

  __device__ __forceinline__ void put_state(int u, int n, float f1, float f2, float time_a, float time_b, float tau,
                                            float amplitude, int t) const {
    const int unit = rank * a.block_units + u;
    if (u >= a.block_units || unit >= a.units || n >= samples) return;
    const LiquidSequence& s = a.sequence;
    float time = 1;
    if (a.times == LiquidTimes::each_step) time = shared[a.times_at + (t & 1) * kSamples + n];
    if (a.times == LiquidTimes::each_unit)
      time = s.times[(first + n) * s.time_sample + t * s.time_step + unit * s.time_unit];
    float value;
    if (a.finish == CfcFinish::pure) {
      value = amplitude - amplitude * Math::exponential(-time * (fabsf(tau) + fabsf(f1))) * f1;
    } else {
      const float gate = Math::logistic(time_a * time + time_b);
      const float one = Math::passed(a.head, f1), other = Math::passed(a.head, f2);
      value = (a.finish == CfcFinish::no_gate ? one : one * (1 - gate)) + gate * other;
    }
    const bool is_last = t + 1 == s.steps;
    if (!is_last) put(a.rows_at + row_place(n, unit, a.rows_pitch), value, 1);
    if (s.states != nullptr) s.states[(first + n) * s.state_sample + t * s.state_step + unit] = value;
    if (is_last && s.last != nullptr) s.last[static_cast<std::int64_t>(first + n) * a.units + unit] = value;
  }

  // As that of other CfC layers (cfc.cuh), behind the state.
  __device__ __forceinline__ void feed(int t) const {
    const LiquidSequence& s = a.sequence;
    float* staging = shared + a.staging_at;
    const bool more = t + 1 < s.steps;
    if (t > 0) wait_for_copies();
    for (int i = threadIdx.x; i < (samples << a.input_shift); i += kRegisterThreads) {
      const int n = i >> a.input_shift, column = i & ((1 << a.input_shift) - 1);
      if (column >= a.inputs) continue;
      const float* from = s.x + (first + n) * s.x_sample + t * s.x_step + column;
      shared[a.rows_at + row_place(n, a.units + column, a.rows_pitch)] =
          TensorProduct::rounded(t == 0 ? *from : staging[i]);
      if (more) copy_later_4(staging + i, from + s.x_step);
    }
    if (a.times != LiquidTimes::each_step) return;
    if (const int n = threadIdx.x; n < samples) {
      const float* from = s.times + (first + n) * s.time_sample + t * s.time_step;
      float* arrived = staging + (kSamples << a.input_shift) + n;
      shared[a.times_at + (t & 1) * kSamples + n] = t == 0 ? *from : *arrived;
      if (more) copy_later_4(arrived, from + s.time_step);
    }
  }

  __device__ __forceinline__ void start() const {
    const LiquidSequence& s = a.sequence;
    if (s.first == nullptr) return;
    for (int n = warp; n < samples; n += kRegisterWarps)
      for (int unit = lane; unit < a.units; unit += 32)
        shared[a.rows_at + row_place(n, unit, a.rows_pitch)] =
            TensorProduct::rounded(s.first[static_cast<std::int64_t>(first + n) * a.units + unit]);
  }

  // Sums of a tile into shared memory, for others to add.
  __device__ __forceinline__ void leave(const float (&sums)[kColumns][4], int slice, int row, int pitch) const {
    float* to = shared + a.sums_at + (slice * kSamples + lane % 4 * 2) * pitch + row + lane / 4;
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
#pragma unroll
      for (int i = 0; i < 4; ++i) to[(c * 8 + i % 2) * pitch + i / 2 * 8] = sums[c][i];
  }
  __device__ __forceinline__ float added(int n, int row, int slices, int pitch) const {
    const float* from = shared + a.sums_at + n * pitch + row;
    float sum = 0;
#pragma unroll
    for (int s = 0; s < kRegisterWarps; ++s)
      if (s < slices) sum += from[s * kSamples * pitch];
    return sum;
  }

  __device__ __forceinline__ void run() const {
    // What this warp has of each product.
    const int tile = warp % a.tiles, slice = warp / a.tiles;
    const int group = warp % a.groups, head_slice = warp / a.groups;
    float4 backbone[2 * kBackbone], heads[2][2 * kHeads];
    {
      const float4* from = reinterpret_cast<const float4*>(a.weights) +
                           (rank * kRegisterWarps + warp) * (2 * kBackbone + 4 * kHeads) * 32 + lane;
#pragma unroll
      for (int i = 0; i < 2 * kBackbone; ++i) backbone[i] = from[i * 32];
#pragma unroll
      for (int i = 0; i < 4 * kHeads; ++i) heads[i / (2 * kHeads)][i % (2 * kHeads)] = from[(2 * kBackbone + i) * 32];
    }
    // Biases: of two rows of the backbone, and of the four heads of a unit. The first slice has them.
    float bias[2] = {}, head_bias[4] = {}, tau = 0, amplitude = 0;
    {
      const float* constants = a.constants + rank * a.constants_per_block;
      const int row = tile * 16 + lane / 4, u = group * 8 + lane / 4;
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (slice == 0 && row + i * 8 < a.block_width) bias[i] = constants[row + i * 8];
      constants += a.block_width;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (head_slice == 0 && u < a.block_units) head_bias[i] = constants[i * a.block_units + u];
      if (u < a.block_units) {
        tau = constants[4 * a.block_units + u];
        amplitude = constants[5 * a.block_units + u];
      }
    }
    const int column = (lane % 4 * 4) ^ (lane / 4 << 2 & 8);
    const float* rows = shared + a.rows_at + lane / 4 * a.rows_pitch + slice * kBackbone * 16 + column;
    const float* made = shared + a.backbone_at + lane / 4 * a.backbone_pitch + head_slice * kHeads * 16 + column;
    // Where there is nothing to make, nothing is read: rows may change as soon as everything that is made of them is
    // there.
    const int widths = min(a.block_width, a.width - rank * a.block_width),
              units = min(a.block_units, a.units - rank * a.block_units);
    const bool multiplies = slice < a.slices && tile * 16 < widths,
               multiplies_heads = head_slice < a.head_slices && group * 8 < units;
    const std::uint32_t barriers = ptx::shared_address(shared + a.barriers_at);
    const std::uint32_t expected[2] = {static_cast<std::uint32_t>(samples * a.width * 4),
                                       static_cast<std::uint32_t>(samples * a.units * 4)};
    const int steps = a.sequence.steps;

    for (int t = 0; t < steps; ++t) {
      if (a.cluster > 1 && t > 0) {
        wait_for_cluster(barriers + 8, (t - 1) & 1);
        if (threadIdx.x == 0) ptx::barrier_expect(barriers + 8, expected[1]);
      }
      // The backbone.
      if (multiplies) {
        float sums[2][kColumns][4] = {};
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[0][c][i] = bias[i / 2];
#pragma unroll
        for (int k = 0; k < kBackbone; ++k)
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            const float4 b = *reinterpret_cast<const float4*>(rows + c * 8 * a.rows_pitch + k * 16);
            multiply_tf32(sums[0][c], backbone[2 * k], b.x, b.y);
            multiply_tf32(sums[1][c], backbone[2 * k + 1], b.z, b.w);
          }
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[0][c][i] += sums[1][c][i];
        if (a.slices > 1) {
          leave(sums[0], slice, tile * 16, a.sum_pitch);
        } else {
#pragma unroll
          for (int c = 0; c < kColumns; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i)
              put_backbone(tile * 16 + lane / 4 + i / 2 * 8, c * 8 + lane % 4 * 2 + i % 2, sums[0][c][i]);
        }
      }
      if (a.slices > 1) {
        __syncthreads();
        for (int i = threadIdx.x; i < (samples << a.width_shift); i += kRegisterThreads) {
          const int n = i >> a.width_shift, row = i & ((1 << a.width_shift) - 1);
          if (row < widths) put_backbone(row, n, added(n, row, a.slices, a.sum_pitch));
        }
      }
      if (a.cluster > 1) {
        wait_for_cluster(barriers, t & 1);
        if (threadIdx.x == 0) ptx::barrier_expect(barriers, expected[0]);
      } else {
        __syncthreads();
      }
      // The heads: first tile f1 and f2 of 8 units, second tile time_a and time_b.
      constexpr int kChains = kColumns == 1 ? 2 : 1;  // sums that do not wait for each other; registers are few
      float sums[kChains][2][kColumns][4] = {};
      if (multiplies_heads) {
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int c = 0; c < kColumns; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[0][h][c][i] = head_bias[h * 2 + i / 2];
#pragma unroll
        for (int k = 0; k < kHeads; ++k)
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            const float4 b = *reinterpret_cast<const float4*>(made + c * 8 * a.backbone_pitch + k * 16);
#pragma unroll
            for (int h = 0; h < 2; ++h) {
              multiply_tf32(sums[0][h][c], heads[h][2 * k], b.x, b.y);
              multiply_tf32(sums[kChains - 1][h][c], heads[h][2 * k + 1], b.z, b.w);
            }
          }
        if constexpr (kChains == 2)
#pragma unroll
          for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int c = 0; c < kColumns; ++c)
#pragma unroll
              for (int i = 0; i < 4; ++i) sums[0][h][c][i] += sums[kChains - 1][h][c][i];
      }
      // Every warp has read this step's inputs: the backbone is there.
      if (t + 1 < steps) feed(t + 1);
      if (a.head_slices > 1) {
        if (multiplies_heads)
#pragma unroll
          for (int h = 0; h < 2; ++h) leave(sums[0][h], head_slice, (group * 2 + h) * 16, a.head_sum_pitch);
        __syncthreads();
        for (int i = threadIdx.x; i < (samples << a.unit_shift); i += kRegisterThreads) {
          const int n = i >> a.unit_shift, u = i & ((1 << a.unit_shift) - 1);
          if (u >= units) continue;
          const int row = u / 8 * 32 + u % 8;
          float f[4];
#pragma unroll
          for (int h = 0; h < 4; ++h) f[h] = added(n, row + h * 8, a.head_slices, a.head_sum_pitch);
          const float* constants = a.constants + rank * a.constants_per_block + a.block_width + u;
          const bool pure = a.finish == CfcFinish::pure;
          put_state(u, n, f[0], f[1], f[2], f[3], pure ? constants[4 * a.block_units] : 0,
                    pure ? constants[5 * a.block_units] : 0, t);
        }
      } else {
        if (a.cluster > 1) __syncthreads();  // the next step's inputs, which a barrier of bytes does not cover
        if (multiplies_heads)
#pragma unroll
          for (int c = 0; c < kColumns; ++c)
#pragma unroll
            for (int i = 0; i < 2; ++i)
              put_state(group * 8 + lane / 4, c * 8 + lane % 4 * 2 + i, sums[0][0][c][i], sums[0][0][c][2 + i],
                        sums[0][1][c][i], sums[0][1][c][2 + i], tau, amplitude, t);
      }
      if (a.cluster == 1) __syncthreads();
    }
  }
};

template <int kColumns>
__device__ __forceinline__ void run_cfc_registers(const CfcRegisterArguments& a) {
  extern __shared__ __align__(16) float shared[];
  constexpr int kSamples = 8 * kColumns;
  const int rank = a.cluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0;
  const int first = static_cast<int>(blockIdx.x) / a.cluster * kSamples;
  const CfcRegisters<kColumns> block{a,
                                     shared,
                                     rank,
                                     first,
                                     min(kSamples, a.sequence.batch - first),
                                     static_cast<int>(threadIdx.x) / 32,
                                     static_cast<int>(threadIdx.x) % 32};
  for (int i = a.rows_at + static_cast<int>(threadIdx.x); i < a.rows_end; i += kRegisterThreads) shared[i] = 0;
  const std::uint32_t barriers = ptx::shared_address(shared + a.barriers_at);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) ptx::barrier_init(barriers + i * 8, 1);
    ptx::barrier_init_fence();
    ptx::barrier_expect(barriers, static_cast<std::uint32_t>(block.samples * a.width * 4));
    ptx::barrier_expect(barriers + 8, static_cast<std::uint32_t>(block.samples * a.units * 4));
  }
  __syncthreads();
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  block.start();
  block.feed(0);
  sync(a.cluster);
  block.run();
  // Nobody leaves while others may still send to it.
  if (a.cluster > 1) ptx::cluster_sync();
}

}  // namespace tessera::cuda::liquid
