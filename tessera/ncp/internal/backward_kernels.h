#pragma once

// Kernels of the way back through layers of products: gradients of weights, and of what a gate was given. The products
// themselves are the dense kernel's.

#include "tessera/core/isa_functions.h"
#include "tessera/ncp/gradient.h"

#include <cstdint>

namespace tessera::ncp {

// out += transposed x times d, in the layout of packed weights: [block][input][kQuad][lanes].
struct OuterStep {
  std::int64_t rows = 0;
  std::int64_t inputs = 0;
  std::int64_t blocks = 0;
  const float* x = nullptr;
  std::int64_t x_stride = 0;
  const float* d = nullptr;
  std::int64_t d_stride = 0;
  float* out = nullptr;
};

// trace *= gradient of the results; a quad of the trace has one result, else each number has its own.
struct GateStep {
  std::int64_t rows = 0;
  std::int64_t blocks = 0;
  bool quads = true;
  const float* d = nullptr;
  std::int64_t d_stride = 0;
  const float* above = nullptr;  // to be added to d, where not null
  std::int64_t above_stride = 0;
  float* trace = nullptr;
  std::int64_t trace_stride = 0;
  float* more_trace = nullptr;  // of the pure mode, likewise
  std::int64_t more_trace_stride = 0;
  const float* time_slope = nullptr;  // of each result, where not null
  std::int64_t time_slope_stride = 0;
  float* d_elapsed = nullptr;               // of each row, added to
  Precision rounding = Precision::float32;  // of the trace
};

// An LSTM: d of its output, and memory's gradient that becomes the one of the memory before.
struct MemoryStep {
  std::int64_t rows = 0;
  std::int64_t blocks = 0;
  const float* d = nullptr;
  std::int64_t d_stride = 0;
  float* d_memory = nullptr;
  std::int64_t d_memory_stride = 0;
  float* trace = nullptr;
  std::int64_t trace_stride = 0;
  const float* more_trace = nullptr;
  std::int64_t more_trace_stride = 0;
  Precision rounding = Precision::float32;
};

struct BackwardKernel {
  void (*add_outer)(const OuterStep&) noexcept;
  // out += sums of columns; their number is a multiple of the lanes.
  void (*add_columns)(std::int64_t rows, std::int64_t columns, const float* d, std::int64_t stride,
                      float* out) noexcept;
  void (*back_gate)(const GateStep&) noexcept;
  void (*back_memory)(const MemoryStep&) noexcept;
  // In place, to the numbers that a precision has.
  void (*round)(Precision precision, float* values, std::int64_t count) noexcept;
};

TSR_EACH_ISA(extern const BackwardKernel kBackwardKernel;)

// For active_isa().
const BackwardKernel& backward_kernel();

}  // namespace tessera::ncp
