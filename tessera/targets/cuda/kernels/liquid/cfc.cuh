#pragma once

// CfC layers: one launch for the whole sequence. A block, or a cluster of them that shares the units, takes a few
// samples and walks over all steps. Weights stay in shared memory where they fit (else they are read from L2), and so
// do the rows that products read: inputs and state side by side, then what layers of the backbone make.
//
// A step is a list of stages. Warps of a stage multiply tiles of weights by the rows of all samples, possibly a slice
// of the depth each, and leave sums in shared memory; then each thread takes a unit of a sample, adds the slices and
// the bias, applies activation or gate, and stores the result in every block that reads it.

#include "tessera/targets/cuda/kernels/liquid/liquid_arguments.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_device.cuh"

namespace tessera::cuda::liquid {

// --- products by tensor cores, operands rounded to tf32 ------------------------------------------------------------

// d += a b for 16 rows of a, 8 columns of b, 8 deep.
__device__ __forceinline__ void multiply_tf32(float (&d)[4], const float4& a, float b0, float b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(a.x)), "r"(__float_as_uint(a.y)), "r"(__float_as_uint(a.z)), "r"(__float_as_uint(a.w)),
        "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

// Where a sum is, and which part of it a warp takes.
struct CfcPart {
  const float* weights;
  const float* rows;
  float* sums;
  int pitch, sum_pitch, depth, tile, begin, end;  // steps of the depth
};

struct TensorProduct {
  static constexpr int kRows = kTensorRows;
  static constexpr bool kExact = false;

  // What products read: the nearest number of tf32.
  static __device__ __forceinline__ float rounded(float x) {
    std::uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return __uint_as_float(bits);
  }

  // Lane l is column l / 4 of the rows. Lane l % 4 of it reads inputs 4 (l % 4) to 4 (l % 4) + 3 of a step of 16: two
  // for each of two multiplications, whose depth is in another order than memory. The weights are packed likewise.
  template <int kSamples, int kGroup>
  static __device__ __forceinline__ void run(const CfcPart& part) {
    constexpr int kTiles = kSamples / 8;
    constexpr int kChains = kTiles * kGroup <= 4 ? 2 : 1;  // sums that do not wait for each other
    const int lane = threadIdx.x % 32;
    float sums[kChains][kGroup][kTiles][4] = {};
    const float* row = part.rows + (lane / 4) * part.pitch + lane % 4 * 4;
    const float4* weights = reinterpret_cast<const float4*>(part.weights) + part.tile * part.depth * 64 + lane;
#pragma unroll 2
    for (int k = part.begin; k < part.end; ++k) {
      float4 b[kTiles];
#pragma unroll
      for (int n = 0; n < kTiles; ++n) b[n] = *reinterpret_cast<const float4*>(row + n * 8 * part.pitch + k * 16);
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        const float4 first = weights[(i * part.depth + k) * 64], second = weights[(i * part.depth + k) * 64 + 32];
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
          multiply_tf32(sums[0][i][n], first, b[n].x, b[n].y);
          multiply_tf32(sums[kChains - 1][i][n], second, b[n].z, b[n].w);
        }
      }
    }
    float* to = part.sums + lane % 4 * 2 * part.sum_pitch + part.tile * kRows + lane / 4;
#pragma unroll
    for (int i = 0; i < kGroup; ++i)
#pragma unroll
      for (int n = 0; n < kTiles; ++n)
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const float sum = kChains == 2 ? sums[0][i][n][c] + sums[kChains - 1][i][n][c] : sums[0][i][n][c];
          to[(n * 8 + c % 2) * part.sum_pitch + i * kRows + c / 2 * 8] = sum;
        }
  }
};

// --- products in float32 -------------------------------------------------------------------------------------------

struct PlainProduct {
  static constexpr int kRows = kPlainRows;
  static constexpr bool kExact = true;

  static __device__ __forceinline__ float rounded(float x) { return x; }

  // Each lane has a row of the weights, or several 32 apart, and sums for all samples.
  template <int kSamples, int kGroup>
  static __device__ __forceinline__ void run(const CfcPart& part) {
    const int lane = threadIdx.x % 32;
    float sums[kGroup][kSamples] = {};
    const float4* weights = reinterpret_cast<const float4*>(part.weights) + part.tile * part.depth * 128 + lane;
#pragma unroll(kSamples >= 16 ? 2 : 4)
    for (int k = part.begin * 4; k < part.end * 4; ++k) {
      float4 w[kGroup];
#pragma unroll
      for (int i = 0; i < kGroup; ++i) w[i] = weights[(i * part.depth * 4 + k) * 32];
#pragma unroll
      for (int n = 0; n < kSamples; ++n) {
        const float4 x = *reinterpret_cast<const float4*>(part.rows + n * part.pitch + k * 4);
#pragma unroll
        for (int i = 0; i < kGroup; ++i) {
          sums[i][n] = fmaf(w[i].x, x.x, sums[i][n]);
          sums[i][n] = fmaf(w[i].y, x.y, sums[i][n]);
          sums[i][n] = fmaf(w[i].z, x.z, sums[i][n]);
          sums[i][n] = fmaf(w[i].w, x.w, sums[i][n]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kGroup; ++i)
#pragma unroll
      for (int n = 0; n < kSamples; ++n) part.sums[n * part.sum_pitch + (part.tile + i) * kRows + lane] = sums[i][n];
  }
};

// --- what becomes of sums ------------------------------------------------------------------------------------------

// kExact: each function to a few units in the last place. Else tanh and the logistic function to about 2^-21 of 1.
template <bool kExact>
struct CfcMath {
  static constexpr float kLog2E = 1.44269504088896f;
  static __device__ __forceinline__ float exponential(float x) { return kExact ? expf(x) : exp2_fast(x * kLog2E); }
  static __device__ __forceinline__ float logistic(float x) {
    return kExact ? 1.0f / (1.0f + expf(-x)) : reciprocal(1.0f + exp2_fast(x * -kLog2E));
  }
  static __device__ __forceinline__ float tangent(float x) {
    return kExact ? tanhf(x) : 1.0f - 2.0f * reciprocal(1.0f + exp2_fast(x * (2 * kLog2E)));
  }
  static __device__ __forceinline__ float lecun(float x) { return 1.7159f * tangent(0.666f * x); }
  // The usual ones first: a table of jumps takes longer than they do.
  static __device__ __forceinline__ float activated(CfcActivation kind, float x) {
    if (kind == CfcActivation::tanh) return tangent(x);
    if (kind == CfcActivation::lecun_tanh) return lecun(x);
    if (kind == CfcActivation::relu) return x < 0 ? 0 : x;  // NaN passes on
    if (kind == CfcActivation::silu) return x * logistic(x);
    return x * normcdff(x);
  }
  static __device__ __forceinline__ float passed(CfcHead kind, float x) {
    if (kind == CfcHead::tanh) return tangent(x);
    return kind == CfcHead::none ? x : lecun(x);
  }
};

template <class Product, int kSamples>
struct CfcBlock {
  using Math = CfcMath<Product::kExact>;

  const CfcArguments& a;
  float* shared;
  int rank, first, samples;  // of the cluster; the first sample, and how many there are

  // What each item of a stage is, worked out once: divisions take longer than the products of a small layer.
  __device__ __forceinline__ void make_items() const {
    for (int i = 0; i < a.stage_count; ++i) {
      const CfcStage& stage = a.stages[i];
      const int groups = stage.tiles / stage.group;
      for (int item = threadIdx.x; item < groups * stage.slices; item += kCfcThreads) {
        const int slice = item / groups;
        reinterpret_cast<int4*>(shared + stage.items)[item] =
            make_int4(item % groups * stage.group, slice * kSamples * stage.sum_pitch,
                      slice * stage.depth / stage.slices, (slice + 1) * stage.depth / stage.slices);
      }
    }
  }

  template <int kGroup>
  __device__ __forceinline__ void multiply_groups(const CfcStage& stage, const float* weights, int odd) const {
    for (int i = threadIdx.x / 32; i < stage.item_count; i += kCfcWarps) {
      const int4 item = reinterpret_cast<const int4*>(shared + stage.items)[i];
      Product::template run<kSamples, kGroup>({.weights = weights + stage.weights,
                                               .rows = shared + stage.in + odd * stage.in_toggle,
                                               .sums = shared + a.sums_at + item.y,
                                               .pitch = stage.in_pitch,
                                               .sum_pitch = stage.sum_pitch,
                                               .depth = stage.depth,
                                               .tile = item.x,
                                               .begin = item.z,
                                               .end = item.w});
    }
  }

  __device__ __forceinline__ void multiply(const CfcStage& stage, const float* weights, int odd) const {
    constexpr int kMost = kMostGrouped<!Product::kExact, kSamples>;
    if (stage.group == 1) multiply_groups<1>(stage, weights, odd);
    if constexpr (kMost >= 2)
      if (stage.group == 2) multiply_groups<2>(stage, weights, odd);
    if constexpr (kMost >= 3)
      if (stage.group == 3) multiply_groups<3>(stage, weights, odd);
  }

  __device__ __forceinline__ float time_of(const CfcStage& stage, int n, int unit, int t) const {
    if (a.times == LiquidTimes::none) return 1;
    if (a.times == LiquidTimes::each_step) return shared[a.times_at + (t & 1) * kSamples + n];
    return a.sequence.times[(first + n) * a.sequence.time_sample + t * a.sequence.time_step +
                            (stage.state + unit) * a.sequence.time_unit];
  }

  __device__ __forceinline__ float result(const CfcStage& stage, int n, int u, int unit, int t) const {
    const float* constants = shared + a.constants_at + stage.bias + u;
    const float* sums = shared + a.sums_at + n * stage.sum_pitch + u;
    const int slice_step = kSamples * stage.sum_pitch, next_head = stage.block_units;
    if (stage.heads == 1) {
      float sum = constants[0];
      for (int s = 0; s < stage.slices; ++s, sums += slice_step) sum += *sums;
      if (stage.finish == CfcFinish::activate) return Math::activated(a.activation, sum);
      if (stage.finish == CfcFinish::project) return sum;
      const float tau = constants[next_head], amplitude = constants[2 * next_head];
      const float time = time_of(stage, n, unit, t);
      return amplitude - amplitude * Math::exponential(-time * (fabsf(tau) + fabsf(sum))) * sum;
    }
    const bool four = stage.heads == 4;
    float first_head = constants[0], second_head = constants[next_head], time_a = constants[2 * next_head],
          time_b = four ? constants[3 * next_head] : 0;
    for (int s = 0; s < stage.slices; ++s, sums += slice_step) {
      first_head += sums[0];
      second_head += sums[next_head];
      time_a += sums[2 * next_head];
      if (four) time_b += sums[3 * next_head];
    }
    const float gate = Math::logistic(four ? time_a * time_of(stage, n, unit, t) + time_b : time_a);
    const float one = Math::passed(a.head, first_head), other = Math::passed(a.head, second_head);
    return (stage.finish == CfcFinish::no_gate ? one : one * (1 - gate)) + gate * other;
  }

  __device__ __forceinline__ void finish(const CfcStage& stage, int t) const {
    const LiquidSequence& s = a.sequence;
    for (int i = threadIdx.x; i < (samples << stage.unit_shift); i += kCfcThreads) {
      const int n = i >> stage.unit_shift, u = i & ((1 << stage.unit_shift) - 1);
      const int unit = rank * stage.block_units + u;
      if (u >= stage.block_units || unit >= stage.units) continue;
      const float value = result(stage, n, u, unit, t);
      const std::int64_t sample = first + n;
      const bool is_last = t + 1 == s.steps;
      if (stage.finish == CfcFinish::project) {
        if (s.output_step != 0 || is_last) s.output[sample * s.output_sample + t * s.output_step + unit] = value;
        continue;
      }
      if (stage.finish != CfcFinish::activate) {
        const int column = stage.state + unit;
        if (s.states != nullptr) s.states[sample * s.state_sample + t * s.state_step + column] = value;
        if (is_last && s.last != nullptr) s.last[sample * a.units + column] = value;
      }
      const float kept = Product::rounded(value);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const CfcTarget& target = stage.targets[j];
        if (target.at < 0) break;
        float* place = shared + target.at + ((t + target.later) & 1) * target.toggle + n * target.pitch + unit;
        if (a.cluster == 1)
          *place = kept;
        else
          store_to_all(place, kept, a.cluster);
      }
    }
  }

  // Inputs and times: of the first step at once; of a later one as they arrived, while those after it are on their way.
  // A thread reads what it copied itself, so that nobody has to wait.
  __device__ __forceinline__ void feed(int t) const {
    const LiquidSequence& s = a.sequence;
    const CfcStage& entry = a.stages[0];
    float* staging = shared + a.staging_at;
    float* rows = shared + entry.in + (t & 1) * entry.in_toggle;
    const bool more = t + 1 < s.steps;
    if (t > 0) wait_for_copies();
    for (int i = threadIdx.x; i < (samples << a.input_shift); i += kCfcThreads) {
      const int n = i >> a.input_shift, column = i & ((1 << a.input_shift) - 1);
      if (column >= a.inputs) continue;
      const float* from = s.x + (first + n) * s.x_sample + t * s.x_step + column;
      rows[n * entry.in_pitch + column] = Product::rounded(t == 0 ? *from : staging[i]);
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

  // The first state into the rows of each cell; it has a place behind the cell's inputs.
  __device__ __forceinline__ void start() const {
    const LiquidSequence& s = a.sequence;
    if (s.first == nullptr) return;
    for (int i = 0; i < a.stage_count; ++i) {
      const CfcStage& stage = a.stages[i];
      if (stage.finish == CfcFinish::activate || stage.finish == CfcFinish::project) continue;
      const CfcTarget& own = stage.targets[0];
      for (int n = threadIdx.x / 32; n < samples; n += kCfcWarps)
        for (int unit = threadIdx.x % 32; unit < stage.units; unit += 32)
          shared[own.at + n * own.pitch + unit] =
              Product::rounded(s.first[(first + n) * static_cast<std::int64_t>(a.units) + stage.state + unit]);
    }
  }
};

template <class Product, int kSamples>
__device__ __forceinline__ void run_cfc(const CfcArguments& a) {
  extern __shared__ __align__(16) float shared[];
  const int rank = a.cluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0;
  const int first = static_cast<int>(blockIdx.x) / a.cluster * kSamples;
  const CfcBlock<Product, kSamples> block{a, shared, rank, first, min(kSamples, a.sequence.batch - first)};
  const float* weights = a.weights + static_cast<std::int64_t>(rank) * a.weights_per_block;
  copy_block(shared + a.constants_at, a.constants + rank * a.constants_per_block, a.constants_per_block);
  if (a.resident) copy_block(shared + a.weights_at, weights, a.weights_per_block);
  for (int i = a.rows_at + static_cast<int>(threadIdx.x); i < a.rows_end; i += kCfcThreads) shared[i] = 0;
  block.make_items();
  wait_for_copies();
  __syncthreads();
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  block.start();
  block.feed(0);
  sync(a.cluster);  // a peer must have cleared its rows before anything is stored there
  for (int t = 0; t < a.sequence.steps; ++t)
    for (int i = 0; i < a.stage_count; ++i) {
      const CfcStage& stage = a.stages[i];
      // Two calls, so that the compiler knows where each reads from.
      if (a.resident)
        block.multiply(stage, shared + a.weights_at, t & 1);
      else
        block.multiply(stage, weights, t & 1);
      __syncthreads();
      block.finish(stage, t);
      if (i + 1 == a.stage_count && t + 1 < a.sequence.steps) block.feed(t + 1);
      sync(a.cluster);
    }
}

}  // namespace tessera::cuda::liquid
