#pragma once

// The loops of recurrent layers. Weights lie in panels of kPanel columns, each with its rows one after the other;
// columns that are missing in the last panel are zeros.

#include "tessera/backends/cpu/internal/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

constexpr std::int64_t kPanel = 32;

struct RecurrentFunctions {
  // y = bias + x w for `rows` rows, or y += x w without a bias; y has panels * kPanel columns.
  void (*multiply)(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t depth, const float* packed,
                   std::int64_t panels, const float* bias, float* y, std::int64_t y_stride);
  // One sample, n hidden units; sums are cut at +-clip before their activation.
  void (*rnn)(const float* sums, float* h, std::int64_t n, float clip);
  void (*lstm)(const float* sums, float* h, float* c, std::int64_t n, float clip, bool input_forget);
  // Sums of z and r become the gates, and gated = r * h.
  void (*gru_gates)(float* sums, const float* h, float* gated, std::int64_t n, float clip);
  // h = (1 - z) * tanh(x_sums + r * h_sums) + z * h, or without r where that was applied before.
  void (*gru)(const float* gates, const float* x_sums, const float* h_sums, float* h, std::int64_t n, float clip,
              bool reset_here);
};

TSR_EACH_ISA(RecurrentFunctions recurrent_functions();)

}  // namespace tessera::cpu
