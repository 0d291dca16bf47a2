// Cfc and Ltc as a Loop over the steps whose body is arithmetic that ONNX has.

#include "tessera/core/error.h"
#include "tessera/graph/passes/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

// A graph under construction, with names counted up.
class Formula {
 public:
  Formula(Graph& graph, std::string prefix) : graph_(graph), prefix_(std::move(prefix)) {}

  ValueId add(const char* name, Op op, std::vector<ValueId> inputs) {
    return graph_.add(free_name(name), std::move(op), std::move(inputs));
  }
  std::vector<ValueId> add_node(const char* name, Op op, std::vector<ValueId> inputs, int outputs) {
    return graph_.add_node(free_name(name), std::move(op), std::move(inputs), outputs);
  }
  ValueId constant(const char* name, Array array) { return graph_.add_constant(free_name(name), std::move(array)); }

  ValueId unary(Unary::Kind kind, ValueId x) { return add("function", Unary{kind}, {x}); }
  ValueId binary(Binary::Kind kind, ValueId a, ValueId b) { return add("arithmetic", Binary{kind}, {a, b}); }
  ValueId plus(ValueId a, ValueId b) { return binary(Binary::Kind::add, a, b); }
  ValueId minus(ValueId a, ValueId b) { return binary(Binary::Kind::sub, a, b); }
  ValueId times(ValueId a, ValueId b) { return binary(Binary::Kind::mul, a, b); }
  ValueId over(ValueId a, ValueId b) { return binary(Binary::Kind::div, a, b); }
  ValueId number(double value) { return constant("number", Array::scalar(static_cast<float>(value))); }

 private:
  std::string free_name(const char* name) { return fmt::format("{}/{}_{}", prefix_, name, count_++); }

  Graph& graph_;
  std::string prefix_;
  int count_ = 0;
};

// One slice of the first dimension, without it.
Array row(const Array& array, std::int64_t index) {
  std::vector<std::int64_t> dims(array.shape().dims().begin() + 1, array.shape().dims().end());
  Array out(array.type(), Shape(std::move(dims)));
  const std::size_t bytes = out.bytes().size();
  std::copy_n(array.bytes().begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(index) * bytes), bytes,
              out.bytes().begin());
  return out;
}

Array mapped(const Array& array, float (*function)(float)) {
  Array out = array;
  for (float& value : out.as<float>()) value = function(value);
  return out;
}

// What a body reads at each step. Times: one for all samples, one for each, or one for each unit.
struct StepInputs {
  ValueId x = kNoValue, times = kNoValue, state = kNoValue;
};

// The constants of a node: its operands from `first` on.
using Constants = std::vector<const Array*>;

ValueId lecun_tanh(Formula& f, ValueId x) {
  return f.times(f.unary(Unary::Kind::tanh, f.times(x, f.number(0.666))), f.number(1.7159));
}

ValueId activated(Formula& f, Cfc::Activation activation, ValueId x) {
  switch (activation) {
    case Cfc::Activation::lecun_tanh: return lecun_tanh(f, x);
    case Cfc::Activation::silu: return f.times(x, f.unary(Unary::Kind::sigmoid, x));
    case Cfc::Activation::relu: return f.unary(Unary::Kind::relu, x);
    case Cfc::Activation::tanh: return f.unary(Unary::Kind::tanh, x);
    case Cfc::Activation::gelu: {
      const ValueId erf = f.unary(Unary::Kind::erf, f.times(x, f.number(std::numbers::sqrt2 / 2)));
      return f.times(f.times(x, f.number(0.5)), f.plus(erf, f.number(1)));
    }
  }
  fail(Code::internal, "Cfc: an activation {}", static_cast<int>(activation));
}

ValueId passed(Formula& f, Cfc::Head head, ValueId x) {
  switch (head) {
    case Cfc::Head::tanh: return f.unary(Unary::Kind::tanh, x);
    case Cfc::Head::none: return x;
    case Cfc::Head::lecun_tanh: return lecun_tanh(f, x);
  }
  fail(Code::internal, "Cfc: a head {}", static_cast<int>(head));
}

ValueId step(const Cfc& op, const Constants& operands, const StepInputs& in, Formula& f) {
  const auto dense = [&](std::size_t at, ValueId x) {
    return f.add("dense", Gemm{.transpose_b = true},
                 {x, f.constant("weights", *operands[at]), f.constant("biases", *operands[at + 1])});
  };
  ValueId z = f.add("read", Concat{.axis = 1}, {in.x, in.state});
  for (std::size_t i = Cfc::kBackbone; i + 1 < operands.size(); i += 2) z = activated(f, op.activation, dense(i, z));
  const ValueId heads = dense(Cfc::kHeads, z);
  if (op.mode == Cfc::Mode::pure) {
    const ValueId tau = f.constant("tau", mapped(row(*operands[Cfc::kDecay], 0), [](float v) { return std::abs(v); }));
    const ValueId amplitude = f.constant("amplitude", row(*operands[Cfc::kDecay], 1));
    const ValueId rate = f.plus(tau, f.unary(Unary::Kind::abs, heads));
    const ValueId left = f.unary(Unary::Kind::exp, f.unary(Unary::Kind::neg, f.times(in.times, rate)));
    return f.minus(amplitude, f.times(f.times(amplitude, left), heads));
  }
  const std::int64_t units = operands[Cfc::kBiases]->shape()[0] / op.heads();
  const std::vector<ValueId> parts =
      f.add_node("heads", Split{.axis = 1, .sizes = {units, units, units, units}, .outputs = 4}, {heads}, 4);
  const ValueId gate = f.unary(Unary::Kind::sigmoid, f.plus(f.times(parts[2], in.times), parts[3]));
  ValueId first = passed(f, op.head, parts[0]);
  const ValueId second = passed(f, op.head, parts[1]);
  if (op.mode == Cfc::Mode::gated) first = f.times(first, f.minus(f.number(1), gate));
  return f.plus(first, f.times(gate, second));
}

// Sums over what a unit hears, [batch, units] each.
struct Heard {
  ValueId current = kNoValue, conductance = kNoValue;
};

class LtcStep {
 public:
  LtcStep(const Ltc& op, const Constants& operands, Formula& f)
      : op_(op),
        f_(f),
        leak_(f.constant("leak", row(*operands[Ltc::kMembrane], Ltc::kLeak))),
        leak_potential_(f.constant("leak_potential", row(*operands[Ltc::kMembrane], Ltc::kLeakPotential))),
        capacitance_(f.constant("capacitance", row(*operands[Ltc::kMembrane], Ltc::kCapacitance))),
        epsilon_(f.number(op.epsilon)),
        sensory_(synapses(*operands[Ltc::kSensory])),
        recurrent_(synapses(*operands[Ltc::kRecurrent])) {}

  ValueId operator()(const StepInputs& in) {
    sensed_ = heard(sensory_, in.x);
    const ValueId h = f_.times(in.times, f_.number(1.0 / op_.unfolds));
    ValueId v = in.state;
    for (int i = 0; i < op_.unfolds; ++i) v = unfolded(v, h);
    return v;
  }

 private:
  struct Synapses {
    ValueId weight, mu, sigma, reversal;
  };

  Synapses synapses(const Array& array) {
    const auto part = [&](const char* name, std::size_t index) {
      return f_.constant(name, row(array, static_cast<std::int64_t>(index)));
    };
    return {part("weight", Ltc::kWeight), part("mu", Ltc::kMu), part("sigma", Ltc::kSigma),
            part("reversal", Ltc::kReversal)};
  }

  Heard heard(const Synapses& synapses, ValueId v) {
    const ValueId sources = f_.add("sources", Unsqueeze{.axes = {2}}, {v});  // batch, sources, 1
    const ValueId driven = f_.times(f_.minus(sources, synapses.mu), synapses.sigma);
    const ValueId conducted = f_.times(f_.unary(Unary::Kind::sigmoid, driven), synapses.weight);
    const auto sum = [&](ValueId x) {
      return f_.add("sum", Reduce{.kind = Reduce::Kind::sum, .axes = {1}, .keep_dims = false}, {x});
    };
    return {sum(f_.times(conducted, synapses.reversal)), sum(conducted)};
  }

  Heard all_heard(ValueId v) {
    const Heard inside = heard(recurrent_, v);
    return {f_.plus(sensed_.current, inside.current), f_.plus(sensed_.conductance, inside.conductance)};
  }

  ValueId rate(ValueId v) {
    const Heard sums = all_heard(v);
    const ValueId leaking = f_.times(leak_, f_.minus(leak_potential_, v));
    const ValueId driven = f_.minus(f_.plus(leaking, sums.current), f_.times(v, sums.conductance));
    return f_.over(driven, f_.plus(capacitance_, epsilon_));
  }

  ValueId moved(ValueId v, ValueId h, double part, ValueId rate) {
    return f_.plus(v, f_.times(part == 1 ? h : f_.times(h, f_.number(part)), rate));
  }

  ValueId unfolded(ValueId v, ValueId h) {
    if (op_.solver == Ltc::Solver::explicit_euler) return moved(v, h, 1, rate(v));
    if (op_.solver == Ltc::Solver::runge_kutta) {
      const ValueId k1 = rate(v), k2 = rate(moved(v, h, 0.5, k1));
      const ValueId k3 = rate(moved(v, h, 0.5, k2)), k4 = rate(moved(v, h, 1, k3));
      const ValueId middle = f_.times(f_.plus(k2, k3), f_.number(2));
      return moved(v, h, 1.0 / 6, f_.plus(f_.plus(k1, middle), k4));
    }
    const Heard sums = all_heard(v);
    const ValueId driven = f_.plus(f_.times(leak_, leak_potential_), sums.current);
    const ValueId conductance = f_.plus(f_.plus(leak_, sums.conductance), epsilon_);
    return f_.over(f_.plus(f_.times(capacitance_, v), f_.times(h, driven)),
                   f_.plus(capacitance_, f_.times(h, conductance)));
  }

  const Ltc& op_;
  Formula& f_;
  ValueId leak_, leak_potential_, capacitance_, epsilon_;
  Synapses sensory_, recurrent_;
  Heard sensed_;
};

ValueId step(const Ltc& op, const Constants& operands, const StepInputs& in, Formula& f) {
  return LtcStep(op, operands, f)(in);
}

// Positions that both operators share.
constexpr std::size_t kX = Cfc::kX, kTimes = Cfc::kTimes, kState = Cfc::kState, kFirstConstant = Cfc::kHeads;
static_assert(kX == Ltc::kX && kTimes == Ltc::kTimes && kState == Ltc::kState && kFirstConstant == Ltc::kMembrane);

std::int64_t units_of(const Cfc& op, const Constants& operands) {
  return operands[Cfc::kBiases]->shape()[0] / op.heads();
}
std::int64_t units_of(const Ltc&, const Constants& operands) { return operands[Ltc::kMembrane]->shape()[1]; }

template <class Cell>
class Expansion {
 public:
  Expansion(Graph& graph, const Node& node, const Cell& op)
      : graph_(graph), node_(node), op_(op), f_(graph, node.name), time_axis_(op.batch_first ? 1 : 0) {
    for (const ValueId id : node.inputs) operands_.push_back(id == kNoValue ? nullptr : graph.value(id).constant.get());
    units_ = units_of(op, operands_);
  }

  // The states of all steps and the last one, as the node's outputs are.
  std::vector<ValueId> run() {
    Loop loop;
    std::vector<ValueId> inputs = {extent(time_axis_), f_.constant("always", Array::scalar(true)), first_state(),
                                   node_.inputs[kX]};
    if (has_times()) inputs.push_back(node_.inputs[kTimes]);
    loop.carried = 1;
    loop.captures = has_times() ? 2 : 1;
    loop.body = body();
    const std::vector<ValueId> made = f_.add_node("loop", std::move(loop), std::move(inputs), 2);
    const ValueId states = op_.batch_first ? f_.add("states", Transpose{.perm = {1, 0, 2}}, {made[1]}) : made[1];
    return {states, made[0]};
  }

 private:
  bool has_times() const { return node_.inputs[kTimes] != kNoValue; }
  const TensorType& type(std::size_t input) const { return graph_.value(node_.inputs[input]).type; }

  ValueId extent(std::int64_t axis) {
    const ValueId shape = f_.add("shape", ShapeOf{}, {node_.inputs[kX]});
    return f_.add("extent", Gather{.axis = 0}, {shape, f_.constant("axis", Array::scalar<std::int64_t>(axis))});
  }

  ValueId first_state() {
    if (node_.inputs[kState] != kNoValue) return node_.inputs[kState];
    const ValueId zeros = f_.constant("zeros", Array(ElementType::float32, Shape{1, units_}));
    const ValueId batch = f_.add("batch", Unsqueeze{.axes = {0}}, {extent(1 - time_axis_)});
    const ValueId units = f_.constant("units", Array::of<std::int64_t>(Shape{1}, std::vector{units_}));
    return f_.add("first_state", Expand{}, {zeros, f_.add("state_shape", Concat{.axis = 0}, {batch, units})});
  }

  std::shared_ptr<const Graph> body() {
    Graph body;
    body.name = node_.name + "_step";
    Formula f(body, node_.name);
    const ValueId iteration = body.add_input(node_.name + "/iteration", TensorType(ElementType::int64, Shape{}));
    const ValueId condition = body.add_input(node_.name + "/condition", TensorType(ElementType::boolean, Shape{}));
    const std::int64_t batch =
        type(kX).dims ? (*type(kX).dims)[static_cast<std::size_t>(1 - time_axis_)] : TensorType::kUnknown;
    StepInputs in;
    in.state = body.add_input(node_.name + "/state", TensorType(ElementType::float32, std::vector{batch, units_}));
    const ValueId x = body.add_input(node_.name + "/x", type(kX));
    in.x = f.add("now", Gather{.axis = time_axis_}, {x, iteration});
    if (has_times()) {
      in.times = body.add_input(node_.name + "/times", type(kTimes));
      if (type(kTimes).rank() == 3)  // otherwise one time for all steps
        in.times = f.add("elapsed", Gather{.axis = time_axis_}, {in.times, iteration});
    } else {
      in.times = f.number(1);
    }
    const ValueId state = f.add("next", Unary{Unary::Kind::identity}, {step(op_, operands_, in, f)});
    const ValueId collected = f.add("collected", Unary{Unary::Kind::identity}, {state});
    const ValueId go_on = f.add("go_on", Unary{Unary::Kind::identity}, {condition});
    body.outputs = {go_on, state, collected};
    verify(body);
    return std::make_shared<const Graph>(std::move(body));
  }

  Graph& graph_;
  const Node node_;
  const Cell op_;
  Formula f_;
  std::int64_t time_axis_;
  Constants operands_;
  std::int64_t units_ = 0;
};

bool can_be_expanded(const Graph& graph, const Node& node) {
  if (!std::holds_alternative<Cfc>(node.op) && !std::holds_alternative<Ltc>(node.op)) return false;
  for (std::size_t i = kFirstConstant; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Value& value = graph.value(node.inputs[i]);
    if (!value.constant || value.type.type != ElementType::float32) return false;
  }
  const ValueId times = node.inputs[kTimes];
  return node.fused.empty() && (times == kNoValue || graph.value(times).type.dims.has_value());
}

// Nodes for `node` behind those that are there; what they make takes the places of its outputs.
void expand(Graph& graph, const Node& node) {
  const std::vector<ValueId> made = std::visit(
      [&](const auto& op) -> std::vector<ValueId> {
        if constexpr (requires { op.batch_first, units_of(op, Constants{}); })
          return Expansion(graph, node, op).run();
        else
          fail(Code::internal, "'{}' is no liquid cell", node.name);
      },
      node.op);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    graph.nodes.push_back(
        {fmt::format("{}/output_{}", node.name, i), Unary{Unary::Kind::identity}, {made[i]}, {node.outputs[i]}, {}, 0});
  }
}

}  // namespace

bool expand_liquid_cells(Graph& graph) {
  bool found = false;
  std::vector<Node> nodes = std::move(graph.nodes);
  graph.nodes.clear();
  for (Node& node : nodes) {
    if (!can_be_expanded(graph, node)) {
      graph.nodes.push_back(std::move(node));
      continue;
    }
    expand(graph, node);
    found = true;
  }
  if (found) remove_dead_code(graph);  // weights that live in bodies now
  return found;
}

}  // namespace tessera
