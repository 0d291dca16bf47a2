// The kernels of LTC layers in training. Sigmoids of synapses are computed again on the way back, since keeping them
// would take six numbers for each synapse, step and sample.

#include "tessera/ncp/internal/ltc_gradient_kernels.h"
#include "tessera/simd/quick.h"

namespace tessera::ncp::TSR_ISA {
namespace {

using namespace simd::TSR_ISA;

constexpr int kLanes = Vec::kWidth;

template <int Vectors>
struct Many {
  Vec at[Vectors];
};

template <int Vectors>
inline Many<Vectors> load_many(const float* from) {
  Many<Vectors> out;
  for (int i = 0; i < Vectors; ++i) out.at[i] = Vec::load(from + i * kLanes);
  return out;
}
template <int Vectors>
inline void save_many(float* to, const Many<Vectors>& v) {
  for (int i = 0; i < Vectors; ++i) v.at[i].store(to + i * kLanes);
}

template <int Vectors>
inline void add_synapses(const SynapseList& list, std::int64_t unit, const float* v, std::int64_t stride,
                         Many<Vectors>& current, Many<Vectors>& conductance) {
  for (std::int32_t s = list.first[unit]; s < list.first[unit + 1]; ++s) {
    const float* from = v + list.source[s] * stride;
    for (int i = 0; i < Vectors; ++i) {
      const Vec open =
          quick_sigmoid_exp2((Vec::load(from + i * kLanes) - Vec::all(list.mu[s])) * Vec::all(list.slope[s]));
      current.at[i] = fma(open, Vec::all(list.current[s]), current.at[i]);
      conductance.at[i] = fma(open, Vec::all(list.weight[s]), conductance.at[i]);
    }
  }
}

template <int Vectors>
void forward(const LtcTrainingStep& step) {
  const std::int64_t stride = step.stride, size = step.units * stride;
  float* sensed_current = step.scratch;
  float* sensed_conductance = step.scratch + size;
  for (std::int64_t j = 0; j < step.units; ++j) {
    Many<Vectors> current{}, conductance{};
    add_synapses(step.sensory, j, step.input, stride, current, conductance);
    save_many(sensed_current + j * stride, current);
    save_many(sensed_conductance + j * stride, conductance);
  }
  const Many<Vectors> h = load_many<Vectors>(step.elapsed);
  for (int u = 0; u < step.unfolds; ++u) {
    const float* now = step.states + u * size;
    float* next = step.states + (u + 1) * size;
    float* inverse = step.inverse + u * size;
    for (std::int64_t j = 0; j < step.units; ++j) {
      const std::int64_t at = j * stride;
      Many<Vectors> current = load_many<Vectors>(sensed_current + at),
                    conductance = load_many<Vectors>(sensed_conductance + at);
      add_synapses(step.recurrent, j, now, stride, current, conductance);
      const Vec capacity = Vec::all(step.capacity[j]);
      for (int i = 0; i < Vectors; ++i) {
        const Vec by_above = Vec::all(step.leak_current[j]) + current.at[i];
        const Vec by_below = Vec::all(step.leak[j]) + conductance.at[i] + Vec::all(step.epsilon);
        const Vec above = fma(h.at[i], by_above, capacity * Vec::load(now + at + i * kLanes));
        const Vec below = fma(h.at[i], by_below, capacity);
        const Vec one_over = Vec::all(1.0f) / below;
        one_over.store(inverse + at + i * kLanes);
        const Vec state = above * one_over;
        state.store(next + at + i * kLanes);
        if (step.time_slope != nullptr)
          (one_over * fnma(state, by_below, by_above)).store(step.time_slope + u * size + at + i * kLanes);
      }
    }
  }
}

// d_v is added to.
template <int Vectors>
inline void back_synapses(const SynapseList& list, std::int64_t unit, const float* v, std::int64_t stride,
                          const Many<Vectors>& d_current, const Many<Vectors>& d_conductance, float* d_v, float* sums) {
  for (std::int32_t s = list.first[unit]; s < list.first[unit + 1]; ++s) {
    const std::int64_t from = list.source[s] * stride;
    float* to = sums + std::int64_t{s} * kSynapseSums * kLanes;
    Vec by_current = Vec::load(to), by_conductance = Vec::load(to + kLanes), by_argument = Vec::load(to + 2 * kLanes),
        by_slope = Vec::load(to + 3 * kLanes);
    const Vec weight = Vec::all(list.weight[s]), reversal = Vec::all(list.current[s]), slope = Vec::all(list.slope[s]),
              mu = Vec::all(list.mu[s]), sigma = Vec::all(list.sigma[s]);
    for (int i = 0; i < Vectors; ++i) {
      const Vec distance = Vec::load(v + from + i * kLanes) - mu;
      const Vec open = quick_sigmoid_exp2(distance * slope);
      by_current = fma(d_current.at[i], open, by_current);
      by_conductance = fma(d_conductance.at[i], open, by_conductance);
      const Vec d = fma(d_current.at[i], reversal, d_conductance.at[i] * weight) * fnma(open, open, open);
      by_argument += d;
      by_slope = fma(d, distance, by_slope);
      fma(d, sigma, Vec::load(d_v + from + i * kLanes)).store(d_v + from + i * kLanes);
    }
    by_current.store(to);
    by_conductance.store(to + kLanes);
    by_argument.store(to + 2 * kLanes);
    by_slope.store(to + 3 * kLanes);
  }
}

template <int Vectors>
void backward(const LtcTrainingStep& step) {
  const std::int64_t stride = step.stride, size = step.units * stride;
  float* sensed_current = step.scratch;
  float* sensed_conductance = step.scratch + size;
  float* other = step.scratch + 2 * size;
  for (std::int64_t j = 0; j < 2 * step.units; ++j) save_many(step.scratch + j * stride, Many<Vectors>{});
  const Many<Vectors> h = load_many<Vectors>(step.elapsed);
  float* d_next = step.d;
  float* d_now = other;
  Many<Vectors> by_time{};
  for (int u = step.unfolds; u-- > 0;) {
    const float* now = step.states + u * size;
    const float* next = step.states + (u + 1) * size;
    const float* inverse = step.inverse + u * size;
    for (std::int64_t j = 0; j < step.units; ++j)
      for (int i = 0; i < Vectors; ++i) {
        const std::int64_t at = j * stride + i * kLanes;
        (Vec::load(d_next + at) * Vec::load(inverse + at) * Vec::all(step.capacity[j])).store(d_now + at);
        if (step.time_slope != nullptr)
          by_time.at[i] = fma(Vec::load(d_next + at), Vec::load(step.time_slope + u * size + at), by_time.at[i]);
      }
    for (std::int64_t j = 0; j < step.units; ++j) {
      const std::int64_t at = j * stride;
      float* sums = step.unit_sums + j * kUnitSums * kLanes;
      Vec by_capacity = Vec::load(sums), by_current = Vec::load(sums + kLanes),
          by_conductance = Vec::load(sums + 2 * kLanes);
      Many<Vectors> d_current, d_conductance;
      for (int i = 0; i < Vectors; ++i) {
        const Vec above = Vec::load(d_next + at + i * kLanes) * Vec::load(inverse + at + i * kLanes);
        const Vec below = -above * Vec::load(next + at + i * kLanes);
        by_capacity += fma(above, Vec::load(now + at + i * kLanes), below);
        d_current.at[i] = h.at[i] * above;
        d_conductance.at[i] = h.at[i] * below;
        by_current += d_current.at[i];
        by_conductance += d_conductance.at[i];
        float* sensed = sensed_current + at + i * kLanes;
        (Vec::load(sensed) + d_current.at[i]).store(sensed);
        sensed = sensed_conductance + at + i * kLanes;
        (Vec::load(sensed) + d_conductance.at[i]).store(sensed);
      }
      by_capacity.store(sums);
      by_current.store(sums + kLanes);
      by_conductance.store(sums + 2 * kLanes);
      back_synapses(step.recurrent, j, now, stride, d_current, d_conductance, d_now, step.recurrent_sums);
    }
    float* swap = d_next;
    d_next = d_now;
    d_now = swap;
  }
  if (step.time_slope != nullptr) save_many(step.d_elapsed, by_time);
  if (d_next != step.d)
    for (std::int64_t j = 0; j < step.units; ++j)
      save_many(step.d + j * stride, load_many<Vectors>(d_next + j * stride));
  for (std::int64_t i = 0; i < step.inputs; ++i) save_many(step.d_input + i * stride, Many<Vectors>{});
  for (std::int64_t j = 0; j < step.units; ++j)
    back_synapses(step.sensory, j, step.input, stride, load_many<Vectors>(sensed_current + j * stride),
                  load_many<Vectors>(sensed_conductance + j * stride), step.d_input, step.sensory_sums);
}

void forward_ltc(const LtcTrainingStep& step) noexcept {
  switch (step.vectors) {
    case 1: return forward<1>(step);
    case 2: return forward<2>(step);
    case 3: return forward<3>(step);
    default: return forward<4>(step);
  }
}

void backward_ltc(const LtcTrainingStep& step) noexcept {
  switch (step.vectors) {
    case 1: return backward<1>(step);
    case 2: return backward<2>(step);
    case 3: return backward<3>(step);
    default: return backward<4>(step);
  }
}

}  // namespace

constinit const LtcGradientKernel kLtcGradientKernel = {TSR_STRING(TSR_ISA), kLanes, forward_ltc, backward_ltc};

}  // namespace tessera::ncp::TSR_ISA
