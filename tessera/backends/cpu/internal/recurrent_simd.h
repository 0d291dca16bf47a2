#pragma once

#include "tessera/backends/cpu/internal/recurrent_range.h"
#include "tessera/backends/cpu/internal/simd_math.h"

namespace tessera::cpu::TSR_ISA {
namespace {

constexpr int kVectors = static_cast<int>(kPanel) / Vec::kWidth;
// As many rows as keep their sums in registers.
constexpr int kRows = Vec::kWidth == 16 ? 8 : Vec::kWidth == 8 ? 3 : 1;

template <int rows>
TSR_INLINE void multiply_panel(const float* x, std::int64_t x_stride, std::int64_t depth, const float* w,
                               const float* bias, float* y, std::int64_t y_stride) {
  Vec sums[rows][kVectors];
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = Vec::load((bias != nullptr ? bias : y + r * y_stride) + v * Vec::kWidth);
  for (std::int64_t k = 0; k < depth; ++k) {
    Vec column[kVectors];
    for (int v = 0; v < kVectors; ++v) column[v] = Vec::load(w + k * kPanel + v * Vec::kWidth);
    for (int r = 0; r < rows; ++r) {
      const Vec value = Vec::all(x[r * x_stride + k]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = fma(value, column[v], sums[r][v]);
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < kVectors; ++v) sums[r][v].store(y + r * y_stride + v * Vec::kWidth);
}

// One row has few sums: several for each column hide how long a fused multiplication takes.
TSR_INLINE void multiply_row(const float* x, std::int64_t depth, const float* w, const float* bias, float* y) {
  constexpr int kParts = kVectors > 2 ? 2 : 4;
  Vec sums[kParts][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    sums[0][v] = Vec::load((bias != nullptr ? bias : y) + v * Vec::kWidth);
    for (int p = 1; p < kParts; ++p) sums[p][v] = Vec::zero();
  }
  std::int64_t k = 0;
  for (; k + kParts <= depth; k += kParts)
    for (int p = 0; p < kParts; ++p) {
      const Vec value = Vec::all(x[k + p]);
      for (int v = 0; v < kVectors; ++v)
        sums[p][v] = fma(value, Vec::load(w + (k + p) * kPanel + v * Vec::kWidth), sums[p][v]);
    }
  for (; k < depth; ++k)
    for (int v = 0; v < kVectors; ++v)
      sums[0][v] = fma(Vec::all(x[k]), Vec::load(w + k * kPanel + v * Vec::kWidth), sums[0][v]);
  for (int v = 0; v < kVectors; ++v) {
    Vec sum = sums[0][v];
    for (int p = 1; p < kParts; ++p) sum = sum + sums[p][v];
    sum.store(y + v * Vec::kWidth);
  }
}

void multiply(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t depth, const float* packed,
              std::int64_t panels, const float* bias, float* y, std::int64_t y_stride) {
  for (std::int64_t p = 0; p < panels; ++p) {
    const float* w = packed + p * depth * kPanel;
    const float* b = bias == nullptr ? nullptr : bias + p * kPanel;
    std::int64_t r = 0;
    for (; r + kRows <= rows; r += kRows)
      multiply_panel<kRows>(x + r * x_stride, x_stride, depth, w, b, y + r * y_stride + p * kPanel, y_stride);
    for (; r < rows; ++r) multiply_row(x + r * x_stride, depth, w, b, y + r * y_stride + p * kPanel);
  }
}

// visit(i, mask) over n units.
template <class Visit>
TSR_INLINE void for_units(std::int64_t n, Visit visit) {
  for (std::int64_t i = 0; i < n; i += Vec::kWidth) visit(i, Vec::first(n - i));
}

#define TSR_ALWAYS __attribute__((always_inline))

void rnn(const float* sums, float* h, std::int64_t n, float limit) {
  const Vec high = Vec::all(limit), low = Vec::all(-limit);
  for_units(n,
            [&](std::int64_t i, auto m) TSR_ALWAYS { tanh(clip(Vec::load(sums + i, m), low, high)).store(h + i, m); });
}

void lstm(const float* sums, float* h, float* c, std::int64_t n, float limit, bool input_forget) {
  const Vec high = Vec::all(limit), low = Vec::all(-limit);
  for_units(n, [&](std::int64_t i, auto m) TSR_ALWAYS {
    const auto sum = [&](int gate) TSR_ALWAYS { return clip(Vec::load(sums + gate * n + i, m), low, high); };
    const Vec in = sigmoid(sum(0));
    const Vec forget = input_forget ? Vec::all(1.0f) - in : sigmoid(sum(2));
    const Vec state = fma(forget, Vec::load(c + i, m), in * tanh(sum(3)));
    state.store(c + i, m);
    (sigmoid(sum(1)) * tanh(state)).store(h + i, m);
  });
}

void gru_gates(float* sums, const float* h, float* gated_h, std::int64_t n, float limit) {
  const Vec high = Vec::all(limit), low = Vec::all(-limit);
  for_units(n, [&](std::int64_t i, auto m)
                   TSR_ALWAYS { sigmoid(clip(Vec::load(sums + i, m), low, high)).store(sums + i, m); });
  for_units(n, [&](std::int64_t i, auto m) TSR_ALWAYS {
    const Vec reset = sigmoid(clip(Vec::load(sums + n + i, m), low, high));
    reset.store(sums + n + i, m);
    (reset * Vec::load(h + i, m)).store(gated_h + i, m);
  });
}

void gru(const float* gates, const float* x_sums, const float* h_sums, float* h, std::int64_t n, float limit,
         bool reset_here) {
  const Vec high = Vec::all(limit), low = Vec::all(-limit);
  for_units(n, [&](std::int64_t i, auto m) TSR_ALWAYS {
    const Vec update = Vec::load(gates + i, m);
    Vec from_h = Vec::load(h_sums + i, m);
    if (reset_here) from_h = from_h * Vec::load(gates + n + i, m);
    const Vec next = tanh(clip(Vec::load(x_sums + i, m) + from_h, low, high));
    fma(Vec::all(1.0f) - update, next, update * Vec::load(h + i, m)).store(h + i, m);
  });
}

}  // namespace

RecurrentFunctions recurrent_functions() { return {multiply, rnn, lstm, gru_gates, gru}; }

}  // namespace tessera::cpu::TSR_ISA
