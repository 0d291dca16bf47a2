// LSTM, GRU and simple recurrent layers with their default activations. Weights are packed once; what the inputs of all
// steps give is worked out first, as one product. Then come the steps: with enough samples each thread takes some of
// them through all steps; with few, each thread has some of the hidden units, whose weights stay in its caches, and the
// threads wait for each other at every step.

#include "tessera/targets/cpu/kernels/recurrent/recurrent.h"
#include "tessera/core/error.h"
#include "tessera/targets/cpu/kernels/elementwise/elementwise.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/flush.h"
#include "tessera/targets/cpu/kernels/phases.h"

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

// Samples for each thread that are worth a walk of their own through the weights.
constexpr std::int64_t kManySamples = 6;
// Multiplications of a step below which threads do not wait for each other at every step: some tenths of a microsecond.
constexpr std::int64_t kSmallStep = 10'000;

std::int64_t gates_of(Kind kind) { return kind == Kind::lstm ? 4 : kind == Kind::gru ? 3 : 1; }

RecurrentSizes sizes_of(const Problem& problem) {
  const auto& op = std::get<Recurrent>(problem.node.op);
  const Shape x = problem.input(kX).shape(), r = problem.input(kR).shape();
  return {x[op.batch_first ? 1 : 0], x[op.batch_first ? 0 : 1], x[2], r[2], r[0], gates_of(op.kind)};
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

// Scratch, in floats: sums of all steps, states before and after a step, and for gru the gated state or the product.
struct Scratch {
  std::int64_t sums, h, next, c, gated, product, total;
};
Scratch scratch_of(const Recurrent& op, const RecurrentSizes& s) {
  Scratch out{};
  const std::int64_t samples = s.directions * s.batch, states = samples * s.padded();
  out.h = out.sums + samples * s.steps * s.columns();
  out.next = out.h + states;
  out.c = out.next + states;
  out.gated = out.c + (op.kind == Kind::lstm ? states : 0);
  out.product = out.gated + (op.kind == Kind::gru ? states : 0);
  out.total = out.product + (op.linear_before_reset ? samples * s.columns() : 0);
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
  if (problem.has(kP) && problem.constant(kP) == nullptr) return Refusal{"its peepholes are computed"};
  if (!has_default_activations(op)) return Refusal{"activations other than the usual ones"};
  const RecurrentSizes s = sizes_of(problem);
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs.assign(problem.types.outputs.size(), Order::row_major);
  offer.scratch_bytes = scratch_of(op, s).total * static_cast<std::int64_t>(sizeof(float));
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, kernel.isa, w.flops, w.read_bytes + w.write_bytes, 0.2);
  return offer;
}

// Samples of one direction and one length, that go through the steps together.
struct Group {
  std::int64_t direction, first, count, length;
};

struct Layer {
  Recurrent op;
  RecurrentSizes s;
  Scratch scratch;
  RecurrentFunctions f;
  // All gates; but without linear_before_reset the third of gru waits for the second and has weights of its own.
  std::shared_ptr<const PackedWeights> w, r, r_last;
  RecurrentBiases biases;
  std::vector<float> peepholes;
  bool has_lengths = false, long_lengths = false, has_h = false, has_c = false;
  float clip = std::numeric_limits<float>::infinity();
  int threads = 1;

  int phases_per_step() const { return r_last != nullptr ? 2 : 1; }
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

  std::vector<Group> groups(const StepArgs& args) const;
  void project_inputs(const StepArgs& args, float* sums) const;
  void begin(const StepArgs& args, float* memory, const Group& group) const;
  void step(const StepArgs& args, float* memory, const Group& group, std::int64_t k, int phase, std::int64_t block,
            std::int64_t blocks) const;
  void end(const StepArgs& args, const float* memory, const Group& group) const;
  void run(const StepArgs& args) const;
};

bool splits_units(const Layer& l) {
  const std::int64_t per_direction = ceil_div(l.threads, std::max<std::int64_t>(1, l.s.directions));
  return per_direction > 1 && l.s.batch < kManySamples * per_direction &&
         l.s.directions * l.s.batch * l.s.hidden * l.s.columns() >= kSmallStep;
}

std::vector<Group> Layer::groups(const StepArgs& args) const {
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 0; n < s.batch; ++n) lengths.push_back(length_of(args, n));
  const std::int64_t per_direction = ceil_div(threads, std::max<std::int64_t>(1, s.directions));
  const std::int64_t most = splits_units(*this) ? s.batch : ceil_div(s.batch, per_direction);
  std::vector<Group> out;
  for (std::int64_t d = 0; d < s.directions; ++d)
    for (std::int64_t n = 0; n < s.batch; ++n) {
      const std::int64_t length = lengths[static_cast<std::size_t>(n)];
      if (n > 0 && out.back().length == length && out.back().count < most)
        ++out.back().count;
      else
        out.push_back({d, n, 1, length});
    }
  return out;
}

void Layer::project_inputs(const StepArgs& args, float* sums) const {
  const std::int64_t rows = s.steps * s.batch, columns = s.columns(), blocks = s.blocks();
  const auto product = [&](std::int64_t d, std::int64_t row, std::int64_t count, std::int64_t block,
                           std::int64_t block_count) {
    const std::int64_t width = s.gates * kUnits;
    f.multiply({.x = args.input<float>(kX) + row * s.input,
                .x_stride = s.input,
                .rows = count,
                .depth = s.input,
                .alone = rows == 1,
                .packed = reinterpret_cast<const float*>(w->data()) + (d * blocks + block) * width * s.input,
                .blocks = block_count,
                .groups = s.gates,
                .bias = biases.x.data() + d * columns + block * width,
                .y = sums + (d * rows + row) * columns + block * width,
                .y_stride = columns,
                .y_block = width});
  };
  constexpr std::int64_t kGrain = 100'000;  // multiplications
  for (std::int64_t d = 0; d < s.directions; ++d)
    if (rows >= 24 * threads)
      parallel_for(rows, std::max<std::int64_t>(24, kGrain / std::max<std::int64_t>(1, s.input * columns)),
                   [&](std::int64_t begin, std::int64_t end) { product(d, begin, end - begin, 0, blocks); });
    else
      parallel_for(blocks,
                   std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, rows * s.input * s.gates * kUnits)),
                   [&](std::int64_t begin, std::int64_t end) { product(d, 0, rows, begin, end - begin); });
}

void Layer::begin(const StepArgs& args, float* memory, const Group& group) const {
  const std::int64_t at = (group.direction * s.batch + group.first) * s.padded();
  for (std::int64_t i = 0; i < group.count; ++i) {
    const std::int64_t state = state_row(group.direction, group.first + i) * s.hidden;
    const auto start = [&](bool given, std::size_t input, float* to) {
      std::memset(to, 0, static_cast<std::size_t>(s.padded()) * sizeof(float));
      if (given && group.length > 0)
        std::memcpy(to, args.input<float>(input) + state, static_cast<std::size_t>(s.hidden) * sizeof(float));
    };
    start(has_h, kInitialH, memory + scratch.h + at + i * s.padded());
    if (op.kind == Kind::lstm) start(has_c, kInitialC, memory + scratch.c + at + i * s.padded());
  }
}

// Units of the blocks from `block` on: from the state that the step before has left to the next one.
void Layer::step(const StepArgs& args, float* memory, const Group& group, std::int64_t k, int phase, std::int64_t block,
                 std::int64_t blocks) const {
  const std::int64_t d = group.direction, padded = s.padded(), width = s.gates * kUnits, columns = s.columns();
  const bool backwards = op.direction == Recurrent::Direction::reverse || d == 1;
  const std::int64_t t = backwards ? group.length - 1 - k : k;
  const std::int64_t stride = op.batch_first ? s.steps * columns : columns;
  const std::int64_t sample = d * s.batch + group.first, unit = block * kUnits;
  float* sums = memory + scratch.sums + (d * s.steps * s.batch + x_row(t, group.first)) * columns + block * width;
  const float* h = memory + (k % 2 == 0 ? scratch.h : scratch.next) + sample * padded;
  float* next = memory + (k % 2 == 0 ? scratch.next : scratch.h) + sample * padded;
  float* gated = memory + scratch.gated + sample * padded;
  float* product = memory + scratch.product + sample * columns + block * width;
  const bool last = phase + 1 == phases_per_step();
  const bool linear = op.kind == Kind::gru && op.linear_before_reset;

  const std::int64_t groups = r_last == nullptr ? s.gates : last ? 1 : 2;
  const PackedWeights& weights = r_last != nullptr && last ? *r_last : *r;
  f.multiply(
      {.x = r_last != nullptr && last ? gated : h,
       .x_stride = padded,
       .rows = group.count,
       .depth = s.hidden,
       .alone = s.batch == 1,
       .packed = reinterpret_cast<const float*>(weights.data()) + (d * s.blocks() + block) * groups * kUnits * s.hidden,
       .blocks = blocks,
       .groups = groups,
       .bias = linear ? biases.h.data() + d * columns + block * width : nullptr,
       .y = linear                      ? product
            : r_last != nullptr && last ? sums + 2 * kUnits
                                        : sums,
       .y_stride = linear ? columns : stride,
       .y_block = width});

  for (std::int64_t i = 0; i < group.count; ++i) {
    float *sum = sums + i * stride, *to = next + i * padded + unit;
    const float* from = h + i * padded + unit;
    switch (op.kind) {
      case Kind::rnn: f.rnn(sum, to, blocks, clip); break;
      case Kind::lstm:
        f.lstm(sum, peepholes.empty() ? nullptr : peepholes.data() + d * 3 * padded + unit, padded,
               memory + scratch.c + (sample + i) * padded + unit, to, blocks, clip, op.input_forget);
        break;
      case Kind::gru:
        if (linear)
          f.gru_linear(sum, product + i * columns, from, to, blocks, clip);
        else if (!last)
          f.gru_gates(sum, from, gated + i * padded + unit, blocks, clip);
        else
          f.gru(sum, from, to, blocks, clip);
        break;
    }
    if (last && !args.outputs.empty() && args.output<float>(0) != nullptr)
      std::memcpy(args.output<float>(0) + y_row(t, d, group.first + i) * s.hidden + unit, to,
                  static_cast<std::size_t>(std::min(s.hidden - unit, blocks * kUnits)) * sizeof(float));
  }
}

void Layer::end(const StepArgs& args, const float* memory, const Group& group) const {
  const std::int64_t d = group.direction, n = s.hidden, at = (d * s.batch + group.first) * s.padded();
  const auto row_bytes = static_cast<std::size_t>(n) * sizeof(float);
  const auto output = [&](std::size_t i) { return i < args.outputs.size() ? args.output<float>(i) : nullptr; };
  float *y = output(0), *y_h = output(1), *y_c = op.kind == Kind::lstm ? output(2) : nullptr;
  const float* h = memory + (group.length % 2 == 0 ? scratch.h : scratch.next) + at;
  for (std::int64_t i = 0; i < group.count; ++i) {
    for (std::int64_t t = group.length; t < s.steps && y != nullptr; ++t)
      std::memset(y + y_row(t, d, group.first + i) * n, 0, row_bytes);
    const std::int64_t state = state_row(d, group.first + i) * n;
    if (y_h != nullptr) std::memcpy(y_h + state, h + i * s.padded(), row_bytes);
    if (y_c != nullptr) std::memcpy(y_c + state, memory + scratch.c + at + i * s.padded(), row_bytes);
  }
}

void Layer::run(const StepArgs& args) const {
  float* memory = reinterpret_cast<float*>(args.scratch);
  const std::vector<Group> all = groups(args);
  project_inputs(args, memory + scratch.sums);
  const std::int64_t blocks = s.blocks(), count = static_cast<std::int64_t>(all.size());
  const int phases = phases_per_step();
  if (!splits_units(*this) || count >= threads) {
    parallel_for(count, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t g = first; g < last; ++g) {
        const Group& group = all[static_cast<std::size_t>(g)];
        begin(args, memory, group);
        for (std::int64_t k = 0; k < group.length; ++k)
          for (int phase = 0; phase < phases; ++phase) step(args, memory, group, k, phase, 0, blocks);
        end(args, memory, group);
      }
    });
    return;
  }
  std::int64_t longest = 0;
  for (const Group& group : all) {
    begin(args, memory, group);
    longest = std::max(longest, group.length);
  }
  // Blocks of all groups in a row, a range of them for each thread.
  const int parts = static_cast<int>(std::min<std::int64_t>(threads, count * blocks));
  run_phases(longest * phases, parts, [&](std::int64_t phase, int part) {
    const std::int64_t first = part * count * blocks / parts, last = (part + 1) * count * blocks / parts;
    for (std::int64_t at = first; at < last;) {
      const std::int64_t g = at / blocks, block = at % blocks, taken = std::min(last - at, blocks - block);
      const Group& group = all[static_cast<std::size_t>(g)];
      if (phase / phases < group.length)
        step(args, memory, group, phase / phases, static_cast<int>(phase % phases), block, taken);
      at += taken;
    }
  });
  for (const Group& group : all) end(args, memory, group);
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache& weights) {
  auto layer = std::make_shared<Layer>();
  layer->op = std::get<Recurrent>(problem.node.op);
  const RecurrentSizes s = layer->s = sizes_of(problem);
  layer->scratch = scratch_of(layer->op, s);
  layer->f = TSR_FOR_ISA(kernel.isa, recurrent_functions)();
  const Flush flush{!problem.exact};
  const auto pack = [&](std::size_t i, std::int64_t first, std::int64_t last) {
    return weights.get(problem.graph.value(problem.node.inputs[i]).constant,
                       fmt::format("recurrent, gates {} to {} of {} flush={}", first, last, s.gates, flush.on),
                       [&](const Array& matrix) { return packed_gates(matrix, s, first, last, flush); });
  };
  const bool two_phases = layer->op.kind == Kind::gru && !layer->op.linear_before_reset;
  layer->w = pack(kW, 0, s.gates);
  layer->r = pack(kR, 0, two_phases ? 2 : s.gates);
  if (two_phases) layer->r_last = pack(kR, 2, 3);
  layer->biases = recurrent_biases(problem.has(kB) ? problem.constant(kB) : nullptr, s,
                                   layer->op.kind == Kind::gru && layer->op.linear_before_reset);
  if (problem.has(kP)) layer->peepholes = recurrent_peepholes(*problem.constant(kP), s);
  layer->has_lengths = problem.has(kLengths);
  layer->long_lengths = layer->has_lengths && problem.input(kLengths).type == ElementType::int64;
  layer->has_h = problem.has(kInitialH);
  layer->has_c = problem.has(kInitialC);
  if (layer->op.clip) layer->clip = *layer->op.clip;
  layer->threads = problem.threads;
  return [shared = std::shared_ptr<const Layer>(layer)](const StepArgs& args) { shared->run(args); };
}

constexpr CpuKernel kernel(std::string_view name, Isa isa) {
  return {{.name = name, .op = Recurrent::kName, .isa = isa, .n = static_cast<int>(kUnits), .consider = consider},
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
