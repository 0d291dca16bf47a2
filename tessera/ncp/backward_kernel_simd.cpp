// Kernels of the way back. Gradients of weights keep kInputs inputs x 4 vectors of columns in registers over all rows;
// rows are added in their order.

#include "tessera/ncp/internal/backward_kernels.h"
#include "tessera/ncp/internal/dense_kernels.h"
#include "tessera/simd/halves.h"

#include <cstring>

namespace tessera::ncp::TSR_ISA {
namespace {

using namespace simd::TSR_ISA;

constexpr int kLanes = Vec::kWidth;
constexpr int kInputs = kLanes == 16 ? 6 : kLanes == 8 ? 3 : 2;  // whose sums fit the registers
constexpr int kWide = kQuad * kLanes;
constexpr std::int64_t kPackedRows = 64;  // of a block: half of a small first-level cache

inline Vec rounded(Vec v, Precision precision) {
  if (precision == Precision::bfloat16) return rounded_to_bfloat16(v);
  if (precision == Precision::float16) return rounded_to_float16(v);
  return v;
}

template <int Inputs>
void add_outer(const OuterStep& step, std::int64_t first) {
  Vec sum[Inputs][kQuad];
  float* out = step.out + first * kWide;
#pragma GCC unroll 8
  for (int i = 0; i < Inputs; ++i)
#pragma GCC unroll 4
    for (int q = 0; q < kQuad; ++q) sum[i][q] = Vec::load(out + i * kWide + q * kLanes);
  const float* d = step.d;
  const float* x = step.x + first;
  for (std::int64_t r = 0; r < step.rows; ++r, d += step.d_stride, x += step.x_stride) {
    Vec column[kQuad];
#pragma GCC unroll 4
    for (int q = 0; q < kQuad; ++q) column[q] = Vec::load(d + q * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < Inputs; ++i) {
      const Vec value = Vec::all(x[i]);
#pragma GCC unroll 4
      for (int q = 0; q < kQuad; ++q) sum[i][q] = fma(value, column[q], sum[i][q]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Inputs; ++i)
#pragma GCC unroll 4
    for (int q = 0; q < kQuad; ++q) sum[i][q].store(out + i * kWide + q * kLanes);
}

template <int Inputs>
void add_rest(const OuterStep& step, std::int64_t first, std::int64_t inputs) {
  if constexpr (Inputs > 0) {
    if (inputs == Inputs) return add_outer<Inputs>(step, first);
    add_rest<Inputs - 1>(step, first, inputs);
  }
}

// Rows of a block, whose strides of whole kilobytes would share few sets of a cache, are laid side by side.
void add_outer(const OuterStep& step) noexcept {
  alignas(64) float packed[kPackedRows * kWide];
  for (std::int64_t row = 0; row < step.rows; row += kPackedRows)
    for (std::int64_t block = 0; block < step.blocks; ++block) {
      OuterStep part = step;
      part.rows = step.rows - row < kPackedRows ? step.rows - row : kPackedRows;
      part.x = step.x + row * step.x_stride;
      part.d = step.d + row * step.d_stride + block * kWide;
      part.out = step.out + block * step.inputs * kWide;
      if (step.inputs > 2 * kInputs) {
        for (std::int64_t r = 0; r < part.rows; ++r)
#pragma GCC unroll 4
          for (int q = 0; q < kQuad; ++q)
            Vec::load(part.d + r * step.d_stride + q * kLanes).store(packed + r * kWide + q * kLanes);
        part.d = packed;
        part.d_stride = kWide;
      }
      std::int64_t input = 0;
      for (; input + kInputs <= step.inputs; input += kInputs) add_outer<kInputs>(part, input);
      add_rest<kInputs - 1>(part, input, step.inputs - input);
    }
}

void add_columns(std::int64_t rows, std::int64_t columns, const float* d, std::int64_t stride, float* out) noexcept {
  // Along rows, as they lie in memory; some at a time, so that sums are read and written less often.
  constexpr std::int64_t kAtATime = 4;
  std::int64_t r = 0;
  for (; r + kAtATime <= rows; r += kAtATime, d += kAtATime * stride)
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      Vec sum = Vec::load(out + c);
      for (int i = 0; i < kAtATime; ++i) sum += Vec::load(d + i * stride + c);
      sum.store(out + c);
    }
  for (; r < rows; ++r, d += stride)
    for (std::int64_t c = 0; c < columns; c += kLanes) (Vec::load(out + c) + Vec::load(d + c)).store(out + c);
}

void back_gate(const GateStep& step) noexcept {
  for (std::int64_t r = 0; r < step.rows; ++r) {
    const float* d_row = step.d + r * step.d_stride;
    const float* above_row = step.above == nullptr ? nullptr : step.above + r * step.above_stride;
    float* trace = step.trace + r * step.trace_stride;
    float* more = step.more_trace + r * step.more_trace_stride;
    const float* time_slope = step.time_slope == nullptr ? nullptr : step.time_slope + r * step.time_slope_stride;
    Vec by_time = Vec::zero();
    for (std::int64_t block = 0; block < step.blocks; ++block) {
      if (step.quads) {
        Vec d = Vec::load(d_row + block * kLanes);
        if (above_row != nullptr) d += Vec::load(above_row + block * kLanes);
        if (time_slope != nullptr) by_time = fma(d, Vec::load(time_slope + block * kLanes), by_time);
        for (int q = 0; q < kQuad; ++q) {
          float* at = trace + block * kWide + q * kLanes;
          rounded(d * Vec::load(at), step.rounding).store(at);
        }
        continue;
      }
      for (int q = 0; q < kQuad; ++q) {
        const std::int64_t at = block * kWide + q * kLanes;
        Vec d = Vec::load(d_row + at);
        if (above_row != nullptr) d += Vec::load(above_row + at);
        if (time_slope != nullptr) by_time = fma(d, Vec::load(time_slope + at), by_time);
        rounded(d * Vec::load(trace + at), step.rounding).store(trace + at);
        (d * Vec::load(more + at)).store(more + at);
        float* second = more + step.blocks * kWide + at;
        (d * Vec::load(second)).store(second);
      }
    }
    if (time_slope != nullptr) step.d_elapsed[r] += sum(by_time);
  }
}

void back_memory(const MemoryStep& step) noexcept {
  for (std::int64_t r = 0; r < step.rows; ++r) {
    float* trace = step.trace + r * step.trace_stride;
    const float* more = step.more_trace + r * step.more_trace_stride;
    for (std::int64_t block = 0; block < step.blocks; ++block) {
      const std::int64_t narrow = block * kLanes;
      const Vec d = Vec::load(step.d + r * step.d_stride + narrow);
      float* memory = step.d_memory + r * step.d_memory_stride + narrow;
      const Vec whole = fma(d, Vec::load(more + narrow), Vec::load(memory));
      for (int q = 0; q < kQuad; ++q) {
        float* at = trace + block * kWide + q * kLanes;
        rounded((q == 3 ? d : whole) * Vec::load(at), step.rounding).store(at);
      }
      (whole * Vec::load(more + step.blocks * kLanes + narrow)).store(memory);
    }
  }
}

void round_values(Precision precision, float* values, std::int64_t count) noexcept {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) rounded(Vec::load(values + i), precision).store(values + i);
  if (i == count) return;
  float rest[kLanes]{};
  std::memcpy(rest, values + i, static_cast<std::size_t>(count - i) * sizeof(float));
  rounded(Vec::load(rest), precision).store(rest);
  std::memcpy(values + i, rest, static_cast<std::size_t>(count - i) * sizeof(float));
}

}  // namespace

constinit const BackwardKernel kBackwardKernel = {add_outer, add_columns, back_gate, back_memory, round_values};

}  // namespace tessera::ncp::TSR_ISA
