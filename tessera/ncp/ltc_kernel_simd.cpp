// The LTC kernel. A sigmoid for each synapse and unfold is nearly all of the work, so synapses that do not exist cost
// nothing. Both forms add up a destination's synapses in the same order: a sample's result does not depend on which one
// it meets.

#include "tessera/ncp/internal/ltc_kernels.h"
#include "tessera/simd/quick.h"

#include <cstring>

namespace tessera::ncp::TSR_ISA {
namespace {

using namespace simd::TSR_ISA;

constexpr int kLanes = Vec::kWidth;

// Values by index from a table of `Vectors` vectors; 0: any number. Permutations of registers are several times faster
// than gathering from memory.
template <int Vectors>
inline Vec pick(const float* from, const std::int32_t* index) {
#if defined(TSR_AVX512)
  const __m512i at = _mm512_loadu_si512(index);
  if constexpr (Vectors == 0) return {_mm512_i32gather_ps(at, from, 4)};
  const auto pair = [&](int first) {
    return _mm512_permutex2var_ps(_mm512_loadu_ps(from + first), at, _mm512_loadu_ps(from + first + 16));
  };
  if constexpr (Vectors == 2) return {pair(0)};
  const __mmask16 upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
  return {_mm512_mask_blend_ps(upper, pair(0), pair(32))};
#elif defined(__AVX2__)
  return {_mm256_i32gather_ps(from, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index)), 4)};
#else
  float lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = from[index[l]];
  return Vec::load(lanes);
#endif
}

struct Sums {
  Vec current, conductance;
};

// Lanes are destinations of one sample.
template <int Vectors>
inline Sums sum_group(const SynapseTable& table, std::int64_t group, const float* v, Sums sums) {
  for (std::int32_t s = table.first_slot[group]; s < table.first_slot[group + 1]; ++s) {
    const std::int64_t at = std::int64_t{s} * kLanes;
    const Vec from = table.shared[s] >= 0 ? Vec::all(v[table.shared[s]]) : pick<Vectors>(v, table.source + at);
    const Vec open = quick_sigmoid_exp2(fma(from, Vec::load(table.slope + at), Vec::load(table.shift + at)));
    sums.current = fma(open, Vec::load(table.current + at), sums.current);
    sums.conductance = fma(open, Vec::load(table.weight + at), sums.conductance);
  }
  return sums;
}

// Lanes are samples; one destination.
inline Sums sum_lane(const SynapseTable& table, std::int64_t group, int lane, const float* v, Sums sums) {
  const std::int32_t first = table.first_slot[group], end = first + table.fan_in[group * kLanes + lane];
  for (std::int32_t s = first; s < end; ++s) {
    const std::int64_t at = std::int64_t{s} * kLanes + lane;
    const Vec from = Vec::load(v + std::int64_t{table.source[at]} * kLanes);
    const Vec open = quick_sigmoid_exp2(fma(from, Vec::all(table.slope[at]), Vec::all(table.shift[at])));
    sums.current = fma(open, Vec::all(table.current[at]), sums.current);
    sums.conductance = fma(open, Vec::all(table.weight[at]), sums.conductance);
  }
  return sums;
}

inline Vec advanced(Vec v, Vec capacity, Vec leak, Vec leak_current, Vec h, float epsilon, const Sums& sums) {
  const Vec above = fma(h, leak_current + sums.current, capacity * v);
  const Vec below = fma(h, leak + sums.conductance + Vec::all(epsilon), capacity);
  return above / below;
}

template <int InputVectors, int StateVectors>
void run_one(const LtcStep& step) {
  const std::int64_t n = step.groups * kLanes;
  float* sensed = step.scratch;
  float* next = step.scratch + 2 * n;
  for (std::int64_t g = 0; g < step.groups; ++g) {
    const Sums sums = sum_group<InputVectors>(step.sensory, g, step.input, {Vec::zero(), Vec::zero()});
    sums.current.store(sensed + g * kLanes);
    sums.conductance.store(sensed + n + g * kLanes);
  }
  const Vec h = Vec::all(step.elapsed[0]);
  float* now = step.state;
  for (int u = 0; u < step.unfolds; ++u) {
    for (std::int64_t g = 0; g < step.groups; ++g) {
      const std::int64_t at = g * kLanes;
      const Sums sums =
          sum_group<StateVectors>(step.recurrent, g, now, {Vec::load(sensed + at), Vec::load(sensed + n + at)});
      advanced(Vec::load(now + at), Vec::load(step.capacity + at), Vec::load(step.leak + at),
               Vec::load(step.leak_current + at), h, step.epsilon, sums)
          .store(next + at);
    }
    float* swap = now;
    now = next;
    next = swap;
  }
  if (now != step.state) std::memcpy(step.state, now, static_cast<std::size_t>(n) * sizeof(float));
}

template <int InputVectors>
void run_one_of(const LtcStep& step) {
  if (step.groups <= 2) return run_one<InputVectors, 2>(step);
  if (step.groups <= 4) return run_one<InputVectors, 4>(step);
  run_one<InputVectors, 0>(step);
}

void run_ltc_one(const LtcStep& step) noexcept {
  if (step.inputs <= 2 * kLanes) return run_one_of<2>(step);
  if (step.inputs <= 4 * kLanes) return run_one_of<4>(step);
  run_one_of<0>(step);
}

void run_ltc_lanes(const LtcStep& step) noexcept {
  const std::int64_t n = step.groups * kLanes * kLanes;
  float* sensed = step.scratch;
  float* next = step.scratch + 2 * n;
  const auto each = [&](auto&& use) {
    for (std::int64_t g = 0; g < step.groups; ++g)
      for (int l = 0; l < kLanes; ++l) use(g, l, g * kLanes + l);
  };
  each([&](std::int64_t g, int l, std::int64_t j) {
    const Sums sums = sum_lane(step.sensory, g, l, step.input, {Vec::zero(), Vec::zero()});
    sums.current.store(sensed + j * kLanes);
    sums.conductance.store(sensed + n + j * kLanes);
  });
  const Vec h = Vec::load(step.elapsed);
  float* now = step.state;
  for (int u = 0; u < step.unfolds; ++u) {
    each([&](std::int64_t g, int l, std::int64_t j) {
      const std::int64_t at = j * kLanes;
      const Sums sums = sum_lane(step.recurrent, g, l, now, {Vec::load(sensed + at), Vec::load(sensed + n + at)});
      advanced(Vec::load(now + at), Vec::all(step.capacity[j]), Vec::all(step.leak[j]), Vec::all(step.leak_current[j]),
               h, step.epsilon, sums)
          .store(next + at);
    });
    float* swap = now;
    now = next;
    next = swap;
  }
  if (now != step.state) std::memcpy(step.state, now, static_cast<std::size_t>(n) * sizeof(float));
}

}  // namespace

constinit const LtcKernel kLtcKernel = {TSR_STRING(TSR_ISA), kLanes, run_ltc_one, run_ltc_lanes};

}  // namespace tessera::ncp::TSR_ISA
