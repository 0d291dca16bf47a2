#include "tessera/graph/ops/recurrent.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/activation.h"
#include "tessera/graph/ops/internal/agreed.h"
#include "tessera/graph/ops/internal/rounded.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr std::size_t kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitialH = 5, kInitialC = 6, kP = 7;

std::int64_t gates_of(Recurrent::Kind kind) {
  switch (kind) {
    case Recurrent::Kind::rnn: return 1;
    case Recurrent::Kind::gru: return 3;
    case Recurrent::Kind::lstm: return 4;
  }
  fail(Code::internal, "Recurrent: kind {} does not exist", static_cast<int>(kind));
}

std::int64_t directions_of(const Recurrent& op) { return op.direction == Recurrent::Direction::bidirectional ? 2 : 1; }

// The activations of every direction, one after the other: f for rnn, f g for gru, f g h for lstm.
std::vector<RecurrentActivation> activations_of(const Recurrent& op) {
  std::vector<std::string> names = op.activations;
  const std::size_t each = op.kind == Recurrent::Kind::rnn ? 1 : op.kind == Recurrent::Kind::gru ? 2 : 3;
  const std::size_t wanted = each * static_cast<std::size_t>(directions_of(op));
  if (names.empty())
    while (names.size() < wanted)
      names.push_back(op.kind == Recurrent::Kind::rnn || names.size() % each > 0 ? "Tanh" : "Sigmoid");
  check(names.size() == wanted, Code::invalid_argument, "Recurrent: {} activations are given, {} are needed",
        names.size(), wanted);
  return recurrent_activations(names, op.activation_alpha, op.activation_beta);
}

struct Sizes {
  std::int64_t steps, batch, input, hidden, directions, gates;
};

// What the operands say together; kUnknown where none of them tells.
Sizes sizes_of(const Recurrent& op, const Knowns& inputs) {
  const bool lstm = op.kind == Recurrent::Kind::lstm;
  inputs.expect_count(3, lstm ? 8 : 6);
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (i != kLengths && inputs.has(i)) inputs.expect_same_type(kX, i);
  visit_floating_type(inputs[kX].type, "Recurrent", [](auto) {});
  for (std::size_t i : {kX, kW, kR}) inputs.expect_rank(i, 3, 3);
  for (std::size_t i : {kB, kP})
    if (inputs.has(i)) inputs.expect_rank(i, 2, 2);
  for (std::size_t i : {kInitialH, kInitialC})
    if (inputs.has(i)) inputs.expect_rank(i, 3, 3);
  if (inputs.has(kLengths)) {
    inputs.expect_rank(kLengths, 1, 1);
    const ElementType type = inputs[kLengths].type;
    check(type == ElementType::int32 || type == ElementType::int64, Code::invalid_argument,
          "Recurrent: sequence lengths are int32, not {}", name(type));
  }
  check(op.hidden >= 0, Code::invalid_argument, "Recurrent: hidden_size is {}", op.hidden);
  check(!op.clip || *op.clip >= 0, Code::invalid_argument, "Recurrent: clip is {}, it must not be negative",
        op.clip.value_or(0));

  const std::int64_t gates = gates_of(op.kind), directions = directions_of(op);
  Agreed steps("steps"), batch("the batch"), input("the input size");
  Agreed hidden("the hidden size", op.hidden > 0 ? op.hidden : TensorType::kUnknown),
      direction("directions", directions);
  const int batch_axis = op.batch_first ? 0 : 1;
  steps.see(inputs, kX, 1 - batch_axis);
  batch.see(inputs, kX, batch_axis);
  input.see(inputs, kX, 2);
  input.see(inputs, kW, 2);
  hidden.see(inputs, kR, 2);
  hidden.see(inputs, kR, 1, gates);
  hidden.see(inputs, kW, 1, gates);
  hidden.see(inputs, kB, 1, 2 * gates);
  hidden.see(inputs, kP, 1, 3);
  batch.see(inputs, kLengths, 0);
  for (std::size_t i : {kW, kR, kB, kP}) direction.see(inputs, i, 0);
  for (std::size_t i : {kInitialH, kInitialC}) {
    direction.see(inputs, i, op.batch_first ? 1 : 0);
    batch.see(inputs, i, op.batch_first ? 0 : 1);
    hidden.see(inputs, i, 2);
  }
  return {steps.value(), batch.value(), input.value(), hidden.value(), directions, gates};
}

Sizes sizes_of(const Recurrent& op, const Arrays& inputs) {
  std::vector<Known> knowns;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    knowns.push_back(inputs.has(i) ? Known{TensorType(inputs[i].type(), inputs[i].shape()), nullptr, true}
                                   : Known{{}, nullptr, false});
  return sizes_of(op, Knowns(inputs.op(), knowns));
}

// One direction over all operands, as doubles. Gates lie in ONNX's order: i o f c for lstm, z r h for gru.
struct Cell {
  const Recurrent& op;
  const Sizes& sizes;
  std::span<const double> w, r, b, p;  // of this direction; b and p may be empty
  std::span<const RecurrentActivation> act;

  double bias(std::int64_t row) const { return b.empty() ? 0.0 : b[static_cast<std::size_t>(row)]; }
  double peephole(std::int64_t which, std::int64_t j) const {
    return p.empty() ? 0.0 : p[static_cast<std::size_t>(which * sizes.hidden + j)];
  }
  static double dot(std::span<const double> matrix, std::int64_t row, std::span<const double> x) {
    double sum = 0;
    const double* m = matrix.data() + static_cast<std::size_t>(row) * x.size();
    for (std::size_t i = 0; i < x.size(); ++i) sum += m[i] * x[i];
    return sum;
  }
  double activated(std::size_t which, double x) const {
    // Comparisons rather than clamp: NaN passes on.
    if (op.clip) {
      const double bound = *op.clip;
      x = x > bound ? bound : x < -bound ? -bound : x;
    }
    return act[which](x);
  }
  double gate_input(std::int64_t gate, std::int64_t j, std::span<const double> x, std::span<const double> h) const {
    const std::int64_t row = gate * sizes.hidden + j;
    return dot(w, row, x) + dot(r, row, h) + bias(row) + bias(sizes.gates * sizes.hidden + row);
  }

  // h and c become those of the next step.
  void step(std::span<const double> x, std::vector<double>& h, std::vector<double>& c) const {
    switch (op.kind) {
      case Recurrent::Kind::rnn: return step_rnn(x, h);
      case Recurrent::Kind::gru: return step_gru(x, h);
      case Recurrent::Kind::lstm: return step_lstm(x, h, c);
    }
  }

  void step_rnn(std::span<const double> x, std::vector<double>& h) const {
    std::vector<double> next(h.size());
    for (std::int64_t j = 0; j < sizes.hidden; ++j)
      next[static_cast<std::size_t>(j)] = activated(0, gate_input(0, j, x, h));
    h = std::move(next);
  }

  void step_gru(std::span<const double> x, std::vector<double>& h) const {
    const std::int64_t n = sizes.hidden;
    std::vector<double> z(h.size()), reset(h.size()), gated(h.size()), next(h.size());
    for (std::int64_t j = 0; j < n; ++j) {
      const std::size_t at = static_cast<std::size_t>(j);
      z[at] = activated(0, gate_input(0, j, x, h));
      reset[at] = activated(0, gate_input(1, j, x, h));
      gated[at] = reset[at] * h[at];
    }
    for (std::int64_t j = 0; j < n; ++j) {
      const std::size_t at = static_cast<std::size_t>(j);
      const std::int64_t row = 2 * n + j;
      const double from_x = dot(w, row, x) + bias(row);
      const double from_h = op.linear_before_reset ? reset[at] * (dot(r, row, h) + bias(3 * n + row))
                                                   : dot(r, row, gated) + bias(3 * n + row);
      next[at] = (1 - z[at]) * activated(1, from_x + from_h) + z[at] * h[at];
    }
    h = std::move(next);
  }

  void step_lstm(std::span<const double> x, std::vector<double>& h, std::vector<double>& c) const {
    std::vector<double> next(h.size());
    for (std::int64_t j = 0; j < sizes.hidden; ++j) {
      const std::size_t at = static_cast<std::size_t>(j);
      const double i = activated(0, gate_input(0, j, x, h) + peephole(0, j) * c[at]);
      const double f = op.input_forget ? 1 - i : activated(0, gate_input(2, j, x, h) + peephole(2, j) * c[at]);
      c[at] = f * c[at] + i * activated(1, gate_input(3, j, x, h));
      const double o = activated(0, gate_input(1, j, x, h) + peephole(1, j) * c[at]);
      next[at] = o * act[2](c[at]);  // the clip bounds gates, not the state (as in ONNX Runtime)
    }
    h = std::move(next);
  }
};

std::vector<std::int64_t> lengths_of(const Sizes& sizes, const Arrays& inputs) {
  if (!inputs.has(kLengths)) return std::vector<std::int64_t>(static_cast<std::size_t>(sizes.batch), sizes.steps);
  std::vector<std::int64_t> lengths = inputs[kLengths].to_int64();
  for (std::size_t n = 0; n < lengths.size(); ++n)
    check(lengths[n] >= 0 && lengths[n] <= sizes.steps, Code::invalid_argument,
          "Recurrent: the sequence of sample {} is {} long, the input has {} steps", n, lengths[n], sizes.steps);
  return lengths;
}

}  // namespace

std::vector<TensorType> infer(const Recurrent& op, const Knowns& inputs) {
  const Sizes s = sizes_of(op, inputs);
  activations_of(op);
  using Dims = std::vector<std::int64_t>;
  const ElementType type = inputs[kX].type;
  const TensorType y(type, op.batch_first ? Dims{s.batch, s.steps, s.directions, s.hidden}
                                          : Dims{s.steps, s.directions, s.batch, s.hidden});
  const TensorType state(
      type, op.batch_first ? Dims{s.batch, s.directions, s.hidden} : Dims{s.directions, s.batch, s.hidden});
  if (y.is_static()) y.shape();  // refuses more elements than can be counted
  if (op.kind == Recurrent::Kind::lstm) return {y, state, state};
  return {y, state};
}

Work work(const Recurrent& op, const Types& inputs, const Types& outputs) {
  Work out = streaming_work(inputs, outputs);
  const TensorType &x = inputs[kX], &w = inputs[kW], &r = inputs[kR];
  if (!x.is_static() || !w.is_static() || !r.is_static()) return out;
  const double samples = static_cast<double>(x.shape()[0]) * static_cast<double>(x.shape()[1]);
  out.flops = 2 * samples * static_cast<double>(w.shape().volume() + r.shape().volume());
  // Biases, activations, and the products of gates.
  const double elements = samples * static_cast<double>(directions_of(op)) * static_cast<double>(r.shape()[2]);
  out.flops += elements * (op.kind == Recurrent::Kind::rnn ? 2 : op.kind == Recurrent::Kind::gru ? 11 : 13);
  return out;
}

std::vector<Array> reference(const Recurrent& op, const Arrays& inputs) {
  const Sizes s = sizes_of(op, inputs);
  const bool lstm = op.kind == Recurrent::Kind::lstm;
  const std::vector<RecurrentActivation> activations = activations_of(op);
  const std::vector<std::int64_t> lengths = lengths_of(s, inputs);
  const auto doubles = [&](std::size_t i) { return inputs.has(i) ? inputs[i].to_double() : std::vector<double>{}; };
  const std::vector<double> x = doubles(kX), w = doubles(kW), r = doubles(kR), b = doubles(kB), p = doubles(kP);
  const std::vector<double> initial_h = doubles(kInitialH), initial_c = doubles(kInitialC);

  const std::int64_t h_size = s.hidden;
  std::vector<double> y(static_cast<std::size_t>(s.steps * s.directions * s.batch * h_size));
  std::vector<double> y_h(static_cast<std::size_t>(s.directions * s.batch * h_size)), y_c(y_h.size());
  for (std::int64_t d = 0; d < s.directions; ++d) {
    const auto part = [&](const std::vector<double>& all) {
      const std::size_t each = all.size() / static_cast<std::size_t>(s.directions);
      return std::span<const double>(all).subspan(static_cast<std::size_t>(d) * each, each);
    };
    const std::size_t act = activations.size() / static_cast<std::size_t>(s.directions);
    const Cell cell{op,
                    s,
                    part(w),
                    part(r),
                    part(b),
                    part(p),
                    std::span(activations).subspan(static_cast<std::size_t>(d) * act, act)};
    const bool backwards = op.direction == Recurrent::Direction::reverse || d == 1;
    for (std::int64_t n = 0; n < s.batch; ++n) {
      const std::int64_t state_at = (op.batch_first ? n * s.directions + d : d * s.batch + n) * h_size;
      const std::int64_t length = lengths[static_cast<std::size_t>(n)];
      if (length == 0) continue;  // ONNX is silent; ONNX Runtime answers zeros rather than the initial state
      std::vector<double> h(static_cast<std::size_t>(h_size)), c(h.size());
      if (!initial_h.empty()) std::copy_n(initial_h.begin() + state_at, h_size, h.begin());
      if (!initial_c.empty()) std::copy_n(initial_c.begin() + state_at, h_size, c.begin());
      for (std::int64_t k = 0; k < length; ++k) {
        const std::int64_t t = backwards ? length - 1 - k : k;
        const std::int64_t x_at = (op.batch_first ? n * s.steps + t : t * s.batch + n) * s.input;
        cell.step(std::span(x).subspan(static_cast<std::size_t>(x_at), static_cast<std::size_t>(s.input)), h, c);
        const std::int64_t y_at =
            op.batch_first ? (n * s.steps + t) * s.directions + d : (t * s.directions + d) * s.batch + n;
        std::copy(h.begin(), h.end(), y.begin() + y_at * h_size);
      }
      std::copy(h.begin(), h.end(), y_h.begin() + state_at);
      std::copy(c.begin(), c.end(), y_c.begin() + state_at);
    }
  }

  const ElementType type = inputs[kX].type();
  const auto stored = [&](const std::vector<double>& values, const Shape& shape) {
    return rounded(type, values, shape, "Recurrent");
  };
  const Shape y_shape =
      op.batch_first ? Shape{s.batch, s.steps, s.directions, h_size} : Shape{s.steps, s.directions, s.batch, h_size};
  const Shape state_shape =
      op.batch_first ? Shape{s.batch, s.directions, h_size} : Shape{s.directions, s.batch, h_size};
  std::vector<Array> outputs;
  outputs.push_back(stored(y, y_shape));
  outputs.push_back(stored(y_h, state_shape));
  if (lstm) outputs.push_back(stored(y_c, state_shape));
  return outputs;
}

}  // namespace tessera
