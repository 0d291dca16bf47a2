#pragma once

// LTC layers: one launch for the whole sequence. A block, or a cluster of them that shares the units, takes a few
// samples and walks over all steps and unfolds. Synapses stay in shared memory where they fit.
//
// Lanes stand for a sample, a part of the synapses of a unit, and the unit: they add currents and conductances of their
// part, then of each other, and move the potential of their unit. Everybody meets once for each evaluation.

#include "tessera/targets/cuda/kernels/liquid/liquid_arguments.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_device.cuh"

namespace tessera::cuda::liquid {

// kUsual: semi-implicit, every step takes 1, synapses in shared memory. There is little to ask at each evaluation then.
template <int kSamples, bool kCluster, bool kUsual>
struct LtcBlock {
  const LtcArguments& a;
  float* shared;
  int rank, first, samples;

  // Current and conductance of what unit `u` hears of a sample's row, for all lanes that share it.
  __device__ __forceinline__ float2 hear(const float4* values, const std::int32_t* sources, int slots, const float* row,
                                         int part) const {
    const int lanes = 1 << a.lanes_shift;
    float2 sum{0, 0};
    // Several at a time, so that they do not wait for each other.
    constexpr int kTogether = 4;
    for (int first_slot = part; first_slot < slots; first_slot += kTogether * lanes) {
      int from[kTogether];
      float4 synapse[kTogether];
      float open[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const int slot = first_slot + i * lanes;
        from[i] = slot < slots ? sources[slot] : -1;
        synapse[i] = values[slot < slots ? slot : 0];
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        open[i] = reciprocal(1.0f + exp2_fast(fmaf(synapse[i].x, row[max(from[i], 0)], synapse[i].y)));
      // Not a weight of 0: what is not heard may be NaN.
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        sum.x = from[i] < 0 ? sum.x : fmaf(synapse[i].w, open[i], sum.x);
        sum.y = from[i] < 0 ? sum.y : fmaf(synapse[i].z, open[i], sum.y);
      }
    }
    for (int distance = kSamples * lanes / 2; distance >= kSamples; distance /= 2) {
      sum.x += __shfl_xor_sync(0xFFFFFFFF, sum.x, distance);
      sum.y += __shfl_xor_sync(0xFFFFFFFF, sum.y, distance);
    }
    return sum;
  }
  // Two calls, so that the compiler knows where each reads from.
  __device__ __forceinline__ float2 hear(const LtcSynapses& from, const float* row, int u, int part) const {
    if (kUsual || a.resident)
      return hear(reinterpret_cast<const float4*>(shared + from.values_at) + u * from.pitch,
                  reinterpret_cast<const std::int32_t*>(shared + from.sources_at) + u * from.pitch, from.slots, row,
                  part);
    const std::int64_t at = (static_cast<std::int64_t>(rank) * a.block_units + u) * from.pitch;
    return hear(reinterpret_cast<const float4*>(from.values) + at, from.sources + at, from.slots, row, part);
  }

  // One evaluation of the solver: `stage` of a Runge-Kutta step, 0 for the others. All lanes of a warp go round
  // together. `now` and `next`: potentials of this lane's sample.
  __device__ __forceinline__ void evaluate(int t, bool first_of_step, bool last_of_step, int stage, const float* now,
                                           float* next) const {
    const LiquidSequence& s = a.sequence;
    const int n = threadIdx.x % kSamples, part = threadIdx.x / kSamples & ((1 << a.lanes_shift) - 1);
    const int together = kLtcThreads / kSamples >> a.lanes_shift;  // units
    const float* inputs = shared + a.inputs_at + ((t & 1) * kSamples + n) * a.inputs_pitch;
    const int warp_unit = (threadIdx.x & ~31) / kSamples >> a.lanes_shift;  // the first of this warp
    for (int base = 0; base + warp_unit < a.block_units; base += together) {
      const int wanted = base + (threadIdx.x / kSamples >> a.lanes_shift);
      const int u = min(wanted, a.block_units - 1), unit = rank * a.block_units + u;
      const bool moves = part == 0 && wanted < a.block_units && unit < a.units && n < samples;
      float4& own = reinterpret_cast<float4*>(shared + a.own_at)[u * kSamples + n];
      float4 kept{};
      if (moves) kept = own;
      const float2 heard = hear(a.recurrent, now, u, part);
      if (first_of_step) {
        const float2 sensed = hear(a.sensory, inputs, u, part);
        kept.y = sensed.x;
        kept.z = sensed.y;
      }
      if (!moves) continue;
      const float current = heard.x + kept.y, conductance = heard.y + kept.z;
      const float4 membrane = reinterpret_cast<const float4*>(shared + a.membrane_at)[u];
      const float leak = membrane.x, leak_potential = membrane.y, capacitance = membrane.z;
      float h = a.unfold_part;
      if (!kUsual && a.times == LiquidTimes::each_step) h *= shared[a.times_at + (t & 1) * kSamples + n];
      if (!kUsual && a.times == LiquidTimes::each_unit)
        h *= s.times[(first + n) * s.time_sample + t * s.time_step + unit * s.time_unit];
      float told;  // what synapses read next
      if (kUsual || a.solver == LtcSolver::semi_implicit) {
        kept.x = told = (capacitance * kept.x + h * (leak * leak_potential + current)) *
                        reciprocal(capacitance + h * (leak + conductance + a.epsilon));
      } else {
        const float v = now[unit];
        const float rate =
            (leak * (leak_potential - v) + current - v * conductance) * reciprocal(capacitance + a.epsilon);
        if (a.solver == LtcSolver::explicit_euler || stage == 3) {
          kept.x = told = stage == 3 ? kept.x + h * (1.0f / 6) * (kept.w + rate) : kept.x + h * rate;
        } else {
          kept.w = stage == 0 ? rate : kept.w + 2 * rate;
          told = kept.x + (stage == 2 ? h : 0.5f * h) * rate;
        }
      }
      if constexpr (kCluster)
        store_to_all(next + unit, told, a.cluster);
      else
        next[unit] = told;
      own = kept;
      if (last_of_step) {
        if (s.states != nullptr) s.states[(first + n) * s.state_sample + t * s.state_step + unit] = told;
        if (t + 1 == s.steps && s.last != nullptr) s.last[static_cast<std::int64_t>(first + n) * a.units + unit] = told;
      }
    }
  }

  // As that of CfC layers (cfc.cuh).
  __device__ __forceinline__ void feed(int t) const {
    const LiquidSequence& s = a.sequence;
    float* staging = shared + a.staging_at;
    float* rows = shared + a.inputs_at + (t & 1) * kSamples * a.inputs_pitch;
    const bool more = t + 1 < s.steps;
    if (t > 0) wait_for_copies();
    for (int i = threadIdx.x; i < (samples << a.input_shift); i += kLtcThreads) {
      const int n = i >> a.input_shift, column = i & ((1 << a.input_shift) - 1);
      if (column >= a.inputs) continue;
      const float* from = s.x + (first + n) * s.x_sample + t * s.x_step + column;
      rows[n * a.inputs_pitch + column] = t == 0 ? *from : staging[i];
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

  // Samples that are not there read zeros; so does whoever has no first state.
  __device__ __forceinline__ void clear() const {
    for (int i = threadIdx.x; i < 2 * kSamples * a.potentials_pitch; i += kLtcThreads) shared[a.potentials_at + i] = 0;
    for (int i = threadIdx.x; i < 2 * kSamples * a.inputs_pitch; i += kLtcThreads) shared[a.inputs_at + i] = 0;
    for (int i = threadIdx.x; i < kSamples * 4 * a.block_units; i += kLtcThreads) shared[a.own_at + i] = 0;
  }
  __device__ __forceinline__ void start() const {
    const LiquidSequence& s = a.sequence;
    if (s.first == nullptr) return;
    for (int n = static_cast<int>(threadIdx.x) / 32; n < samples; n += kLtcThreads / 32)
      for (int unit = static_cast<int>(threadIdx.x) % 32; unit < a.units; unit += 32) {
        const float v = s.first[static_cast<std::int64_t>(first + n) * a.units + unit];
        shared[a.potentials_at + n * a.potentials_pitch + unit] = v;
        const int u = unit - rank * a.block_units;
        if (u >= 0 && u < a.block_units) shared[a.own_at + (u * kSamples + n) * 4] = v;
      }
  }
};

template <int kSamples, bool kCluster, bool kUsual>
__device__ __forceinline__ void run_ltc(const LtcArguments& a) {
  extern __shared__ __align__(16) float shared[];
  const int rank = kCluster ? static_cast<int>(ptx::cluster_rank()) : 0;
  const int first = static_cast<int>(blockIdx.x) / a.cluster * kSamples;
  const LtcBlock<kSamples, kCluster, kUsual> block{a, shared, rank, first, min(kSamples, a.sequence.batch - first)};
  copy_block(shared + a.membrane_at, a.membrane + rank * 4 * a.block_units, 4 * a.block_units);
  if (a.resident)
    for (const LtcSynapses* from : {&a.sensory, &a.recurrent}) {
      const int count = from->pitch * a.block_units;
      copy_block(shared + from->values_at, from->values + static_cast<std::int64_t>(rank) * count * 4, count * 4);
      for (int i = threadIdx.x; i < count; i += kLtcThreads)
        reinterpret_cast<std::int32_t*>(shared + from->sources_at)[i] =
            from->sources[static_cast<std::int64_t>(rank) * count + i];
    }
  block.clear();
  wait_for_copies();
  __syncthreads();
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  block.start();
  block.feed(0);
  sync(a.cluster);  // a peer must have cleared its rows before anything is stored there
  const int stages = !kUsual && a.solver == LtcSolver::runge_kutta ? 4 : 1;
  float* now = shared + a.potentials_at + threadIdx.x % kSamples * a.potentials_pitch;
  float* next = now + kSamples * a.potentials_pitch;
  for (int t = 0; t < a.sequence.steps; ++t)
    for (int unfold = 0; unfold < a.unfolds; ++unfold)
      for (int stage = 0; stage < stages; ++stage) {
        const bool last_of_step = unfold + 1 == a.unfolds && stage + 1 == stages;
        block.evaluate(t, unfold == 0 && stage == 0, last_of_step, stage, now, next);
        if (last_of_step && t + 1 < a.sequence.steps) block.feed(t + 1);
        float* const before = now;
        now = next;
        next = before;
        if constexpr (kCluster)
          ptx::cluster_sync();
        else
          __syncthreads();
      }
}

}  // namespace tessera::cuda::liquid
