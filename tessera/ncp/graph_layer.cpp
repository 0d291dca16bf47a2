#include "tessera/ncp/graph_layer.h"

#include "tessera/core/error.h"
#include "tessera/ncp/internal/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tessera::ncp {
namespace {

using Floats = std::vector<float>;

Array array_of(const Floats& values, const Shape& shape) {
  Array out(ElementType::float32, shape);
  std::ranges::copy(values, out.as<float>().begin());
  return out;
}

void append(Floats& to, const Floats& from) { to.insert(to.end(), from.begin(), from.end()); }

Floats product(Floats a, const Floats& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] *= b[i];
  return a;
}

Cfc operator_of(const CfcLayer& layer) {
  constexpr Cfc::Mode kModes[] = {Cfc::Mode::gated, Cfc::Mode::pure, Cfc::Mode::no_gate};
  constexpr Cfc::Head kHeads[] = {Cfc::Head::tanh, Cfc::Head::none, Cfc::Head::lecun_tanh};
  return {.mode = kModes[static_cast<std::size_t>(layer.mode)],
          .activation = static_cast<Cfc::Activation>(layer.activation),
          .head = kHeads[static_cast<std::size_t>(rules(layer.dialect).head)],
          .batch_first = layer.batch_first};
}
static_assert(static_cast<int>(Activation::gelu) == static_cast<int>(Cfc::Activation::gelu));
static_assert(static_cast<int>(OdeSolver::runge_kutta) == static_cast<int>(Ltc::Solver::runge_kutta));

// The graph of one layer as it is made.
class LayerGraph {
 public:
  LayerGraph(const Layer& layer, const ParameterSet<float>& parameters, const LayerGraphOptions& options)
      : parameters_(parameters), sizes_(sizes(layer)) {
    check_parameters(layer, parameters);
    check(!sizes_.mixed_memory, Code::unsupported,
          "a layer with mixed memory cannot be a graph: no operator has its memory");
    constexpr std::int64_t kUnknown = TensorType::kUnknown;
    const std::int64_t batch = options.batch.value_or(kUnknown), steps = options.steps.value_or(kUnknown);
    const auto sequence = [&](std::int64_t width) {
      return TensorType(ElementType::float32, sizes_.batch_first ? std::vector<std::int64_t>{batch, steps, width}
                                                                 : std::vector<std::int64_t>{steps, batch, width});
    };
    graph_.name = "liquid";
    x_ = graph_.add_input("input", sequence(sizes_.inputs));
    if (options.timespans) times_ = graph_.add_input("timespans", sequence(1));
    if (options.initial_state)
      initial_ = graph_.add_input("initial_state",
                                  TensorType(ElementType::float32, std::vector{batch, std::int64_t{sizes_.state}}));
  }

  Graph add(const CfcLayer& layer) {
    std::vector<std::int64_t> widths;
    if (!layer.wiring) widths.push_back(layer.units);
    if (layer.wiring)
      for (const WiringLayer& part : layer.wiring->layers)
        widths.push_back(static_cast<std::int64_t>(part.neurons.size()));
    std::vector<ValueId> first(widths.size(), kNoValue), last;
    if (initial_ != kNoValue)
      first = widths.size() == 1
                  ? std::vector{initial_}
                  : graph_.add_node("initial_states",
                                    Split{.axis = 1, .sizes = widths, .outputs = static_cast<int>(widths.size())},
                                    {initial_}, static_cast<int>(widths.size()));
    ValueId states = x_;
    for (std::size_t l = 0; l < widths.size(); ++l) {
      const std::string prefix = layer.wiring ? fmt::format("rnn_cell.layer_{}.", l) : "rnn_cell.";
      const std::vector<ValueId> made = add_cell(layer, prefix, states, first[l], l);
      states = made[0];
      last.push_back(made[1]);
    }
    const ValueId state = last.size() == 1 ? last[0] : graph_.add("states", Concat{.axis = 1}, last);
    ValueId output = layer.return_sequences ? states : last.back();
    if (layer.projection > 0) output = add_projection(output, layer.projection);
    return finished(output, state);
  }

  Graph add(const LtcLayer& layer) {
    const std::int64_t units = layer.wiring.units, inputs = layer.wiring.inputs, outputs = layer.wiring.outputs;
    Floats membrane = positive("gleak", layer);
    append(membrane, parameter("rnn_cell.vleak"));
    append(membrane, positive("cm", layer));
    const ValueId x = mapped(x_, "input");
    const std::vector<ValueId> made =
        graph_.add_node("cell",
                        Ltc{.solver = static_cast<Ltc::Solver>(layer.solver),
                            .unfolds = layer.ode_unfolds,
                            .epsilon = layer.epsilon,
                            .batch_first = layer.batch_first},
                        {x, times_, initial_, constant("membrane", membrane, {3, units}),
                         constant("sensory", synapses("sensory_", layer), {4, inputs, units}),
                         constant("recurrent", synapses("", layer), {4, units, units})},
                        2);
    ValueId output = made[layer.return_sequences ? 0 : 1];
    if (outputs < units)
      output = graph_.add_node("motor_neurons", Split{.axis = -1, .sizes = {outputs, units - outputs}, .outputs = 2},
                               {output}, 2)[0];
    return finished(mapped(output, "output"), made[1]);
  }

 private:
  const Floats& parameter(const std::string& name) const {
    return parameters_.items[static_cast<std::size_t>(parameters_.find(name))].values;
  }
  bool has(const std::string& name) const { return parameters_.find(name) >= 0; }
  ValueId constant(const std::string& name, const Floats& values, const Shape& shape) {
    return graph_.add_constant(name, array_of(values, shape));
  }

  std::vector<ValueId> add_cell(const CfcLayer& layer, const std::string& prefix, ValueId x, ValueId first,
                                std::size_t index) {
    const Cfc op = operator_of(layer);
    const std::string cell = layer.wiring ? fmt::format("cell_{}", index) : "cell";
    const std::int64_t units = static_cast<std::int64_t>(parameter(prefix + "ff1.bias").size());
    Floats weights, biases;
    const auto add_head = [&](const char* name, bool masked, float sign) {
      Floats w = parameter(fmt::format("{}{}.weight", prefix, name)),
             b = parameter(fmt::format("{}{}.bias", prefix, name));
      if (masked && has(prefix + "sparsity_mask")) w = product(std::move(w), parameter(prefix + "sparsity_mask"));
      for (Floats* values : {&w, &b})
        for (float& v : *values) v *= sign;
      append(weights, w);
      append(biases, b);
    };
    add_head("ff1", true, 1);
    ValueId decay = kNoValue;
    if (op.mode == Cfc::Mode::pure) {
      Floats values = parameter(prefix + "w_tau");
      append(values, parameter(prefix + "A"));
      decay = constant(cell + ".decay", values, {2, units});
    } else {
      add_head("ff2", true, 1);
      add_head("time_a", false, static_cast<float>(rules(layer.dialect).time_sign));
      add_head("time_b", false, 1);
    }
    const std::int64_t rows = op.heads() * units;
    std::vector<ValueId> inputs{
        x,
        times_,
        first,
        constant(cell + ".heads", weights, {rows, static_cast<std::int64_t>(weights.size()) / rows}),
        constant(cell + ".biases", biases, {rows}),
        decay};
    for (std::size_t l = 0; l < layer.backbone.size(); ++l) {
      const std::size_t position = layer.backbone_dropout > 0 && l > 1 ? 3 * l - 1 : 2 * l;
      const std::string name = fmt::format("{}backbone.{}", prefix, position);
      const Floats &w = parameter(name + ".weight"), &b = parameter(name + ".bias");
      const auto width = static_cast<std::int64_t>(b.size());
      inputs.push_back(constant(fmt::format("{}.backbone_{}.weights", cell, l), w,
                                {width, static_cast<std::int64_t>(w.size()) / width}));
      inputs.push_back(constant(fmt::format("{}.backbone_{}.biases", cell, l), b, {width}));
    }
    return graph_.add_node(cell, op, std::move(inputs), 2);
  }

  ValueId add_projection(ValueId x, std::int64_t width) {
    const Floats &w = parameter("fc.weight"), &b = parameter("fc.bias");
    const auto columns = static_cast<std::size_t>(width), rows = w.size() / columns;
    Floats transposed(w.size());
    for (std::size_t o = 0; o < columns; ++o)
      for (std::size_t i = 0; i < rows; ++i) transposed[i * columns + o] = w[o * rows + i];
    x = graph_.add("projection", MatMul{},
                   {x, constant("projection.weights", transposed, {static_cast<std::int64_t>(rows), width})});
    return graph_.add("projected", Binary{Binary::Kind::add}, {x, constant("projection.biases", b, {width})});
  }

  // Times and plus what the mapping of inputs or outputs has.
  ValueId mapped(ValueId x, const std::string& side) {
    const auto apply = [&](const char* suffix, Binary::Kind kind) {
      const std::string name = side + suffix;
      if (!has("rnn_cell." + name)) return;
      const Floats& values = parameter("rnn_cell." + name);
      const ValueId by = constant(name, values, {static_cast<std::int64_t>(values.size())});
      x = graph_.add(name + "_mapped", Binary{kind}, {x, by});
    };
    apply("_w", Binary::Kind::mul);
    apply("_b", Binary::Kind::add);
    return x;
  }

  Floats positive(const std::string& name, const LtcLayer& layer) const {
    Floats values = parameter("rnn_cell." + name);
    if (layer.implicit_constraints)
      for (float& v : values) v = static_cast<float>(softplus(static_cast<double>(v)));
    return values;
  }
  Floats synapses(const std::string& prefix, const LtcLayer& layer) const {
    Floats values = product(positive(prefix + "w", layer), parameter("rnn_cell." + prefix + "sparsity_mask"));
    for (const char* name : {"mu", "sigma", "erev"}) append(values, parameter("rnn_cell." + prefix + name));
    return values;
  }

  Graph finished(ValueId output, ValueId state) {
    if (output == state) output = graph_.add("last_state", Unary{Unary::Kind::identity}, {state});
    graph_.value(output).name = "output";
    graph_.value(state).name = "state";
    graph_.outputs = {output, state};
    verify(graph_);
    return std::move(graph_);
  }

  const ParameterSet<float>& parameters_;
  LayerSizes sizes_;
  Graph graph_;
  ValueId x_ = kNoValue, times_ = kNoValue, initial_ = kNoValue;
};

Floats floats(const Array& array) {
  const auto values = array.as<float>();
  return {values.begin(), values.end()};
}

// The parameters of a layer, filled by name.
class NamedParameters {
 public:
  explicit NamedParameters(const Layer& layer) : set_(zeros<float>(parameter_list(layer))) {}

  void fill(const std::string& name, std::span<const float> values, float sign = 1) {
    Floats& to = set_.items[static_cast<std::size_t>(set_.find("rnn_cell." + name))].values;
    std::ranges::transform(values, to.begin(), [&](float v) { return sign * v; });
  }
  ParameterSet<float> take() { return std::move(set_); }

 private:
  ParameterSet<float> set_;
};

}  // namespace

Graph to_graph(const Layer& layer, const ParameterSet<float>& parameters, const LayerGraphOptions& options) {
  return std::visit([&](const auto& l) { return LayerGraph(layer, parameters, options).add(l); }, layer);
}

LayerOfNode layer_of(const Cfc& op, std::int64_t inputs, std::span<const Array* const> operands) {
  constexpr CfcMode kModes[] = {CfcMode::standard, CfcMode::no_gate, CfcMode::pure};
  constexpr Dialect kDialects[] = {Dialect::torch, Dialect::mlx, Dialect::paper};
  const Floats weights = floats(*operands[Cfc::kHeads]), biases = floats(*operands[Cfc::kBiases]);
  const std::size_t heads = static_cast<std::size_t>(op.heads()), units = biases.size() / heads;
  CfcLayer layer{.inputs = static_cast<int>(inputs),
                 .units = static_cast<int>(units),
                 .mode = kModes[static_cast<std::size_t>(op.mode)],
                 .activation = static_cast<Activation>(op.activation),
                 .backbone = {},
                 .dialect = kDialects[static_cast<std::size_t>(op.head)],
                 .batch_first = op.batch_first};
  for (std::size_t i = Cfc::kBackbone; i < operands.size(); i += 2)
    layer.backbone.push_back(static_cast<int>(operands[i]->shape()[0]));
  NamedParameters parameters(layer);
  for (std::size_t l = 0; l < layer.backbone.size(); ++l) {
    parameters.fill(fmt::format("backbone.{}.weight", 2 * l), operands[Cfc::kBackbone + 2 * l]->as<float>());
    parameters.fill(fmt::format("backbone.{}.bias", 2 * l), operands[Cfc::kBackbone + 2 * l + 1]->as<float>());
  }
  constexpr const char* kHeads[] = {"ff1", "ff2", "time_a", "time_b"};
  for (std::size_t h = 0; h < heads; ++h) {
    const float sign = h == 2 ? static_cast<float>(rules(layer.dialect).time_sign) : 1.0f;
    const std::size_t each = weights.size() / heads;
    parameters.fill(fmt::format("{}.weight", kHeads[h]), std::span(weights).subspan(h * each, each), sign);
    parameters.fill(fmt::format("{}.bias", kHeads[h]), std::span(biases).subspan(h * units, units), sign);
  }
  if (op.mode == Cfc::Mode::pure) {
    const Floats decay = floats(*operands[Cfc::kDecay]);
    parameters.fill("w_tau", std::span(decay).first(units));
    parameters.fill("A", std::span(decay).last(units));
  }
  return {std::move(layer), parameters.take()};
}

LayerOfNode layer_of(const Ltc& op, std::span<const Array* const> operands) {
  const Shape& sensory = operands[Ltc::kSensory]->shape();
  LtcLayer layer{.solver = static_cast<OdeSolver>(op.solver),
                 .ode_unfolds = op.unfolds,
                 .epsilon = op.epsilon,
                 .implicit_constraints = false,
                 .input_mapping = Mapping::none,
                 .output_mapping = Mapping::none,
                 .batch_first = op.batch_first};
  layer.wiring.inputs = static_cast<int>(sensory[1]);
  layer.wiring.units = layer.wiring.outputs = static_cast<int>(sensory[2]);
  NamedParameters parameters(layer);
  const auto rows = [&](std::size_t operand, std::initializer_list<const char*> names) {
    const Floats values = floats(*operands[operand]);
    const std::size_t each = values.size() / names.size();
    std::size_t row = 0;
    for (const char* name : names) parameters.fill(name, std::span(values).subspan(each * row++, each));
    Floats mask(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(each));
    for (float& weight : mask) weight = weight != 0 ? 1 : 0;
    return mask;
  };
  rows(Ltc::kMembrane, {"gleak", "vleak", "cm"});
  parameters.fill("sensory_sparsity_mask",
                  rows(Ltc::kSensory, {"sensory_w", "sensory_mu", "sensory_sigma", "sensory_erev"}));
  parameters.fill("sparsity_mask", rows(Ltc::kRecurrent, {"w", "mu", "sigma", "erev"}));
  return {std::move(layer), parameters.take()};
}

}  // namespace tessera::ncp
