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

// Addresses in another block's shared memory are as far apart as in this one's.
__device__ __forceinline__ std::uint32_t distance_to(int rank, std::uint32_t here) {
  std::uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  return there - here;
}
// Into another block's shared memory; counted at a barrier there.
__device__ __forceinline__ void send(std::uint32_t place, float value, std::uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(place), "f"(value),
               "r"(barrier)
               : "memory");
}

__device__ __forceinline__ void store_shared(std::uint32_t place, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(place), "f"(value) : "memory");
}

__device__ __forceinline__ float load_shared(std::uint32_t place) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(place) : "memory");
  return value;
}

// Stays in a register: the compiler would rather read kernel arguments again at every step, and wait for them.
__device__ __forceinline__ void keep(int& x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void keep(std::uint32_t& x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void keep(float& x) { asm volatile("" : "+f"(x)); }

// Lanes that write results of a sample pair, and lanes that read four inputs of a sample, touch different banks.
__device__ __forceinline__ int row_place(int sample, int column, int pitch) {
  return sample * pitch + (column ^ (sample << 2 & 8));
}

// outer tanh(inner x), as outer - 2 outer / (1 + 2^(x log2(e) 2 inner)).
struct ScaledTangent {
  float outer, factor, slope;

  __device__ __forceinline__ ScaledTangent(bool lecun)
      : outer(lecun ? 1.7159f : 1.0f), factor(-2 * outer), slope((lecun ? 0.666f : 1.0f) * 2 * CfcMath<false>::kLog2E) {
    keep(outer);
    keep(factor);
    keep(slope);
  }
  __device__ __forceinline__ float operator()(float x) const {
    return fmaf(factor, reciprocal(1.0f + exp2_fast(x * slope)), outer);
  }
};

// The rare ones are kept out of the way.
__device__ __noinline__ float other_activation(CfcActivation kind, float x) {
  return CfcMath<false>::activated(kind, x);
}

// kUsual: gated, every step takes 1, and both activation and heads are tangents. There is nothing to ask at each step
// then.
template <int kColumns, bool kCluster, bool kUsual>
struct CfcRegisters {
  static constexpr int kSamples = 8 * kColumns;
  static constexpr int kBackbone = kRegisterBackboneSteps, kHeads = kRegisterHeadSteps;
  using Math = CfcMath<false>;

  const CfcRegisterArguments& a;
  float* shared;
  int rank, first, samples, warp, lane;

  // Results of a lane for all who read them: places in this block's shared memory, and its barrier.
  template <int kCount>
  __device__ __forceinline__ void put(const std::uint32_t (&places)[kCount], const float (&values)[kCount],
                                      const bool (&there)[kCount], std::uint32_t barrier) const {
    float kept[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) kept[i] = TensorProduct::rounded(values[i]);
    if constexpr (kCluster) {
      for (int to = 0; to < a.cluster; ++to) {
        const std::uint32_t distance = distance_to(to, barrier);
#pragma unroll
        for (int i = 0; i < kCount; ++i)
          if (there[i]) send(places[i] + distance, kept[i], barrier + distance);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (there[i]) store_shared(places[i], kept[i]);
    }
  }

  __device__ __forceinline__ float time_of(int unit, int n, int t) const {
    const LiquidSequence& s = a.sequence;
    if (a.times == LiquidTimes::each_step) return shared[a.times_at + (t & 1) * kSamples + n];
    return s.times[(first + n) * s.time_sample + t * s.time_step + min(unit, a.units - 1) * s.time_unit];
  }

  // Next states from four heads each, all at once: they need not wait for each other.
  template <int kCount>
  __device__ __forceinline__ void make_states(const float (&f)[kCount][4], const float (&times)[kCount],
                                              const ScaledTangent& tangent, float tau, float amplitude,
                                              float (&states)[kCount]) const {
    if (!kUsual && a.finish == CfcFinish::pure) {
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        states[i] = amplitude - amplitude * Math::exponential(-times[i] * (fabsf(tau) + fabsf(f[i][0]))) * f[i][0];
      return;
    }
    float gates[kCount], ones[kCount], others[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) gates[i] = Math::logistic(fmaf(f[i][2], times[i], f[i][3]));
#pragma unroll
    for (int i = 0; i < kCount; ++i) ones[i] = f[i][0], others[i] = f[i][1];
    if (kUsual || a.head != CfcHead::none)
#pragma unroll
      for (int i = 0; i < kCount; ++i) ones[i] = tangent(f[i][0]), others[i] = tangent(f[i][1]);
    const bool gated = kUsual || a.finish == CfcFinish::gated;
#pragma unroll
    for (int i = 0; i < kCount; ++i) states[i] = (gated ? ones[i] * (1 - gates[i]) : ones[i]) + gates[i] * others[i];
  }

  // Inputs and times as other CfC layers have them (cfc.cuh); the inputs lie behind the state.
  __device__ __forceinline__ void feed_element(int i, int t, const float* from) const {
    const int n = i >> a.input_shift, column = i & ((1 << a.input_shift) - 1);
    float* staging = shared + a.staging_at + i;
    shared[a.rows_at + row_place(n, a.units + column, a.rows_pitch)] =
        TensorProduct::rounded(t == 0 ? *from : *staging);
    if (t + 1 < a.sequence.steps) copy_later_4(staging, from + a.sequence.x_step);
  }
  // What is more than one for each thread, and times.
  __device__ __forceinline__ void feed_more(int t) const {
    const LiquidSequence& s = a.sequence;
#pragma unroll 1
    for (int i = threadIdx.x + kRegisterThreads; i < (samples << a.input_shift); i += kRegisterThreads) {
      const int n = i >> a.input_shift, column = i & ((1 << a.input_shift) - 1);
      if (column < a.inputs) feed_element(i, t, s.x + (first + n) * s.x_sample + t * s.x_step + column);
    }
    if (a.times != LiquidTimes::each_step) return;
    if (const int n = threadIdx.x; n < samples) {
      const float* from = s.times + (first + n) * s.time_sample + t * s.time_step;
      float* arrived = shared + a.staging_at + (kSamples << a.input_shift) + n;
      shared[a.times_at + (t & 1) * kSamples + n] = t == 0 ? *from : *arrived;
      if (t + 1 < s.steps) copy_later_4(arrived, from + s.time_step);
    }
  }
  __device__ __forceinline__ const float* own_input() const {
    const int n = threadIdx.x >> a.input_shift, column = threadIdx.x & ((1 << a.input_shift) - 1);
    return n < samples && column < a.inputs ? a.sequence.x + (first + n) * a.sequence.x_sample + column : nullptr;
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
  __device__ __forceinline__ float added(const float* from, int slices, int step) const {
    float sum = from[0];
    for (int s = 1; s < slices; ++s) sum += from[s * step];
    return sum;
  }

  __device__ __forceinline__ void run() const {
    const LiquidSequence& s = a.sequence;
    // What this warp has of each product. Where there is nothing to make, nothing is read: rows may change as soon as
    // everything that is made of them is there.
    const int tile = warp % a.tiles, slice = warp / a.tiles;
    const int group = warp % a.groups, head_slice = warp / a.groups;
    const int widths = min(a.block_width, a.width - rank * a.block_width),
              units = min(a.block_units, a.units - rank * a.block_units);
    const bool multiplies = slice < a.slices && tile * 16 < widths,
               multiplies_heads = head_slice < a.head_slices && group * 8 < units;
    float4 backbone[2 * kBackbone], heads[2][2 * kHeads];
    {
      const float4* from = reinterpret_cast<const float4*>(a.weights) +
                           (rank * kRegisterWarps + warp) * (2 * kBackbone + 4 * kHeads) * 32 + lane;
#pragma unroll
      for (int i = 0; i < 2 * kBackbone; ++i) backbone[i] = from[i * 32];
#pragma unroll
      for (int i = 0; i < 4 * kHeads; ++i) heads[i / (2 * kHeads)][i % (2 * kHeads)] = from[(2 * kBackbone + i) * 32];
    }
    // This lane's rows of the backbone are `row` and 8 further, its unit is `u`, its samples are `pair` and the next of
    // each eight. Biases: the first slice has them.
    const int row = tile * 16 + lane / 4, u = group * 8 + lane / 4, pair = lane % 4 * 2;
    const float* constants = a.constants + rank * a.constants_per_block;
    const float* head_constants = constants + a.block_width + u;
    float bias[2] = {}, head_bias[4] = {}, tau = 0, amplitude = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (slice == 0 && row + i * 8 < widths) bias[i] = constants[row + i * 8];
    if (u < units) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (head_slice == 0) head_bias[i] = head_constants[i * a.block_units];
      if (!kUsual && a.finish == CfcFinish::pure) {
        tau = head_constants[4 * a.block_units];
        amplitude = head_constants[5 * a.block_units];
      }
    }
    const ScaledTangent backbone_tangent(a.activation == CfcActivation::lecun_tanh),
        head_tangent(a.head == CfcHead::lecun_tanh);
    const bool is_tangent = kUsual || a.activation == CfcActivation::lecun_tanh || a.activation == CfcActivation::tanh;
    // All at once, so that they do not wait for each other.
    const auto activate = [&]<int kCount>(float (&x)[kCount]) {
      if (is_tangent) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) x[i] = backbone_tangent(x[i]);
      } else {
#pragma unroll
        for (int i = 0; i < kCount; ++i) x[i] = other_activation(a.activation, x[i]);
      }
    };
    const float* own_x = own_input();
    const int own_n = threadIdx.x >> a.input_shift, own_column = threadIdx.x & ((1 << a.input_shift) - 1);
    std::uint32_t own_staging = ptx::shared_address(shared + a.staging_at + threadIdx.x),
                  own_place =
                      ptx::shared_address(shared + a.rows_at + row_place(own_n, a.units + own_column, a.rows_pitch));
    int sliced = a.slices > 1, heads_sliced = a.head_slices > 1,
        feeds_more = (samples << a.input_shift) > kRegisterThreads || a.times == LiquidTimes::each_step;
    int backbone_pitch = a.backbone_pitch * 4, rows_pitch = a.rows_pitch * 4, steps = a.sequence.steps;
    keep(own_staging);
    keep(own_place);
    keep(sliced);
    keep(heads_sliced);
    keep(feeds_more);
    keep(backbone_pitch);
    keep(rows_pitch);
    keep(steps);

    const int column = (lane % 4 * 4) ^ (lane / 4 << 2 & 8);
    const float* rows = shared + a.rows_at + lane / 4 * a.rows_pitch + slice * kBackbone * 16 + column;
    const float* made = shared + a.backbone_at + lane / 4 * a.backbone_pitch + head_slice * kHeads * 16 + column;
    // Where results go: samples that stand side by side share their order of columns.
    std::uint32_t barriers = ptx::shared_address(shared + a.barriers_at);
    std::uint32_t to_backbone[2] = {
        ptx::shared_address(shared + a.backbone_at + row_place(pair, rank * a.block_width + row, a.backbone_pitch)),
        ptx::shared_address(shared + a.backbone_at +
                            row_place(pair, rank * a.block_width + row + 8, a.backbone_pitch))};
    std::uint32_t to_rows =
        ptx::shared_address(shared + a.rows_at + row_place(pair, rank * a.block_units + u, a.rows_pitch));
    const int unit = rank * a.block_units + u;
    float* states = s.states == nullptr ? nullptr : s.states + (first + pair) * s.state_sample + unit;
    keep(barriers);
    keep(to_backbone[0]);
    keep(to_backbone[1]);
    keep(to_rows);

    for (int t = 0; t < steps; ++t) {
      if (kCluster && t > 0) {
        ptx::barrier_wait(barriers + 8, (t - 1) & 1);
        if (threadIdx.x == 0) ptx::barrier_expect(barriers + 8, static_cast<std::uint32_t>(samples * a.units * 4));
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
            const float4 b = *reinterpret_cast<const float4*>(rows + c * 2 * rows_pitch + k * 16);
            multiply_tf32(sums[0][c], backbone[2 * k], b.x, b.y);
            multiply_tf32(sums[1][c], backbone[2 * k + 1], b.z, b.w);
          }
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[0][c][i] += sums[1][c][i];
        if (sliced) {
          leave(sums[0], slice, tile * 16, a.sum_pitch);
        } else {
          float values[kColumns * 4];
          std::uint32_t places[kColumns * 4];
          bool there[kColumns * 4];
#pragma unroll
          for (int i = 0; i < kColumns * 4; ++i) {
            const int n = i / 4 * 8 + i % 2;
            values[i] = sums[0][i / 4][i % 4];
            places[i] = to_backbone[i % 4 / 2] + n * backbone_pitch;
            there[i] = row + i % 4 / 2 * 8 < widths && pair + n < samples;
          }
          activate(values);
          put(places, values, there, barriers);
        }
      }
      if (sliced) {
        __syncthreads();
        for (int i = threadIdx.x; i < (samples << a.width_shift); i += 2 * kRegisterThreads) {
          float values[2];
          std::uint32_t places[2];
          bool there[2];
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            const int at = i + j * kRegisterThreads, n = at >> a.width_shift, r = at & ((1 << a.width_shift) - 1);
            there[j] = n < samples && r < widths;
            places[j] =
                ptx::shared_address(shared + a.backbone_at + row_place(n, rank * a.block_width + r, a.backbone_pitch));
            values[j] =
                there[j] ? added(shared + a.sums_at + n * a.sum_pitch + r, a.slices, kSamples * a.sum_pitch) : 0;
          }
          activate(values);
          put(places, values, there, barriers);
        }
      }
      if constexpr (kCluster) {
        ptx::barrier_wait(barriers, t & 1);
        if (threadIdx.x == 0) ptx::barrier_expect(barriers, static_cast<std::uint32_t>(samples * a.width * 4));
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
            const float4 b = *reinterpret_cast<const float4*>(made + c * 2 * backbone_pitch + k * 16);
#pragma unroll
            for (int h = 0; h < 2; ++h) {
              multiply_tf32(sums[0][h][c], heads[h][2 * k], b.x, b.y);
              multiply_tf32(sums[kChains - 1][h][c], heads[h][2 * k + 1], b.z, b.w);
            }
          }
      }
      // While the sums are made. Every warp has read this step's inputs: the backbone is there.
      const bool goes_on = t + 1 < steps;
      if (goes_on) {
        wait_for_copies();
        if (own_x != nullptr) {
          store_shared(own_place, TensorProduct::rounded(load_shared(own_staging)));
          own_x += s.x_step;
          if (t + 2 < steps)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(own_staging), "l"(own_x + s.x_step)
                         : "memory");
        }
        if (feeds_more) feed_more(t + 1);
      }
      if constexpr (kChains == 2)
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int c = 0; c < kColumns; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[0][h][c][i] += sums[kChains - 1][h][c][i];
      if (heads_sliced) {
        if (multiplies_heads)
#pragma unroll
          for (int h = 0; h < 2; ++h) leave(sums[0][h], head_slice, (group * 2 + h) * 16, a.head_sum_pitch);
        __syncthreads();
        for (int i = threadIdx.x; i < (samples << a.unit_shift); i += kRegisterThreads) {
          const int n = i >> a.unit_shift, own = i & ((1 << a.unit_shift) - 1), place = rank * a.block_units + own;
          if (own >= units) continue;
          const float* from = shared + a.sums_at + n * a.head_sum_pitch + own / 8 * 32 + own % 8;
          float f[1][4], values[1];
#pragma unroll
          for (int h = 0; h < 4; ++h) f[0][h] = added(from + h * 8, a.head_slices, kSamples * a.head_sum_pitch);
          float own_tau = 0, own_amplitude = 0;
          if (!kUsual && a.finish == CfcFinish::pure) {
            own_tau = constants[a.block_width + 4 * a.block_units + own];
            own_amplitude = constants[a.block_width + 5 * a.block_units + own];
          }
          const float times[1] = {kUsual || a.times == LiquidTimes::none ? 1 : time_of(place, n, t)};
          make_states(f, times, head_tangent, own_tau, own_amplitude, values);
          if (goes_on)
            put<1>({ptx::shared_address(shared + a.rows_at + row_place(n, place, a.rows_pitch))}, values, {true},
                   barriers + 8);
          else if (s.last != nullptr)
            s.last[static_cast<std::int64_t>(first + n) * a.units + place] = values[0];
          if (s.states != nullptr) s.states[(first + n) * s.state_sample + t * s.state_step + place] = values[0];
        }
      } else {
        if (kCluster) __syncthreads();  // for the next step's inputs, which a barrier of bytes does not cover
        if (multiplies_heads) {
          constexpr int kResults = kColumns * 2;
          float f[kResults][4], times[kResults], values[kResults];
          std::uint32_t places[kResults];
          bool there[kResults];
#pragma unroll
          for (int i = 0; i < kResults; ++i) {
            const int n = i / 2 * 8 + i % 2;
#pragma unroll
            for (int h = 0; h < 4; ++h) f[i][h] = sums[0][h / 2][i / 2][h % 2 * 2 + i % 2];
            there[i] = u < units && pair + n < samples;
            places[i] = to_rows + n * rows_pitch;
            times[i] = 1;
          }
          if (!kUsual && a.times != LiquidTimes::none)
#pragma unroll
            for (int i = 0; i < kResults; ++i) times[i] = time_of(unit, min(pair + i / 2 * 8 + i % 2, samples - 1), t);
          make_states(f, times, head_tangent, tau, amplitude, values);
          if (goes_on) put(places, values, there, barriers + 8);
#pragma unroll
          for (int i = 0; i < kResults; ++i) {
            if (!there[i]) continue;
            const int n = i / 2 * 8 + i % 2;
            if (states != nullptr) states[n * s.state_sample] = values[i];
            if (!goes_on && s.last != nullptr)
              s.last[static_cast<std::int64_t>(first + pair + n) * a.units + unit] = values[i];
          }
        }
      }
      if (states != nullptr) states += s.state_step;
      if (!kCluster) __syncthreads();
    }
  }
};

template <int kColumns, bool kCluster, bool kUsual>
__device__ __forceinline__ void run_cfc_registers(const CfcRegisterArguments& a) {
  extern __shared__ __align__(16) float shared[];
  constexpr int kSamples = 8 * kColumns;
  const int rank = kCluster ? static_cast<int>(ptx::cluster_rank()) : 0;
  const int first = static_cast<int>(blockIdx.x) / a.cluster * kSamples;
  const CfcRegisters<kColumns, kCluster, kUsual> block{a,
                                                       shared,
                                                       rank,
                                                       first,
                                                       min(kSamples, a.sequence.batch - first),
                                                       static_cast<int>(threadIdx.x) / 32,
                                                       static_cast<int>(threadIdx.x) % 32};
  for (int i = a.rows_at + static_cast<int>(threadIdx.x); i < a.rows_end; i += kRegisterThreads) shared[i] = 0;
  if (kCluster && threadIdx.x == 0) {
    const std::uint32_t barriers = ptx::shared_address(shared + a.barriers_at);
    for (int i = 0; i < 2; ++i) ptx::barrier_init(barriers + i * 8, 1);
    ptx::barrier_init_fence();
    ptx::barrier_expect(barriers, static_cast<std::uint32_t>(block.samples * a.width * 4));
    ptx::barrier_expect(barriers + 8, static_cast<std::uint32_t>(block.samples * a.units * 4));
  }
  __syncthreads();
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  block.start();
  if (const float* from = block.own_input()) block.feed_element(threadIdx.x, 0, from);
  block.feed_more(0);
  sync(a.cluster);
  block.run();
  // Nobody leaves while others may still send to it.
  if (kCluster) ptx::cluster_sync();
}

}  // namespace tessera::cuda::liquid
