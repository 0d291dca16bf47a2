#include "tessera/targets/cpu/kernels/recurrent/recurrent_range.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

// --- Products ------------------------------------------------------------------------------------------------------

constexpr int kGroupVectors = static_cast<int>(kUnits) / Vec::kWidth;
// Groups and rows at a time: as many as keep their sums in registers.
constexpr int kMostGroups = Vec::kWidth == 16 ? 4 : Vec::kWidth == 8 ? 2 : 1;
constexpr int most_rows(int groups) { return Vec::kWidth == 16 ? (groups == 4 ? 6 : 8) : groups == 2 ? 3 : 6; }
// Sums in flight that hide how long a fused multiplication takes: a row that is alone has several for each column. With
// more rows, threads decide how many come together, and that may not show in the order of sums.
constexpr int kInFlight = 8;

template <int rows, int vectors, bool alone = false>
void multiply_tile(const float* x, std::int64_t x_stride, std::int64_t depth, const float* w, std::int64_t w_stride,
                   const float* bias, float* y, std::int64_t y_stride) {
  constexpr int kParts = alone && vectors < kInFlight ? (kInFlight + vectors - 1) / vectors : 1;
  Vec sums[kParts][rows][vectors];
  unroll<rows>([&](auto r) TSR_INLINE_LAMBDA {
    unroll<vectors>([&](auto v) TSR_INLINE_LAMBDA {
      sums[0][r.value][v.value] = Vec::load((bias != nullptr ? bias : y + r.value * y_stride) + v.value * Vec::kWidth);
      unroll<kParts - 1>([&](auto p) TSR_INLINE_LAMBDA { sums[p.value + 1][r.value][v.value] = Vec::zero(); });
    });
  });
  const auto add = [&](std::int64_t k, auto p) TSR_INLINE_LAMBDA {
    Vec column[vectors];
    unroll<vectors>([&](auto v)
                        TSR_INLINE_LAMBDA { column[v.value] = Vec::load(w + k * w_stride + v.value * Vec::kWidth); });
    unroll<rows>([&](auto r) TSR_INLINE_LAMBDA {
      const Vec value = Vec::all(x[r.value * x_stride + k]);
      unroll<vectors>([&](auto v) TSR_INLINE_LAMBDA {
        sums[p.value][r.value][v.value] = fma(value, column[v.value], sums[p.value][r.value][v.value]);
      });
    });
  };
  std::int64_t k = 0;
  for (; k + kParts <= depth; k += kParts) unroll<kParts>([&](auto p) TSR_INLINE_LAMBDA { add(k + p.value, p); });
  for (; k < depth; ++k) add(k, Index<0>{});
  unroll<rows>([&](auto r) TSR_INLINE_LAMBDA {
    unroll<vectors>([&](auto v) TSR_INLINE_LAMBDA {
      Vec sum = sums[0][r.value][v.value];
      unroll<kParts - 1>([&](auto p) TSR_INLINE_LAMBDA { sum = sum + sums[p.value + 1][r.value][v.value]; });
      sum.store(y + r.value * y_stride + v.value * Vec::kWidth);
    });
  });
}

// Rows [row, row + count), at most `rows` of them, in one tile.
template <int rows, int groups>
TSR_INLINE void multiply_rows(const RecurrentProduct& f, std::int64_t row, std::int64_t count, const float* w,
                              const float* bias, float* y) {
  if constexpr (rows > 0) {
    if (count < rows) return multiply_rows<rows - 1, groups>(f, row, count, w, bias, y);
    multiply_tile<rows, groups * kGroupVectors>(f.x + row * f.x_stride, f.x_stride, f.depth, w, f.groups * kUnits, bias,
                                                y + row * f.y_stride, f.y_stride);
  }
}

// In tiles as even as can be: few rows do not hide the loads of their weights.
template <int groups>
void multiply_groups(const RecurrentProduct& f, const float* w, const float* bias, float* y) {
  constexpr int kRows = most_rows(groups);
  if (f.alone)
    return multiply_tile<1, groups * kGroupVectors, true>(f.x, f.x_stride, f.depth, w, f.groups * kUnits, bias, y,
                                                          f.y_stride);
  const std::int64_t tiles = (f.rows + kRows - 1) / kRows;
  for (std::int64_t i = 0, row = 0; i < tiles; ++i) {
    const std::int64_t end = f.rows * (i + 1) / tiles;
    multiply_rows<kRows, groups>(f, row, end - row, w, bias, y);
    row = end;
  }
}

template <int groups>
void multiply_at_most(const RecurrentProduct& f, std::int64_t left, const float* w, const float* bias, float* y) {
  if constexpr (groups > 0) {
    if (left >= groups)
      multiply_groups<groups>(f, w, bias, y);
    else
      multiply_at_most<groups - 1>(f, left, w, bias, y);
  }
}

void multiply(const RecurrentProduct& f) {
  for (std::int64_t block = 0; block < f.blocks; ++block)
    for (std::int64_t group = 0; group < f.groups; group += kMostGroups) {
      const float* w = f.packed + block * f.depth * f.groups * kUnits + group * kUnits;
      const float* bias = f.bias == nullptr ? nullptr : f.bias + (block * f.groups + group) * kUnits;
      multiply_at_most<kMostGroups>(f, f.groups - group, w, bias, f.y + block * f.y_block + group * kUnits);
    }
}

// --- Cells ---------------------------------------------------------------------------------------------------------

// 1 + e^-x: what a sigmoid divides by. Infinity far below 0, where the sigmoid is 0.
TSR_INLINE Vec sigmoid_divisor(Vec x) { return Vec::all(1.0f) + exp(Vec::zero() - x); }

// a * tanh(x) / divisor with one division.
TSR_INLINE Vec tanh_over(Vec x, Vec divisor) {
  const Vec t = expm1(abs(x) * Vec::all(-2.0f));  // in (-1, 0]
  return copy_sign(t, x) / ((t + Vec::all(2.0f)) * divisor);
}

// visit(block, unit) for every vector of units.
template <class Visit>
TSR_INLINE void for_units(std::int64_t blocks, Visit visit) {
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t unit = 0; unit < kUnits; unit += Vec::kWidth) visit(block, unit);
}

void rnn(const float* sums, float* h, std::int64_t blocks, float limit) {
  const Vec high = Vec::all(limit), low = Vec::all(-limit);
  for_units(blocks, [&](std::int64_t block, std::int64_t unit) TSR_INLINE_LAMBDA {
    const std::int64_t i = block * kUnits + unit;
    tanh(clip(Vec::load(sums + i), low, high)).store(h + i);
  });
}

void lstm(const float* sums, const float* p, std::int64_t p_stride, float* c, float* h, std::int64_t blocks,
          float limit, bool input_forget) {
  const Vec high = Vec::all(limit), low = Vec::all(-limit), one = Vec::all(1.0f);
  for_units(blocks, [&](std::int64_t block, std::int64_t unit) TSR_INLINE_LAMBDA {
    const std::int64_t i = block * kUnits + unit;
    const Vec before = Vec::load(c + i);
    const auto sum = [&](int gate, int peephole, Vec state) TSR_INLINE_LAMBDA {
      Vec value = Vec::load(sums + (4 * block + gate) * kUnits + unit);
      if (p != nullptr && peephole >= 0) value = fma(Vec::load(p + peephole * p_stride + i), state, value);
      return clip(value, low, high);
    };
    const Vec in = sigmoid_divisor(sum(0, 0, before));
    const Vec forget = input_forget ? one - one / in : one / sigmoid_divisor(sum(2, 2, before));
    const Vec state = fma(forget, before, tanh_over(sum(3, -1, before), in));
    state.store(c + i);
    tanh_over(state, sigmoid_divisor(sum(1, 1, state))).store(h + i);
  });
}

void gru_gates(float* sums, const float* h, float* gated_h, std::int64_t blocks, float limit) {
  const Vec high = Vec::all(limit), low = Vec::all(-limit), one = Vec::all(1.0f);
  for_units(blocks, [&](std::int64_t block, std::int64_t unit) TSR_INLINE_LAMBDA {
    float *z = sums + 3 * block * kUnits + unit, *r = z + kUnits;
    (one / sigmoid_divisor(clip(Vec::load(z), low, high))).store(z);
    const Vec reset = one / sigmoid_divisor(clip(Vec::load(r), low, high));
    (reset * Vec::load(h + block * kUnits + unit)).store(gated_h + block * kUnits + unit);
  });
}

void gru(const float* sums, const float* h, float* next, std::int64_t blocks, float limit) {
  const Vec high = Vec::all(limit), low = Vec::all(-limit), one = Vec::all(1.0f);
  for_units(blocks, [&](std::int64_t block, std::int64_t unit) TSR_INLINE_LAMBDA {
    const float* at = sums + 3 * block * kUnits + unit;
    const Vec update = Vec::load(at), made = tanh(clip(Vec::load(at + 2 * kUnits), low, high));
    fma(one - update, made, update * Vec::load(h + block * kUnits + unit)).store(next + block * kUnits + unit);
  });
}

void gru_linear(const float* sums, const float* product, const float* h, float* next, std::int64_t blocks,
                float limit) {
  const Vec high = Vec::all(limit), low = Vec::all(-limit), one = Vec::all(1.0f);
  for_units(blocks, [&](std::int64_t block, std::int64_t unit) TSR_INLINE_LAMBDA {
    const float *x = sums + 3 * block * kUnits + unit, *y = product + 3 * block * kUnits + unit;
    const auto both = [&](int gate) TSR_INLINE_LAMBDA {
      return clip(Vec::load(x + gate * kUnits) + Vec::load(y + gate * kUnits), low, high);
    };
    const Vec update = one / sigmoid_divisor(both(0)), reset = one / sigmoid_divisor(both(1));
    const Vec made = tanh(clip(fma(reset, Vec::load(y + 2 * kUnits), Vec::load(x + 2 * kUnits)), low, high));
    fma(one - update, made, update * Vec::load(h + block * kUnits + unit)).store(next + block * kUnits + unit);
  });
}

}  // namespace

RecurrentFunctions recurrent_functions() { return {multiply, rnn, lstm, gru_gates, gru, gru_linear}; }

}  // namespace tessera::cpu::TSR_ISA
