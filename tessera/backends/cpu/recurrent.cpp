// LSTM, GRU and simple recurrent layers with their default activations. Weights are packed once; what the inputs of all
// steps give is worked out first, as one product; then samples go through their steps, several at a time where their
// lengths agree.

#include "tessera/backends/cpu/internal/elementwise.h"
#include "tessera/backends/cpu/internal/families.h"
#include "tessera/backends/cpu/internal/flush.h"
#include "tessera/backends/cpu/internal/recurrent_range.h"
#include "tessera/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

namespace tessera::cpu {
namespace {

using Kind = Recurrent::Kind;

constexpr std::size_t kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitialH = 5, kInitialC = 6, kP = 7;

struct Sizes {
  std::int64_t steps, batch, input, hidden, directions;
  std::int64_t gates;
};

// Gates that are multiplied together: all of them, but for gru z and r apart from h, which waits for r.
struct Parts {
  std::int64_t first_panels = 0, second_panels = 0;  // panels
  std::int64_t first_gates = 0, second_gates = 0;
  std::int64_t panels() const { return first_panels + second_panels; }
  std::int64_t columns() const { return panels() * kPanel; }
};

std::int64_t gates_of(Kind kind) { return kind == Kind::lstm ? 4 : kind == Kind::gru ? 3 : 1; }

Sizes sizes_of(const Problem& problem) {
  const auto& op = std::get<Recurrent>(problem.node.op);
  const Shape x = problem.input(kX).shape(), r = problem.input(kR).shape();
  return {x[op.batch_first ? 1 : 0], x[op.batch_first ? 0 : 1], x[2], r[2], r[0], gates_of(op.kind)};
}

Parts parts_of(Kind kind, const Sizes& s) {
  Parts parts;
  parts.first_gates = kind == Kind::gru ? 2 : s.gates;
  parts.second_gates = s.gates - parts.first_gates;
  parts.first_panels = ceil_div(parts.first_gates * s.hidden, kPanel);
  parts.second_panels = ceil_div(parts.second_gates * s.hidden, kPanel);
  return parts;
}

bool has_default_activations(const Recurrent& op) {
  for (std::size_t i = 0; i < op.activations.size(); ++i) {
    const std::size_t each = op.kind == Kind::rnn ? 1 : op.kind == Kind::gru ? 2 : 3;
    const std::string_view wanted = op.kind == Kind::rnn || i % each > 0 ? "tanh" : "sigmoid";
    const std::string& given = op.activations[i];
    if (!std::equal(given.begin(), given.end(), wanted.begin(), wanted.end(),
                    [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; }))
      return false;
  }
  return true;
}

// Scratch, in floats: sums of all steps, states, and for gru the gated state and its product.
struct Scratch {
  std::int64_t sums, h, c, gated, product, total;
};
Scratch scratch_of(const Sizes& s, const Parts& parts) {
  Scratch out{};
  const std::int64_t samples = s.directions * s.batch;
  out.sums = 0;
  out.h = out.sums + samples * s.steps * parts.columns();
  out.c = out.h + samples * s.hidden;
  out.gated = out.c + samples * s.hidden;
  out.product = out.gated + samples * s.hidden;
  out.total = out.product + samples * parts.second_panels * kPanel;
  return out;
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const auto& op = std::get<Recurrent>(problem.node.op);
  if (problem.input(kX).type != ElementType::float32)
    return Refusal{fmt::format("elements are {}", name(problem.input(kX).type))};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  for (const std::size_t i : {kW, kR})
    if (problem.constant(i) == nullptr) return Refusal{"its weights are computed"};
  if (problem.has(kB) && problem.constant(kB) == nullptr) return Refusal{"its bias is computed"};
  if (problem.has(kP)) return Refusal{"peepholes"};
  if (!has_default_activations(op)) return Refusal{"activations other than the usual ones"};
  const Sizes s = sizes_of(problem);
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs.assign(problem.types.outputs.size(), Order::row_major);
  offer.scratch_bytes = scratch_of(s, parts_of(op.kind, s)).total * static_cast<std::int64_t>(sizeof(float));
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, kernel.isa, w.flops, w.read_bytes + w.write_bytes, 0.2);
  return offer;
}

// Rows of a matrix [directions, gates * hidden, depth] become columns of panels, part by part.
PackedWeights packed(const Array& matrix, const Sizes& s, const Parts& parts, Flush flush) {
  const std::int64_t depth = matrix.shape()[2];
  PackedWeights out(static_cast<std::size_t>(std::max<std::int64_t>(1, s.directions * parts.columns() * depth)) *
                    sizeof(float));
  std::memset(out.data(), 0, out.bytes());
  float* to = reinterpret_cast<float*>(out.data());
  const float* from = matrix.as<float>().data();
  for (std::int64_t d = 0; d < s.directions; ++d)
    for (std::int64_t row = 0; row < s.gates * s.hidden; ++row) {
      const bool second = row >= parts.first_gates * s.hidden;
      const std::int64_t column = second ? parts.first_panels * kPanel + row - parts.first_gates * s.hidden : row;
      for (std::int64_t k = 0; k < depth; ++k)
        to[((d * parts.panels() + column / kPanel) * depth + k) * kPanel + column % kPanel] =
            flush(from[(d * s.gates * s.hidden + row) * depth + k]);
    }
  return out;
}

// What is added to the sums of the inputs, and for gru with linear_before_reset to the product of the state.
struct Biases {
  std::vector<float> x, h;
};

Biases biases_of(const Problem& problem, const Sizes& s, const Parts& parts) {
  const auto& op = std::get<Recurrent>(problem.node.op);
  Biases out;
  out.x.assign(static_cast<std::size_t>(s.directions * parts.columns()), 0.0f);
  out.h.assign(static_cast<std::size_t>(s.directions * parts.second_panels * kPanel), 0.0f);
  if (!problem.has(kB)) return out;
  const auto b = problem.constant(kB)->as<float>();
  const std::int64_t rows = s.gates * s.hidden;
  for (std::int64_t d = 0; d < s.directions; ++d)
    for (std::int64_t row = 0; row < rows; ++row) {
      const float of_x = b[static_cast<std::size_t>(2 * d * rows + row)],
                  of_h = b[static_cast<std::size_t>((2 * d + 1) * rows + row)];
      const std::int64_t beyond = row - parts.first_gates * s.hidden;
      if (beyond < 0) {
        out.x[static_cast<std::size_t>(d * parts.columns() + row)] = of_x + of_h;
        continue;
      }
      const auto at = static_cast<std::size_t>(d * parts.columns() + parts.first_panels * kPanel + beyond);
      out.x[at] = op.linear_before_reset ? of_x : of_x + of_h;
      if (op.linear_before_reset) out.h[static_cast<std::size_t>(d * parts.second_panels * kPanel + beyond)] = of_h;
    }
  return out;
}

struct Layer {
  Recurrent op;
  Sizes s;
  Parts parts;
  Scratch scratch;
  RecurrentFunctions f;
  std::shared_ptr<const PackedWeights> w, r;
  Biases biases;
  bool has_lengths = false, long_lengths = false, has_h = false, has_c = false;
  float clip = std::numeric_limits<float>::infinity();

  std::int64_t x_row(std::int64_t t, std::int64_t n) const {
    return op.batch_first ? n * s.steps + t : t * s.batch + n;
  }
  std::int64_t state_row(std::int64_t d, std::int64_t n) const {
    return op.batch_first ? n * s.directions + d : d * s.batch + n;
  }
  std::int64_t y_row(std::int64_t t, std::int64_t d, std::int64_t n) const {
    return op.batch_first ? (n * s.steps + t) * s.directions + d : (t * s.directions + d) * s.batch + n;
  }
  std::int64_t length_of(const StepArgs& args, std::int64_t n) const {
    if (!has_lengths) return s.steps;
    const std::int64_t length =
        long_lengths ? args.input<std::int64_t>(kLengths)[n] : args.input<std::int32_t>(kLengths)[n];
    check(length >= 0 && length <= s.steps, Code::invalid_argument,
          "Recurrent: the sequence of sample {} is {} long, the input has {} steps", n, length, s.steps);
    return length;
  }

  void project_inputs(const StepArgs& args, float* sums) const;
  void run_samples(const StepArgs& args, float* memory, std::int64_t d, std::int64_t first, std::int64_t count) const;
  void step(float* sums, std::int64_t stride, std::int64_t d, std::int64_t count, float* h, float* c, float* gated,
            float* product) const;
};

void Layer::project_inputs(const StepArgs& args, float* sums) const {
  const std::int64_t rows = s.steps * s.batch, columns = parts.columns();
  const float* weights = reinterpret_cast<const float*>(w->data());
  const std::int64_t grain = std::max<std::int64_t>(8, 100'000 / std::max<std::int64_t>(1, s.input * columns));
  for (std::int64_t d = 0; d < s.directions; ++d)
    parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
      f.multiply(args.input<float>(kX) + begin * s.input, s.input, end - begin, s.input,
                 weights + d * columns * s.input, parts.panels(), biases.x.data() + d * columns,
                 sums + (d * rows + begin) * columns, columns);
    });
}

// Sums of `count` samples, `stride` floats apart, to their next states.
void Layer::step(float* sums, std::int64_t stride, std::int64_t d, std::int64_t count, float* h, float* c, float* gated,
                 float* product) const {
  const float* weights = reinterpret_cast<const float*>(r->data()) + d * parts.columns() * s.hidden;
  const std::int64_t n = s.hidden;
  f.multiply(h, n, count, n, weights, parts.first_panels, nullptr, sums, stride);
  if (op.kind == Kind::gru) {
    const std::int64_t width = parts.second_panels * kPanel;
    const float* second = weights + parts.first_panels * kPanel * n;
    for (std::int64_t i = 0; i < count; ++i) f.gru_gates(sums + i * stride, h + i * n, gated + i * n, n, clip);
    f.multiply(op.linear_before_reset ? h : gated, n, count, n, second, parts.second_panels,
               biases.h.data() + d * width, product, width);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    float *sum = sums + i * stride, *state = h + i * n;
    switch (op.kind) {
      case Kind::rnn: f.rnn(sum, state, n, clip); break;
      case Kind::lstm: f.lstm(sum, state, c + i * n, n, clip, op.input_forget); break;
      case Kind::gru:
        f.gru(sum, sum + parts.first_panels * kPanel, product + i * parts.second_panels * kPanel, state, n, clip,
              op.linear_before_reset);
        break;
    }
  }
}

void Layer::run_samples(const StepArgs& args, float* memory, std::int64_t d, std::int64_t first,
                        std::int64_t count) const {
  const std::int64_t n = s.hidden, columns = parts.columns(), at = d * s.batch + first;
  const auto row_bytes = static_cast<std::size_t>(n) * sizeof(float);
  float *h = memory + scratch.h + at * n, *c = memory + scratch.c + at * n, *gated = memory + scratch.gated + at * n,
        *product = memory + scratch.product + at * parts.second_panels * kPanel;
  const std::int64_t length = length_of(args, first);
  const auto output = [&](std::size_t i) { return i < args.outputs.size() ? args.output<float>(i) : nullptr; };
  float *y = output(0), *y_h = output(1), *y_c = op.kind == Kind::lstm ? output(2) : nullptr;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t state = state_row(d, first + i) * n;
    const auto start = [&](bool given, std::size_t input, float* to) {
      if (given && length > 0)
        std::memcpy(to, args.input<float>(input) + state, row_bytes);
      else
        std::memset(to, 0, row_bytes);
    };
    start(has_h, kInitialH, h + i * n);
    start(has_c, kInitialC, c + i * n);
  }
  const bool backwards = op.direction == Recurrent::Direction::reverse || d == 1;
  const std::int64_t stride = op.batch_first ? s.steps * columns : columns;
  for (std::int64_t k = 0; k < length; ++k) {
    const std::int64_t t = backwards ? length - 1 - k : k;
    step(memory + scratch.sums + (d * s.steps * s.batch + x_row(t, first)) * columns, stride, d, count, h, c, gated,
         product);
    for (std::int64_t i = 0; i < count && y != nullptr; ++i)
      std::memcpy(y + y_row(t, d, first + i) * n, h + i * n, row_bytes);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t t = length; t < s.steps && y != nullptr; ++t)
      std::memset(y + y_row(t, d, first + i) * n, 0, row_bytes);
    const std::int64_t state = state_row(d, first + i) * n;
    if (y_h != nullptr) std::memcpy(y_h + state, h + i * n, row_bytes);
    if (y_c != nullptr) std::memcpy(y_c + state, c + i * n, row_bytes);
  }
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache& weights) {
  auto layer = std::make_shared<Layer>();
  layer->op = std::get<Recurrent>(problem.node.op);
  const Sizes s = layer->s = sizes_of(problem);
  const Parts parts = layer->parts = parts_of(layer->op.kind, s);
  layer->scratch = scratch_of(s, parts);
  layer->f = TSR_FOR_ISA(kernel.isa, recurrent_functions)();
  const Flush flush{!problem.exact};
  const auto pack = [&](std::size_t i) {
    return weights.get(problem.graph.value(problem.node.inputs[i]).constant,
                       fmt::format("recurrent {} gates, {} and {} together flush={}", s.gates, parts.first_gates,
                                   parts.second_gates, flush.on),
                       [&](const Array& matrix) { return packed(matrix, s, parts, flush); });
  };
  layer->w = pack(kW);
  layer->r = pack(kR);
  layer->biases = biases_of(problem, s, parts);
  layer->has_lengths = problem.has(kLengths);
  layer->long_lengths = layer->has_lengths && problem.input(kLengths).type == ElementType::int64;
  layer->has_h = problem.has(kInitialH);
  layer->has_c = problem.has(kInitialC);
  if (layer->op.clip) layer->clip = *layer->op.clip;
  const int threads = problem.threads;
  return [shared = std::shared_ptr<const Layer>(layer), threads](const StepArgs& args) {
    const Layer& l = *shared;
    float* memory = reinterpret_cast<float*>(args.scratch);
    l.project_inputs(args, memory + l.scratch.sums);
    // Samples of one length go together, a part of the batch for each thread.
    const std::int64_t per_direction =
        l.has_lengths ? l.s.batch
                      : std::min<std::int64_t>(l.s.batch, ceil_div(threads, std::max<std::int64_t>(1, l.s.directions)));
    const std::int64_t each = ceil_div(l.s.batch, std::max<std::int64_t>(1, per_direction));
    parallel_for(l.s.directions * per_direction, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t first = task % per_direction * each;
        const std::int64_t count = std::min(each, l.s.batch - first);
        if (count > 0) l.run_samples(args, memory, task / per_direction, first, count);
      }
    });
  };
}

constexpr CpuKernel kernel(std::string_view name, Isa isa) {
  return {{.name = name, .op = Recurrent::kName, .isa = isa, .n = static_cast<int>(kPanel), .consider = consider},
          prepare};
}

constexpr CpuKernel kKernels[] = {
    kernel("recurrent_f32_portable", Isa::portable),
    kernel("recurrent_f32_avx2", Isa::avx2),
    kernel("recurrent_f32_avx512", Isa::avx512),
};

}  // namespace

std::span<const CpuKernel> recurrent_kernels() { return kKernels; }

}  // namespace tessera::cpu
