// The dense kernel for one instruction set: a source file defines TSR_NCP_LANES (floats in a vector), TSR_NCP_ROWS
// (rows whose sums fit the registers) and TSR_NCP_NAME(stem), and includes this.
//
// Sums of TSR_NCP_ROWS rows x 4 vectors of columns stay in registers over the whole reduction; each input is broadcast,
// each vector of weights is used for all rows. A single row has several blocks at a time, since four additions in
// flight do not fill the pipeline. The order of additions is the same in every case, so a row's result does not depend
// on how many others are computed with it.

#include "tessera/ncp/internal/dense_kernels.h"
#include "tessera/ncp/internal/vector_math_inl.h"

#include <cstring>

namespace tessera::ncp {
namespace {

constexpr int kRows = TSR_NCP_ROWS;
constexpr int kSingleBlocks = kLanes == 16 ? 4 : 2;

inline Vec vlecun(Vec x) { return all(1.7159f) * vtanh(all(0.666f) * x); }

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

inline Vec vhead(DialectRules::Head head, Vec x) {
  switch (head) {
    case DialectRules::Head::tanh: return vtanh(x);
    case DialectRules::Head::lecun_tanh: return vlecun(x);
    case DialectRules::Head::none: return x;
  }
  return x;
}

inline void finish_row(const DenseStep& step, std::int64_t block, std::int64_t row, const Vec* sum) {
  const std::int64_t wide = block * kQuad * kLanes, narrow = block * kLanes;
  float* out = step.out + row * step.out_stride;
  const float ts = step.timespans == nullptr ? 1.0f : step.timespans[row * step.timespan_stride];
  switch (step.finish) {
    case Finish::store:
      for (int q = 0; q < kQuad; ++q) save(out + wide + q * kLanes, sum[q]);
      return;
    case Finish::activate:
      for (int q = 0; q < kQuad; ++q) save(out + wide + q * kLanes, vactivate(step.activation, sum[q]));
      return;
    case Finish::gated: {
      const Vec gate = vsigmoid(sum[2] * all(step.time_sign * ts) + sum[3]);
      const Vec first = vhead(step.head, sum[0]), second = vhead(step.head, sum[1]);
      save(out + narrow, first * (all(1) - gate) + gate * second);
      return;
    }
    case Finish::no_gate: {
      const Vec gate = vsigmoid(sum[2] * all(step.time_sign * ts) + sum[3]);
      save(out + narrow, vhead(step.head, sum[0]) + gate * vhead(step.head, sum[1]));
      return;
    }
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

template <int Rows, int Blocks>
void run_rows(const DenseStep& step, std::int64_t block, std::int64_t first) {
  constexpr int kWide = kQuad * kLanes;
  Vec sum[Rows][Blocks][kQuad];
  const float* start = step.start + block * kWide + first * step.start_stride;
  for (int r = 0; r < Rows; ++r)
    for (int b = 0; b < Blocks; ++b)
      for (int q = 0; q < kQuad; ++q) sum[r][b][q] = load(start + r * step.start_stride + b * kWide + q * kLanes);
  for (int s = 0; s < step.segment_count; ++s) {
    const Segment& segment = step.segments[s];
    const std::int64_t panel = segment.inputs * kWide;
    const float* w = segment.weights + block * panel;
    const float* x = segment.rows + first * segment.stride;
    for (std::int64_t k = 0; k < segment.inputs; ++k, w += kWide) {
      for (int b = 0; b < Blocks; ++b) {
        Vec weight[kQuad];
        for (int q = 0; q < kQuad; ++q) weight[q] = load(w + b * panel + q * kLanes);
        for (int r = 0; r < Rows; ++r) {
          const Vec value = all(x[r * segment.stride + k]);
          for (int q = 0; q < kQuad; ++q) sum[r][b][q] += value * weight[q];
        }
      }
    }
  }
  for (int b = 0; b < Blocks; ++b)
    for (int r = 0; r < Rows; ++r) finish_row(step, block + b, first + r, sum[r][b]);
}

template <int Rows>
void run_rest(const DenseStep& step, std::int64_t block, std::int64_t first, std::int64_t rows) {
  if constexpr (Rows > 0) {
    if (rows == Rows) return run_rows<Rows, 1>(step, block, first);
    run_rest<Rows - 1>(step, block, first, rows);
  }
}

}  // namespace

void TSR_NCP_NAME(run_dense)(const DenseStep& step) noexcept {
  if (step.rows == 1) {
    std::int64_t block = 0;
    for (; block + kSingleBlocks <= step.blocks; block += kSingleBlocks) run_rows<1, kSingleBlocks>(step, block, 0);
    for (; block < step.blocks; ++block) run_rows<1, 1>(step, block, 0);
    return;
  }
  for (std::int64_t block = 0; block < step.blocks; ++block) {
    std::int64_t row = 0;
    for (; row + kRows <= step.rows; row += kRows) run_rows<kRows, 1>(step, block, row);
    run_rest<kRows - 1>(step, block, row, step.rows - row);
  }
}

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

}  // namespace tessera::ncp
