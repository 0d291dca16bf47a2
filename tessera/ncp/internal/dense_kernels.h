#pragma once

// The one kernel that fast layers are made of: products of rows with packed weights, with what follows them done while
// the sums are still in registers.

#include "tessera/core/isa.h"
#include "tessera/core/isa_functions.h"
#include "tessera/ncp/gradient.h"
#include "tessera/ncp/layer.h"

#include <cstdint>

namespace tessera::ncp {

// Weights are packed in blocks of kQuad vectors of columns: [block][input][kQuad][lanes]. A triple has three instead.
constexpr int kQuad = 4;
constexpr int kTriple = 3;

enum class Finish {
  store,     // sums as they are
  activate,  // a layer of a backbone
  gated,     // a quad is (ff1, ff2, time_a, time_b) of the same neurons, and the new state comes out; a triple has
             // the gate's sum as its third, for steps that all take the same time
  no_gate,   // likewise
  pure,      // sums are ff1 alone
  memory,    // a quad is (value, input, forget, output) of an LSTM
  scale,     // sums times the trace, on the way back through a layer of a backbone
};

struct Segment {
  const float* rows = nullptr;
  std::int64_t stride = 0;  // from row to row
  std::int64_t inputs = 0;
  const float* weights = nullptr;
  // Of a kernel that takes pairs: weights of two inputs that follow each other, as bfloat16 in the halves of a word,
  // [block][pair][kQuad][lanes]. The rows are then numbers that bfloat16 has.
  const std::uint32_t* pairs = nullptr;
};

// Rows whose inputs a kernel of pairs turns into pairs at a time, and how many words it needs for them.
constexpr std::int64_t kPairedRows = 48;
constexpr std::int64_t pairs_of(std::int64_t inputs) { return (inputs + 1) / 2; }

struct DenseStep {
  std::int64_t rows = 0;
  std::int64_t blocks = 0;
  int vectors = kQuad;    // of a block; kTriple for `gated`, `no_gate` and `store` without a trace, in float32
  Segment segments[2]{};  // inputs come from two places: the layer's input and its own state
  int segment_count = 0;
  const float* start = nullptr;  // what sums begin with: a bias, or rows that were computed before
  std::int64_t start_stride = 0;
  float* out = nullptr;
  std::int64_t out_stride = 0;

  Finish finish = Finish::store;
  Activation activation = Activation::lecun_tanh;
  DialectRules::Head head = DialectRules::Head::tanh;
  float time_sign = 1;
  const float* timespans = nullptr;  // one for each row; null: 1
  std::int64_t timespan_stride = 0;
  const float* w_tau = nullptr;
  const float* amplitude = nullptr;
  float* memory = nullptr;  // read and written
  std::int64_t memory_stride = 0;

  // For training, where not null: what gradients of the result are multiplied with on the way back. As wide as the
  // sums, and it may lie where they start: the slope of an activation, or four factors (ff1, ff2, time_a, time_b; of an
  // LSTM those of its four sums). Beside it, where needed, two narrow ones: of the pure mode by w_tau and amplitude; of
  // an LSTM the new memory by its output, and by the old memory.
  float* trace = nullptr;
  std::int64_t trace_stride = 0;
  float* more_trace = nullptr;
  std::int64_t more_trace_stride = 0;
  float* time_slope = nullptr;  // where not null, of the gate and the pure mode: by the elapsed time, as wide as `out`
  std::int64_t time_slope_stride = 0;
  Precision rounding = Precision::float32;  // of `out`
  std::uint32_t* scratch = nullptr;         // where segments have pairs: kPairedRows times the pairs of all segments
};

struct DenseKernel {
  const char* name;
  int lanes;
  int rows;  // that are computed at a time; fewer are slower for each
  void (*run)(const DenseStep&) noexcept;
  bool pairs = false;  // products of bfloat16, two at a time
};

TSR_EACH_ISA(extern const DenseKernel kDenseKernel;)
namespace avx512_bf16 {
extern const DenseKernel kDenseKernel;
}

// For active_isa(), and operands of this precision.
const DenseKernel& dense_kernel(Precision precision = Precision::float32, Isa isa = active_isa());

}  // namespace tessera::ncp
