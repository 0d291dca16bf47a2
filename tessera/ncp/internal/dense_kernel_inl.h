// The dense kernel for one instruction set: a source file defines TSR_NCP_LANES (floats in a vector), TSR_NCP_ROWS
// (rows whose sums fit the registers) and TSR_NCP_NAME(stem), and includes this.
//
// Sums of TSR_NCP_ROWS rows x 4 vectors of columns stay in registers over the whole reduction; each input is broadcast,
// each vector of weights is used for all rows. A single row has several blocks at a time, since four additions in
// flight do not fill the pipeline. The order of additions is the same in every case, so a row's result does not depend
// on how many others are computed with it.
//
// With TSR_NCP_PAIRS, products of bfloat16 are summed two at a time; inputs become pairs once for all blocks. Such
// instructions take numbers below 2^-126 for 0.

#include "tessera/ncp/internal/dense_kernels.h"
#include "tessera/ncp/internal/vector_math_inl.h"

#include <cstring>

namespace tessera::ncp {
namespace {

constexpr int kRows = TSR_NCP_ROWS;
constexpr int kTripleRows = kRows * kQuad / kTriple;
constexpr int kSingleBlocks = kLanes == 16 ? 4 : 2;

inline Vec vlecun(Vec x) { return all(1.7159f) * vtanh(all(0.666f) * x); }

struct Curve {
  Vec value, slope;
};

inline Vec vactivate(Activation activation, Vec x) {
  switch (activation) {
    case Activation::lecun_tanh: return vlecun(x);
    case Activation::silu: return x * vsigmoid(x);
    case Activation::relu: return x < Vec{} ? Vec{} : x;
    case Activation::tanh: return vtanh(x);
    case Activation::gelu: return vgelu(x);
  }
  return x;
}

inline Curve vtanh_curve(Vec x) {
  const Vec t = vtanh(x);
  return {t, all(1) - t * t};
}
inline Curve vlecun_curve(Vec x) {
  const Curve t = vtanh_curve(all(0.666f) * x);
  return {all(1.7159f) * t.value, all(1.7159f * 0.666f) * t.slope};
}

inline Curve vactivate_curve(Activation activation, Vec x) {
  switch (activation) {
    case Activation::lecun_tanh: return vlecun_curve(x);
    case Activation::silu: {
      const Vec s = vsigmoid(x);
      return {x * s, s * (all(1) + x * (all(1) - s))};
    }
    case Activation::relu: return {x < Vec{} ? Vec{} : x, x > Vec{} ? all(1) : Vec{}};
    case Activation::tanh: return vtanh_curve(x);
    case Activation::gelu: return {vgelu(x), vgelu_slope(x)};
  }
  return {x, all(1)};
}

inline Curve vhead_curve(DialectRules::Head head, Vec x) {
  switch (head) {
    case DialectRules::Head::tanh: return vtanh_curve(x);
    case DialectRules::Head::lecun_tanh: return vlecun_curve(x);
    case DialectRules::Head::none: return {x, all(1)};
  }
  return {x, all(1)};
}

inline Vec vhead(DialectRules::Head head, Vec x) {
  switch (head) {
    case DialectRules::Head::tanh: return vtanh(x);
    case DialectRules::Head::lecun_tanh: return vlecun(x);
    case DialectRules::Head::none: return x;
  }
  return x;
}

inline void save_rounded(float* to, Vec v, Precision rounding) {
  if (rounding == Precision::bfloat16) v = to_bfloat16(v);
  if (rounding == Precision::float16) v = to_float16(v);
  save(to, v);
}

// As finish_row(), and keeps the factors of the way back.
inline void finish_row_with_trace(const DenseStep& step, std::int64_t block, std::int64_t row, const Vec* sum) {
  const std::int64_t wide = block * kQuad * kLanes, narrow = block * kLanes;
  float* out = step.out + row * step.out_stride;
  float* trace = step.trace + row * step.trace_stride + wide;
  float* more = step.more_trace + row * step.more_trace_stride;
  const float ts = step.timespans == nullptr ? 1.0f : step.timespans[row * step.timespan_stride];
  switch (step.finish) {
    case Finish::store: return;
    case Finish::scale:
      for (int q = 0; q < kQuad; ++q)
        save_rounded(out + wide + q * kLanes, sum[q] * load(trace + q * kLanes), step.rounding);
      return;
    case Finish::activate:
      for (int q = 0; q < kQuad; ++q) {
        const Curve y = vactivate_curve(step.activation, sum[q]);
        save_rounded(out + wide + q * kLanes, y.value, step.rounding);
        save(trace + q * kLanes, y.slope);
      }
      return;
    case Finish::gated:
    case Finish::no_gate: {
      const bool gated = step.finish == Finish::gated;
      const Vec gate = vsigmoid(sum[2] * all(step.time_sign * ts) + sum[3]);
      const Curve first = vhead_curve(step.head, sum[0]), second = vhead_curve(step.head, sum[1]);
      const Vec rest = gated ? all(1) - gate : all(1);
      save_rounded(out + narrow, first.value * rest + gate * second.value, step.rounding);
      save(trace, rest * first.slope);
      save(trace + kLanes, gate * second.slope);
      const Vec by_gate = (gated ? second.value - first.value : second.value) * gate * (all(1) - gate);
      save(trace + 2 * kLanes, by_gate * all(step.time_sign * ts));
      save(trace + 3 * kLanes, by_gate);
      return;
    }
    case Finish::pure:
      for (int q = 0; q < kQuad; ++q) {
        const std::int64_t at = wide + q * kLanes;
        const Vec a = load(step.amplitude + at), tau = load(step.w_tau + at), p = sum[q];
        const Vec decay = vexp(all(-ts) * (vabs(tau) + vabs(p)));
        save_rounded(out + at, a - a * decay * p, step.rounding);
        save(trace + q * kLanes, -a * decay * (all(1) - all(ts) * vabs(p)));
        const Vec sign = tau > Vec{} ? all(1) : (tau < Vec{} ? all(-1) : Vec{});
        save(more + at, a * p * decay * all(ts) * sign);
        save(more + step.blocks * kQuad * kLanes + at, all(1) - decay * p);
      }
      return;
    case Finish::memory: {
      float* cell = step.memory + row * step.memory_stride + narrow;
      const Vec old = load(cell), value = vtanh(sum[0]), input = vsigmoid(sum[1]), forget = vsigmoid(sum[2] + all(1)),
                output = vsigmoid(sum[3]);
      const Vec next = old * forget + value * input;
      const Curve squashed = vtanh_curve(next);
      save(cell, next);
      save_rounded(out + narrow, squashed.value * output, step.rounding);
      save(trace, input * (all(1) - value * value));
      save(trace + kLanes, value * input * (all(1) - input));
      save(trace + 2 * kLanes, old * forget * (all(1) - forget));
      save(trace + 3 * kLanes, squashed.value * output * (all(1) - output));
      save(more + narrow, output * squashed.slope);
      save(more + step.blocks * kLanes + narrow, forget);
      return;
    }
  }
}

// The new state of `gated` and `no_gate`.
inline Vec next_state(const DenseStep& step, Vec first_sum, Vec second_sum, Vec gate_sum) {
  const Vec gate = vsigmoid(gate_sum);
  const Vec first = vhead(step.head, first_sum), second = vhead(step.head, second_sum);
  return (step.finish == Finish::gated ? first * (all(1) - gate) : first) + gate * second;
}

inline void finish_row(const DenseStep& step, std::int64_t block, std::int64_t row, const Vec (&sum)[kTriple]) {
  float* out = step.out + row * step.out_stride;
  if (step.finish == Finish::store)
    for (int q = 0; q < kTriple; ++q) save(out + (block * kTriple + q) * kLanes, sum[q]);
  else
    save(out + block * kLanes, next_state(step, sum[0], sum[1], sum[2]));
}

inline void finish_row(const DenseStep& step, std::int64_t block, std::int64_t row, const Vec (&sum)[kQuad]) {
  if (step.trace != nullptr) return finish_row_with_trace(step, block, row, sum);
  const std::int64_t wide = block * kQuad * kLanes, narrow = block * kLanes;
  float* out = step.out + row * step.out_stride;
  const float ts = step.timespans == nullptr ? 1.0f : step.timespans[row * step.timespan_stride];
  switch (step.finish) {
    case Finish::scale: return;
    case Finish::store:
      for (int q = 0; q < kQuad; ++q) save(out + wide + q * kLanes, sum[q]);
      return;
    case Finish::activate:
      for (int q = 0; q < kQuad; ++q) save(out + wide + q * kLanes, vactivate(step.activation, sum[q]));
      return;
    case Finish::gated:
    case Finish::no_gate:
      save(out + narrow, next_state(step, sum[0], sum[1], sum[2] * all(step.time_sign * ts) + sum[3]));
      return;
    case Finish::pure:
      for (int q = 0; q < kQuad; ++q) {
        const std::int64_t at = wide + q * kLanes;
        const Vec a = load(step.amplitude + at);
        save(out + at, a - a * vexp(all(-ts) * (vabs(load(step.w_tau + at)) + vabs(sum[q]))) * sum[q]);
      }
      return;
    case Finish::memory: {
      float* cell = step.memory + row * step.memory_stride + narrow;
      const Vec next = load(cell) * vsigmoid(sum[2] + all(1)) + vtanh(sum[0]) * vsigmoid(sum[1]);
      save(cell, next);
      save(out + narrow, vtanh(next) * vsigmoid(sum[3]));
      return;
    }
  }
}

#if defined(TSR_NCP_PAIRS)
// Of rows from `first` on, every segment's inputs behind each other; the last of an odd number has a zero beside it.
inline void pair_rows(const DenseStep& step, std::int64_t first, std::int64_t rows) {
  std::uint32_t* to = step.scratch;
  for (std::int64_t r = first; r < first + rows; ++r)
    for (int s = 0; s < step.segment_count; ++s) {
      const Segment& segment = step.segments[s];
      const float* x = segment.rows + r * segment.stride;
      std::int64_t k = 0;
      // Numbers of bfloat16 have nothing in their lower halves; NaN may.
      for (; k + 2 * kLanes <= segment.inputs; k += 2 * kLanes, to += kLanes) {
        const __m512i low = _mm512_loadu_si512(x + k), high = _mm512_loadu_si512(x + k + kLanes);
        const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        const __m512i halves = _mm512_srli_epi32(_mm512_permutex2var_epi32(low, even, high), 16);
        _mm512_storeu_si512(to, _mm512_mask_blend_epi16(0xaaaaaaaa, halves, _mm512_permutex2var_epi32(low, odd, high)));
      }
      for (; k < segment.inputs; k += 2) {
        std::uint32_t bits[2]{};
        std::memcpy(bits, x + k, (segment.inputs - k > 1 ? 2 : 1) * sizeof(float));
        *to++ = bits[0] >> 16 | (bits[1] & 0xffff0000u);
      }
    }
}

template <int Rows, int Blocks>
void add_pairs(const Segment& segment, const std::uint32_t* x, std::int64_t stride, std::int64_t block,
               Vec (&sum)[Rows][Blocks][kQuad]) {
  constexpr int kWide = kQuad * kLanes;
  const std::int64_t pairs = pairs_of(segment.inputs), panel = pairs * kWide;
  const std::uint32_t* w = segment.pairs + block * panel;
  for (std::int64_t k = 0; k < pairs; ++k, w += kWide)
    for (int b = 0; b < Blocks; ++b) {
      __m512bh weight[kQuad];
      for (int q = 0; q < kQuad; ++q) weight[q] = (__m512bh)_mm512_loadu_si512(w + b * panel + q * kLanes);
      for (int r = 0; r < Rows; ++r) {
        const auto value = (__m512bh)_mm512_set1_epi32(static_cast<int>(x[r * stride + k]));
        for (int q = 0; q < kQuad; ++q) sum[r][b][q] = (Vec)_mm512_dpbf16_ps((__m512)sum[r][b][q], value, weight[q]);
      }
    }
}

// `row` counts within `scratch`.
template <int Rows, int Blocks>
void add_all_pairs(const DenseStep& step, std::int64_t block, std::int64_t row, Vec (&sum)[Rows][Blocks][kQuad]) {
  std::int64_t stride = 0, at = 0;
  for (int s = 0; s < step.segment_count; ++s) stride += pairs_of(step.segments[s].inputs);
  for (int s = 0; s < step.segment_count; ++s) {
    add_pairs<Rows, Blocks>(step.segments[s], step.scratch + row * stride + at, stride, block, sum);
    at += pairs_of(step.segments[s].inputs);
  }
}
#endif

template <int Rows, int Blocks, int Vectors = kQuad>
void run_rows(const DenseStep& step, std::int64_t block, std::int64_t first) {
  constexpr int kWide = Vectors * kLanes;
  Vec sum[Rows][Blocks][Vectors];
  const float* start = step.start + block * kWide + first * step.start_stride;
  for (int r = 0; r < Rows; ++r)
    for (int b = 0; b < Blocks; ++b)
      for (int q = 0; q < Vectors; ++q) sum[r][b][q] = load(start + r * step.start_stride + b * kWide + q * kLanes);
#if defined(TSR_NCP_PAIRS)
  add_all_pairs<Rows, Blocks>(step, block, first % kPairedRows, sum);
#else
  for (int s = 0; s < step.segment_count; ++s) {
    const Segment& segment = step.segments[s];
    const std::int64_t panel = segment.inputs * kWide;
    const float* w = segment.weights + block * panel;
    const float* x = segment.rows + first * segment.stride;
    for (std::int64_t k = 0; k < segment.inputs; ++k, w += kWide) {
      for (int b = 0; b < Blocks; ++b) {
        Vec weight[Vectors];
        for (int q = 0; q < Vectors; ++q) weight[q] = load(w + b * panel + q * kLanes);
        for (int r = 0; r < Rows; ++r) {
          const Vec value = all(x[r * segment.stride + k]);
          for (int q = 0; q < Vectors; ++q) sum[r][b][q] += value * weight[q];
        }
      }
    }
  }
#endif
  for (int b = 0; b < Blocks; ++b)
    for (int r = 0; r < Rows; ++r) finish_row(step, block + b, first + r, sum[r][b]);
}

template <int Rows, int Vectors = kQuad>
void run_rest(const DenseStep& step, std::int64_t block, std::int64_t first, std::int64_t rows) {
  if constexpr (Rows > 0) {
    if (rows == Rows) return run_rows<Rows, 1, Vectors>(step, block, first);
    run_rest<Rows - 1, Vectors>(step, block, first, rows);
  }
}

template <int Rows, int Vectors>
void run_blocks(const DenseStep& step) {
  if (step.rows == 1) {
    std::int64_t block = 0;
    for (; block + kSingleBlocks <= step.blocks; block += kSingleBlocks)
      run_rows<1, kSingleBlocks, Vectors>(step, block, 0);
    for (; block < step.blocks; ++block) run_rows<1, 1, Vectors>(step, block, 0);
    return;
  }
  for (std::int64_t block = 0; block < step.blocks; ++block) {
    std::int64_t row = 0;
    for (; row + Rows <= step.rows; row += Rows) run_rows<Rows, 1, Vectors>(step, block, row);
    run_rest<Rows - 1, Vectors>(step, block, row, step.rows - row);
  }
}

}  // namespace

void TSR_NCP_NAME(run_dense)(const DenseStep& step) noexcept {
#if defined(TSR_NCP_PAIRS)
  static_assert(kPairedRows % kRows == 0);
  for (std::int64_t first = 0; step.rows > 1 && first < step.rows; first += kPairedRows) {
    const std::int64_t end = first + kPairedRows < step.rows ? first + kPairedRows : step.rows;
    pair_rows(step, first, end - first);
    for (std::int64_t block = 0; block < step.blocks; ++block) {
      std::int64_t row = first;
      for (; row + kRows <= end; row += kRows) run_rows<kRows, 1>(step, block, row);
      run_rest<kRows - 1>(step, block, row, end - row);
    }
  }
  if (step.rows > 1) return;
  if (step.rows == 1) pair_rows(step, 0, 1);
#else
  if (step.vectors == kTriple) return run_blocks<kTripleRows, kTriple>(step);
#endif
  run_blocks<kRows, kQuad>(step);
}

#if !defined(TSR_NCP_PAIRS)
void TSR_NCP_NAME(approximate)(Approximation what, const float* x, float* y, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    float part[kLanes]{};
    const auto n = static_cast<std::size_t>(count - i < kLanes ? count - i : kLanes);
    std::memcpy(part, x + i, n * sizeof(float));
    const Vec v = load(part);
    save(part, what == Approximation::exp ? vexp(v) : what == Approximation::tanh ? vtanh(v) : vsigmoid(v));
    std::memcpy(y + i, part, n * sizeof(float));
  }
}
#endif

}  // namespace tessera::ncp
