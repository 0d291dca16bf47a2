// Kernels of the way back for one instruction set: included like dense_kernel_inl.h. Gradients of weights keep
// TSR_NCP_ROWS inputs x 4 vectors of columns in registers over all rows; rows are added in their order.

#include "tessera/ncp/internal/backward_kernels.h"
#include "tessera/ncp/internal/dense_kernels.h"
#include "tessera/ncp/internal/vector_math_inl.h"

namespace tessera::ncp {
namespace {

constexpr int kInputs = TSR_NCP_ROWS;
constexpr int kWide = kQuad * kLanes;

inline Vec rounded(Vec v, Precision precision) {
  if (precision == Precision::bfloat16) return to_bfloat16(v);
  if (precision == Precision::float16) return to_float16(v);
  return v;
}

template <int Inputs>
void add_outer(const OuterStep& step, std::int64_t block, std::int64_t first) {
  Vec sum[Inputs][kQuad];
  float* out = step.out + (block * step.inputs + first) * kWide;
  for (int i = 0; i < Inputs; ++i)
    for (int q = 0; q < kQuad; ++q) sum[i][q] = load(out + i * kWide + q * kLanes);
  const float* d = step.d + block * kWide;
  const float* x = step.x + first;
  for (std::int64_t r = 0; r < step.rows; ++r, d += step.d_stride, x += step.x_stride) {
    Vec column[kQuad];
    for (int q = 0; q < kQuad; ++q) column[q] = load(d + q * kLanes);
    for (int i = 0; i < Inputs; ++i) {
      const Vec value = all(x[i]);
      for (int q = 0; q < kQuad; ++q) sum[i][q] += value * column[q];
    }
  }
  for (int i = 0; i < Inputs; ++i)
    for (int q = 0; q < kQuad; ++q) save(out + i * kWide + q * kLanes, sum[i][q]);
}

template <int Inputs>
void add_rest(const OuterStep& step, std::int64_t block, std::int64_t first, std::int64_t inputs) {
  if constexpr (Inputs > 0) {
    if (inputs == Inputs) return add_outer<Inputs>(step, block, first);
    add_rest<Inputs - 1>(step, block, first, inputs);
  }
}

}  // namespace

void TSR_NCP_NAME(add_outer)(const OuterStep& step) noexcept {
  for (std::int64_t block = 0; block < step.blocks; ++block) {
    std::int64_t input = 0;
    for (; input + kInputs <= step.inputs; input += kInputs) add_outer<kInputs>(step, block, input);
    add_rest<kInputs - 1>(step, block, input, step.inputs - input);
  }
}

void TSR_NCP_NAME(add_columns)(std::int64_t rows, std::int64_t columns, const float* d, std::int64_t stride,
                               float* out) noexcept {
  for (std::int64_t c = 0; c < columns; c += kLanes) {
    Vec sum = load(out + c);
    for (std::int64_t r = 0; r < rows; ++r) sum += load(d + r * stride + c);
    save(out + c, sum);
  }
}

void TSR_NCP_NAME(back_gate)(const GateStep& step) noexcept {
  for (std::int64_t r = 0; r < step.rows; ++r) {
    const float* d_row = step.d + r * step.d_stride;
    const float* above_row = step.above == nullptr ? nullptr : step.above + r * step.above_stride;
    float* trace = step.trace + r * step.trace_stride;
    float* more = step.more_trace + r * step.more_trace_stride;
    for (std::int64_t block = 0; block < step.blocks; ++block) {
      if (step.quads) {
        Vec d = load(d_row + block * kLanes);
        if (above_row != nullptr) d += load(above_row + block * kLanes);
        for (int q = 0; q < kQuad; ++q) {
          float* at = trace + block * kWide + q * kLanes;
          save(at, rounded(d * load(at), step.rounding));
        }
        continue;
      }
      for (int q = 0; q < kQuad; ++q) {
        const std::int64_t at = block * kWide + q * kLanes;
        Vec d = load(d_row + at);
        if (above_row != nullptr) d += load(above_row + at);
        save(trace + at, rounded(d * load(trace + at), step.rounding));
        save(more + at, d * load(more + at));
        float* second = more + step.blocks * kWide + at;
        save(second, d * load(second));
      }
    }
  }
}

void TSR_NCP_NAME(back_memory)(const MemoryStep& step) noexcept {
  for (std::int64_t r = 0; r < step.rows; ++r) {
    float* trace = step.trace + r * step.trace_stride;
    const float* more = step.more_trace + r * step.more_trace_stride;
    for (std::int64_t block = 0; block < step.blocks; ++block) {
      const std::int64_t narrow = block * kLanes;
      const Vec d = load(step.d + r * step.d_stride + narrow);
      float* memory = step.d_memory + r * step.d_memory_stride + narrow;
      const Vec whole = load(memory) + d * load(more + narrow);
      for (int q = 0; q < kQuad; ++q) {
        float* at = trace + block * kWide + q * kLanes;
        save(at, rounded((q == 3 ? d : whole) * load(at), step.rounding));
      }
      save(memory, whole * load(more + step.blocks * kLanes + narrow));
    }
  }
}

void TSR_NCP_NAME(round)(Precision precision, float* values, std::int64_t count) noexcept {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) save(values + i, rounded(load(values + i), precision));
  if (i == count) return;
  float rest[kLanes]{};
  std::memcpy(rest, values + i, static_cast<std::size_t>(count - i) * sizeof(float));
  save(rest, rounded(load(rest), precision));
  std::memcpy(values + i, rest, static_cast<std::size_t>(count - i) * sizeof(float));
}

}  // namespace tessera::ncp
