// The dense kernel. Sums of kRows rows x 4 vectors of columns stay in registers over the whole reduction; each input is
// broadcast, each vector of weights is used for all rows. A single row has several blocks at a time, since four
// additions in flight do not fill the pipeline. The order of additions is the same in every case, so a row's result
// does not depend on how many others are computed with it.
//
// With AVX512_BF16, products of bfloat16 are summed two at a time; inputs become pairs once for all blocks. Such
// instructions take numbers below 2^-126 for 0.
//
// Compiled for: portable avx2 avx512 avx512_bf16

#include "tessera/ncp/internal/dense_kernels.h"
#include "tessera/simd/halves.h"
#include "tessera/simd/quick.h"

#include <cstring>

namespace tessera::ncp::TSR_ISA {
namespace {

using namespace simd::TSR_ISA;

constexpr int kLanes = Vec::kWidth;
constexpr int kRows = kLanes == 16 ? 6 : kLanes == 8 ? 3 : 2;  // whose sums fit the registers
[[maybe_unused]] constexpr int kTripleRows = kRows * kQuad / kTriple;
constexpr int kSingleBlocks = kLanes == 16 ? 4 : 2;

// The slope of x (1 + erf(x / sqrt 2)) / 2: the normal distribution up to x, plus x times its density.
inline Vec gelu_slope(Vec x) {
  const Vec half = Vec::all(0.5f), z = x * Vec::all(0.70710678f);
  return fma(x * Vec::all(0.39894228f), quick_exp(-(z * z)), fma(erf(z), half, half));
}

inline Vec lecun_tanh(Vec x) { return Vec::all(1.7159f) * quick_tanh(Vec::all(0.666f) * x); }

struct Curve {
  Vec value, slope;
};

inline Vec activate(Activation activation, Vec x) {
  switch (activation) {
    case Activation::lecun_tanh: return lecun_tanh(x);
    case Activation::silu: return x * quick_sigmoid(x);
    case Activation::relu: return relu(x);
    case Activation::tanh: return quick_tanh(x);
    case Activation::gelu: return gelu(x);
  }
  return x;
}

inline Curve tanh_curve(Vec x) {
  const Vec t = quick_tanh(x);
  return {t, Vec::all(1.0f) - t * t};
}
inline Curve lecun_curve(Vec x) {
  const Curve t = tanh_curve(Vec::all(0.666f) * x);
  return {Vec::all(1.7159f) * t.value, Vec::all(1.7159f * 0.666f) * t.slope};
}

inline Curve activate_curve(Activation activation, Vec x) {
  switch (activation) {
    case Activation::lecun_tanh: return lecun_curve(x);
    case Activation::silu: {
      const Vec s = quick_sigmoid(x);
      return {x * s, s * (Vec::all(1.0f) + x * (Vec::all(1.0f) - s))};
    }
    case Activation::relu: return {relu(x), select(Vec::zero() < x, Vec::all(1.0f), Vec::zero())};
    case Activation::tanh: return tanh_curve(x);
    case Activation::gelu: return {gelu(x), gelu_slope(x)};
  }
  return {x, Vec::all(1.0f)};
}

inline Curve head_curve(DialectRules::Head head, Vec x) {
  switch (head) {
    case DialectRules::Head::tanh: return tanh_curve(x);
    case DialectRules::Head::lecun_tanh: return lecun_curve(x);
    case DialectRules::Head::none: return {x, Vec::all(1.0f)};
  }
  return {x, Vec::all(1.0f)};
}

inline Vec head_value(DialectRules::Head head, Vec x) {
  switch (head) {
    case DialectRules::Head::tanh: return quick_tanh(x);
    case DialectRules::Head::lecun_tanh: return lecun_tanh(x);
    case DialectRules::Head::none: return x;
  }
  return x;
}

inline void save_rounded(float* to, Vec v, Precision rounding) {
  if (rounding == Precision::bfloat16) v = rounded_to_bfloat16(v);
  if (rounding == Precision::float16) v = rounded_to_float16(v);
  v.store(to);
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
        save_rounded(out + wide + q * kLanes, sum[q] * Vec::load(trace + q * kLanes), step.rounding);
      return;
    case Finish::activate:
      for (int q = 0; q < kQuad; ++q) {
        const Curve y = activate_curve(step.activation, sum[q]);
        save_rounded(out + wide + q * kLanes, y.value, step.rounding);
        y.slope.store(trace + q * kLanes);
      }
      return;
    case Finish::gated:
    case Finish::no_gate: {
      const bool gated = step.finish == Finish::gated;
      const Vec gate = quick_sigmoid(fma(sum[2], Vec::all(step.time_sign * ts), sum[3]));
      const Curve first = head_curve(step.head, sum[0]), second = head_curve(step.head, sum[1]);
      const Vec rest = gated ? Vec::all(1.0f) - gate : Vec::all(1.0f);
      save_rounded(out + narrow, fma(gate, second.value, gated ? first.value * rest : first.value), step.rounding);
      (rest * first.slope).store(trace);
      (gate * second.slope).store(trace + kLanes);
      const Vec by_gate = (gated ? second.value - first.value : second.value) * gate * (Vec::all(1.0f) - gate);
      (by_gate * Vec::all(step.time_sign * ts)).store(trace + 2 * kLanes);
      by_gate.store(trace + 3 * kLanes);
      if (step.time_slope != nullptr)
        (by_gate * sum[2] * Vec::all(step.time_sign)).store(step.time_slope + row * step.time_slope_stride + narrow);
      return;
    }
    case Finish::pure:
      for (int q = 0; q < kQuad; ++q) {
        const std::int64_t at = wide + q * kLanes;
        const Vec a = Vec::load(step.amplitude + at), tau = Vec::load(step.w_tau + at), p = sum[q];
        const Vec decay = quick_exp(Vec::all(-ts) * (abs(tau) + abs(p)));
        save_rounded(out + at, fnma(a * decay, p, a), step.rounding);
        (-a * decay * (Vec::all(1.0f) - Vec::all(ts) * abs(p))).store(trace + q * kLanes);
        const Vec sign = select(tau == Vec::zero(), Vec::zero(), copy_sign(Vec::all(1.0f), tau));
        (a * p * decay * Vec::all(ts) * sign).store(more + at);
        (Vec::all(1.0f) - decay * p).store(more + step.blocks * kQuad * kLanes + at);
        if (step.time_slope != nullptr)
          (a * decay * p * (abs(tau) + abs(p))).store(step.time_slope + row * step.time_slope_stride + at);
      }
      return;
    case Finish::memory: {
      float* cell = step.memory + row * step.memory_stride + narrow;
      const Vec old = Vec::load(cell), value = quick_tanh(sum[0]), input = quick_sigmoid(sum[1]),
                forget = quick_sigmoid(sum[2] + Vec::all(1.0f)), output = quick_sigmoid(sum[3]);
      const Vec next = fma(old, forget, value * input);
      const Curve squashed = tanh_curve(next);
      next.store(cell);
      save_rounded(out + narrow, squashed.value * output, step.rounding);
      (input * (Vec::all(1.0f) - value * value)).store(trace);
      (value * input * (Vec::all(1.0f) - input)).store(trace + kLanes);
      (old * forget * (Vec::all(1.0f) - forget)).store(trace + 2 * kLanes);
      (squashed.value * output * (Vec::all(1.0f) - output)).store(trace + 3 * kLanes);
      (output * squashed.slope).store(more + narrow);
      forget.store(more + step.blocks * kLanes + narrow);
      return;
    }
  }
}

// The new state of `gated` and `no_gate`.
inline Vec next_state(const DenseStep& step, Vec first_sum, Vec second_sum, Vec gate_sum) {
  const Vec gate = quick_sigmoid(gate_sum);
  const Vec first = head_value(step.head, first_sum), second = head_value(step.head, second_sum);
  return fma(gate, second, step.finish == Finish::gated ? first * (Vec::all(1.0f) - gate) : first);
}

[[maybe_unused]] inline void finish_row(const DenseStep& step, std::int64_t block, std::int64_t row,
                                        const Vec (&sum)[kTriple]) {
  float* out = step.out + row * step.out_stride;
  if (step.finish == Finish::store)
    for (int q = 0; q < kTriple; ++q) sum[q].store(out + (block * kTriple + q) * kLanes);
  else
    next_state(step, sum[0], sum[1], sum[2]).store(out + block * kLanes);
}

inline void finish_row(const DenseStep& step, std::int64_t block, std::int64_t row, const Vec (&sum)[kQuad]) {
  if (step.trace != nullptr) return finish_row_with_trace(step, block, row, sum);
  const std::int64_t wide = block * kQuad * kLanes, narrow = block * kLanes;
  float* out = step.out + row * step.out_stride;
  const float ts = step.timespans == nullptr ? 1.0f : step.timespans[row * step.timespan_stride];
  switch (step.finish) {
    case Finish::scale: return;
    case Finish::store:
      for (int q = 0; q < kQuad; ++q) sum[q].store(out + wide + q * kLanes);
      return;
    case Finish::activate:
      for (int q = 0; q < kQuad; ++q) activate(step.activation, sum[q]).store(out + wide + q * kLanes);
      return;
    case Finish::gated:
    case Finish::no_gate:
      next_state(step, sum[0], sum[1], fma(sum[2], Vec::all(step.time_sign * ts), sum[3])).store(out + narrow);
      return;
    case Finish::pure:
      for (int q = 0; q < kQuad; ++q) {
        const std::int64_t at = wide + q * kLanes;
        const Vec a = Vec::load(step.amplitude + at);
        const Vec decay = quick_exp(Vec::all(-ts) * (abs(Vec::load(step.w_tau + at)) + abs(sum[q])));
        fnma(a * decay, sum[q], a).store(out + at);
      }
      return;
    case Finish::memory: {
      float* cell = step.memory + row * step.memory_stride + narrow;
      const Vec forget = quick_sigmoid(sum[2] + Vec::all(1.0f));
      const Vec next = fma(Vec::load(cell), forget, quick_tanh(sum[0]) * quick_sigmoid(sum[1]));
      next.store(cell);
      (quick_tanh(next) * quick_sigmoid(sum[3])).store(out + narrow);
      return;
    }
  }
}

#if defined(__AVX512BF16__)
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
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) {
      __m512bh weight[kQuad];
#pragma GCC unroll 4
      for (int q = 0; q < kQuad; ++q) weight[q] = (__m512bh)_mm512_loadu_si512(w + b * panel + q * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const auto value = (__m512bh)_mm512_set1_epi32(static_cast<int>(x[r * stride + k]));
#pragma GCC unroll 4
        for (int q = 0; q < kQuad; ++q) sum[r][b][q] = {_mm512_dpbf16_ps(sum[r][b][q].v, value, weight[q])};
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
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b)
#pragma GCC unroll 4
      for (int q = 0; q < Vectors; ++q)
        sum[r][b][q] = Vec::load(start + r * step.start_stride + b * kWide + q * kLanes);
#if defined(__AVX512BF16__)
  add_all_pairs<Rows, Blocks>(step, block, first % kPairedRows, sum);
#else
  for (int s = 0; s < step.segment_count; ++s) {
    const Segment& segment = step.segments[s];
    const std::int64_t panel = segment.inputs * kWide;
    const float* w = segment.weights + block * panel;
    const float* x = segment.rows + first * segment.stride;
    for (std::int64_t k = 0; k < segment.inputs; ++k, w += kWide) {
#pragma GCC unroll 4
      for (int b = 0; b < Blocks; ++b) {
        Vec weight[Vectors];
#pragma GCC unroll 4
        for (int q = 0; q < Vectors; ++q) weight[q] = Vec::load(w + b * panel + q * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
          const Vec value = Vec::all(x[r * segment.stride + k]);
#pragma GCC unroll 4
          for (int q = 0; q < Vectors; ++q) sum[r][b][q] = fma(value, weight[q], sum[r][b][q]);
        }
      }
    }
  }
#endif
#pragma GCC unroll 4
  for (int b = 0; b < Blocks; ++b)
#pragma GCC unroll 16
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

#if defined(__AVX512BF16__)
constexpr bool kPairs = true;
#else
constexpr bool kPairs = false;
#endif

void run_dense(const DenseStep& step) noexcept {
#if defined(__AVX512BF16__)
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

}  // namespace

constinit const DenseKernel kDenseKernel = {TSR_STRING(TSR_ISA), kLanes, kRows, run_dense, kPairs};

}  // namespace tessera::ncp::TSR_ISA
