// The LTC kernel for one instruction set: included like dense_kernel_inl.h. A sigmoid for each synapse and unfold is
// nearly all of the work, so synapses that do not exist cost nothing. Both forms add up a destination's synapses in the
// same order: a sample's result does not depend on which one it meets.

#include "tessera/ncp/internal/ltc_kernels.h"
#include "tessera/ncp/internal/vector_math_inl.h"

namespace tessera::ncp {
namespace {

// Values by index from a table of `Vectors` vectors; 0: any number. Permutations of registers are several times faster
// than gathering from memory.
template <int Vectors>
inline Vec pick(const float* from, const std::int32_t* index) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    const __m512i at = _mm512_loadu_si512(index);
    if constexpr (Vectors == 0) return (Vec)_mm512_i32gather_ps(at, from, 4);
    const auto pair = [&](int first) {
      return _mm512_permutex2var_ps(_mm512_loadu_ps(from + first), at, _mm512_loadu_ps(from + first + 16));
    };
    if constexpr (Vectors == 2) return (Vec)pair(0);
    const __mmask16 upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
    return (Vec)_mm512_mask_blend_ps(upper, pair(0), pair(32));
  }
#elif defined(__AVX2__)
  if constexpr (kLanes == 8)
    return (Vec)_mm256_i32gather_ps(from, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index)), 4);
#endif
  Vec v{};
  for (int l = 0; l < kLanes; ++l) v[l] = from[index[l]];
  return v;
}

struct Sums {
  Vec current, conductance;
};

// Lanes are destinations of one sample.
template <int Vectors>
inline Sums sum_group(const SynapseTable& table, std::int64_t group, const float* v, Sums sums) {
  for (std::int32_t s = table.first_slot[group]; s < table.first_slot[group + 1]; ++s) {
    const std::int64_t at = std::int64_t{s} * kLanes;
    const Vec from = table.shared[s] >= 0 ? all(v[table.shared[s]]) : pick<Vectors>(v, table.source + at);
    const Vec open = vsigmoid_exp2(from * load(table.slope + at) + load(table.shift + at));
    sums.current += open * load(table.current + at);
    sums.conductance += open * load(table.weight + at);
  }
  return sums;
}

// Lanes are samples; one destination.
inline Sums sum_lane(const SynapseTable& table, std::int64_t group, int lane, const float* v, Sums sums) {
  const std::int32_t first = table.first_slot[group], end = first + table.fan_in[group * kLanes + lane];
  for (std::int32_t s = first; s < end; ++s) {
    const std::int64_t at = std::int64_t{s} * kLanes + lane;
    const Vec from = load(v + std::int64_t{table.source[at]} * kLanes);
    const Vec open = vsigmoid_exp2(from * all(table.slope[at]) + all(table.shift[at]));
    sums.current += open * all(table.current[at]);
    sums.conductance += open * all(table.weight[at]);
  }
  return sums;
}

inline Vec advanced(Vec v, Vec capacity, Vec leak, Vec leak_current, Vec h, float epsilon, const Sums& sums) {
  const Vec above = capacity * v + h * (leak_current + sums.current);
  const Vec below = capacity + h * (leak + sums.conductance + all(epsilon));
  return above / below;
}

template <int InputVectors, int StateVectors>
void run_one(const LtcStep& step) {
  const std::int64_t n = step.groups * kLanes;
  float* sensed = step.scratch;
  float* next = step.scratch + 2 * n;
  for (std::int64_t g = 0; g < step.groups; ++g) {
    const Sums sums = sum_group<InputVectors>(step.sensory, g, step.input, {Vec{}, Vec{}});
    save(sensed + g * kLanes, sums.current);
    save(sensed + n + g * kLanes, sums.conductance);
  }
  const Vec h = all(step.elapsed[0]);
  float* now = step.state;
  for (int u = 0; u < step.unfolds; ++u) {
    for (std::int64_t g = 0; g < step.groups; ++g) {
      const std::int64_t at = g * kLanes;
      const Sums sums = sum_group<StateVectors>(step.recurrent, g, now, {load(sensed + at), load(sensed + n + at)});
      save(next + at, advanced(load(now + at), load(step.capacity + at), load(step.leak + at),
                               load(step.leak_current + at), h, step.epsilon, sums));
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

}  // namespace

void TSR_NCP_NAME(run_ltc_one)(const LtcStep& step) noexcept {
  if (step.inputs <= 2 * kLanes) return run_one_of<2>(step);
  if (step.inputs <= 4 * kLanes) return run_one_of<4>(step);
  run_one_of<0>(step);
}

void TSR_NCP_NAME(run_ltc_lanes)(const LtcStep& step) noexcept {
  const std::int64_t n = step.groups * kLanes * kLanes;
  float* sensed = step.scratch;
  float* next = step.scratch + 2 * n;
  const auto each = [&](auto&& use) {
    for (std::int64_t g = 0; g < step.groups; ++g)
      for (int l = 0; l < kLanes; ++l) use(g, l, g * kLanes + l);
  };
  each([&](std::int64_t g, int l, std::int64_t j) {
    const Sums sums = sum_lane(step.sensory, g, l, step.input, {Vec{}, Vec{}});
    save(sensed + j * kLanes, sums.current);
    save(sensed + n + j * kLanes, sums.conductance);
  });
  const Vec h = load(step.elapsed);
  float* now = step.state;
  for (int u = 0; u < step.unfolds; ++u) {
    each([&](std::int64_t g, int l, std::int64_t j) {
      const std::int64_t at = j * kLanes;
      const Sums sums = sum_lane(step.recurrent, g, l, now, {load(sensed + at), load(sensed + n + at)});
      save(next + at, advanced(load(now + at), all(step.capacity[j]), all(step.leak[j]), all(step.leak_current[j]), h,
                               step.epsilon, sums));
    });
    float* swap = now;
    now = next;
    next = swap;
  }
  if (now != step.state) std::memcpy(step.state, now, static_cast<std::size_t>(n) * sizeof(float));
}

}  // namespace tessera::ncp
