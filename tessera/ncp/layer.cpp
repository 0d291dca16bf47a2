#include "tessera/ncp/layer.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

namespace tessera::ncp {
namespace {

using Shape2 = std::vector<std::int64_t>;

void add_linear(std::vector<ParameterInfo>& list, const std::string& name, std::int64_t in, std::int64_t out) {
  list.push_back({name + ".weight", Shape2{out, in}});
  list.push_back({name + ".bias", Shape2{out}});
}

void add_memory(std::vector<ParameterInfo>& list, std::int64_t inputs, std::int64_t state) {
  add_linear(list, "lstm.input_map", inputs, 4 * state);
  list.push_back({"lstm.recurrent_map.weight", Shape2{4 * state, state}});
}

void add_cfc_cell(std::vector<ParameterInfo>& list, const std::string& prefix, const CfcLayer& layer,
                  std::int64_t inputs, std::int64_t hidden, bool masked) {
  std::int64_t width = inputs + hidden;
  if (masked) list.push_back({prefix + "sparsity_mask", Shape2{hidden, width}, false});
  const bool pure = layer.mode == CfcMode::pure;
  if (pure)
    for (const char* name : {"w_tau", "A"}) list.push_back({prefix + name, Shape2{1, hidden}});
  if (!masked) {
    // The index counts activations and dropouts too, as they stand between the layers in a torch.nn.Sequential.
    int index = 0;
    for (std::size_t l = 0; l < layer.backbone.size(); ++l) {
      add_linear(list, fmt::format("{}backbone.{}", prefix, index), width, layer.backbone[l]);
      width = layer.backbone[l];
      index += l > 0 && layer.backbone_dropout > 0 ? 3 : 2;
    }
  }
  add_linear(list, prefix + "ff1", width, hidden);
  if (!pure)
    for (const char* name : {"ff2", "time_a", "time_b"}) add_linear(list, prefix + name, width, hidden);
}

std::vector<ParameterInfo> list_of(const CfcLayer& layer) {
  std::vector<ParameterInfo> list;
  if (layer.wiring) {
    std::int64_t inputs = layer.inputs;
    for (std::size_t l = 0; l < layer.wiring->layers.size(); ++l) {
      const auto hidden = static_cast<std::int64_t>(layer.wiring->layers[l].neurons.size());
      add_cfc_cell(list, fmt::format("rnn_cell.layer_{}.", l), layer, inputs, hidden, true);
      inputs = hidden;
    }
  } else {
    add_cfc_cell(list, "rnn_cell.", layer, layer.inputs, layer.units, false);
  }
  const LayerSizes size = sizes(layer);
  if (layer.mixed_memory) add_memory(list, layer.inputs, size.state);
  if (layer.projection > 0) add_linear(list, "fc", size.readout, layer.projection);
  return list;
}

std::vector<ParameterInfo> list_of(const LtcLayer& layer) {
  const std::int64_t units = layer.wiring.units, inputs = layer.wiring.inputs, outputs = layer.wiring.outputs;
  std::vector<ParameterInfo> list;
  const auto add = [&](const char* name, Shape2 shape, bool trainable = true) {
    list.push_back({std::string("rnn_cell.") + name, std::move(shape), trainable});
  };
  for (const char* name : {"gleak", "vleak", "cm"}) add(name, {units});
  for (const char* name : {"sigma", "mu", "w", "erev"}) add(name, {units, units});
  for (const char* name : {"sensory_sigma", "sensory_mu", "sensory_w", "sensory_erev"}) add(name, {inputs, units});
  add("sparsity_mask", {units, units}, false);
  add("sensory_sparsity_mask", {inputs, units}, false);
  if (layer.input_mapping != Mapping::none) add("input_w", {inputs});
  if (layer.input_mapping == Mapping::affine) add("input_b", {inputs});
  if (layer.output_mapping != Mapping::none) add("output_w", {outputs});
  if (layer.output_mapping == Mapping::affine) add("output_b", {outputs});
  if (layer.mixed_memory) add_memory(list, inputs, units);
  return list;
}

LayerSizes sizes_of(const CfcLayer& layer) {
  check(layer.inputs >= 1, Code::invalid_argument, "CfC: {} inputs; at least 1 is needed", layer.inputs);
  check(layer.projection >= 0, Code::invalid_argument, "CfC: a projection to {} outputs", layer.projection);
  check(0 <= layer.backbone_dropout && layer.backbone_dropout < 1, Code::invalid_argument,
        "CfC: a dropout of {}: 0 up to, but not, 1", layer.backbone_dropout);
  int state = layer.units, readout = layer.units;
  if (layer.wiring) {
    check(layer.wiring->inputs == layer.inputs, Code::invalid_argument,
          "CfC: {} inputs, but the wiring was built for {}", layer.inputs, layer.wiring->inputs);
    check(layer.backbone.empty() && layer.backbone_dropout == 0, Code::invalid_argument,
          "CfC: with a wiring there is no backbone, but {} layers with dropout {} were asked for",
          layer.backbone.size(), layer.backbone_dropout);
    state = layer.wiring->units;
    readout = static_cast<int>(layer.wiring->layers.back().neurons.size());
  } else {
    check(layer.units >= 1, Code::invalid_argument, "CfC: {} units; at least 1 is needed", layer.units);
    for (const int width : layer.backbone)
      check(width >= 1, Code::invalid_argument, "CfC: a backbone layer of {} units", width);
  }
  return {.inputs = layer.inputs,
          .state = state,
          .readout = readout,
          .outputs = layer.projection > 0 ? layer.projection : readout,
          .mixed_memory = layer.mixed_memory,
          .return_sequences = layer.return_sequences,
          .batch_first = layer.batch_first};
}

LayerSizes sizes_of(const LtcLayer& layer) {
  check(layer.wiring.units >= 1, Code::invalid_argument, "LTC: the wiring has not been built");
  check(layer.ode_unfolds >= 1, Code::invalid_argument, "LTC: {} unfolds; at least 1 is needed", layer.ode_unfolds);
  check(layer.epsilon >= 0 && std::isfinite(layer.epsilon), Code::invalid_argument, "LTC: an epsilon of {}",
        layer.epsilon);
  return {.inputs = layer.wiring.inputs,
          .state = layer.wiring.units,
          .readout = layer.wiring.outputs,
          .outputs = layer.wiring.outputs,
          .mixed_memory = layer.mixed_memory,
          .return_sequences = layer.return_sequences,
          .batch_first = layer.batch_first};
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace

DialectRules rules(Dialect dialect) {
  using Head = DialectRules::Head;
  switch (dialect) {
    case Dialect::torch: return {};
    case Dialect::keras:
    case Dialect::mlx:
      return {.time_sign = -1, .head = Head::none, .dropout_after_first = true, .constant_pure_start = true};
    case Dialect::paper:
      return {.time_sign = -1, .head = Head::lecun_tanh, .dropout_after_first = true, .constant_pure_start = true};
  }
  return {};
}

LayerSizes sizes(const Layer& layer) {
  return std::visit([](const auto& l) { return sizes_of(l); }, layer);
}

std::vector<ParameterInfo> parameter_list(const Layer& layer) {
  sizes(layer);  // refuses what makes no sense
  return std::visit([](const auto& l) { return list_of(l); }, layer);
}

ParameterCount count_parameters(const Layer& layer) {
  ParameterCount count;
  for (const ParameterInfo& info : parameter_list(layer)) {
    count.total += info.count();
    if (info.trainable) count.trainable += info.count();
  }
  return count;
}

template <class Real>
void check_parameters(const Layer& layer, const ParameterSet<Real>& parameters) {
  const std::vector<ParameterInfo> wanted = parameter_list(layer);
  std::map<std::string_view, const Parameter<Real>*> given;
  std::vector<std::string> problems, names;
  for (const ParameterInfo& info : wanted) names.push_back(info.name);
  for (const Parameter<Real>& item : parameters.items)
    if (!given.emplace(item.info.name, &item).second)
      problems.push_back(fmt::format("'{}' is there twice", item.info.name));
  for (const ParameterInfo& info : wanted) {
    const auto found = given.find(info.name);
    if (found == given.end()) {
      problems.push_back(fmt::format("'{}' {} is missing", info.name, shape_text(info.shape)));
      continue;
    }
    const Parameter<Real>& item = *found->second;
    given.erase(found);
    if (item.info.shape != info.shape || item.values.size() != static_cast<std::size_t>(info.count())) {
      problems.push_back(
          fmt::format("'{}' is {}, not {}", info.name, shape_text(item.info.shape), shape_text(info.shape)));
      continue;
    }
    for (std::size_t i = 0; i < item.values.size(); ++i)
      if (!std::isfinite(item.values[i])) {
        problems.push_back(fmt::format("'{}' has {} at position {}", info.name, item.values[i], i));
        break;
      }
  }
  for (const auto& [name, item] : given)
    problems.push_back(
        fmt::format("'{}' {} is not known{}", name, shape_text(item->info.shape), did_you_mean(name, names)));
  if (!problems.empty())
    fail(Code::invalid_argument, "{} of {} parameters do not fit: {}", problems.size(), wanted.size(),
         fmt::join(problems, "; "));
  // Same names in another order would be read as each other.
  for (std::size_t i = 0; i < wanted.size(); ++i)
    check(parameters.items[i].info.name == wanted[i].name, Code::invalid_argument, "parameter {} is '{}', not '{}'", i,
          parameters.items[i].info.name, wanted[i].name);
}

template <class Real>
void apply_constraints(const Layer& layer, ParameterSet<Real>& parameters) {
  const auto* ltc = std::get_if<LtcLayer>(&layer);
  if (ltc == nullptr || ltc->implicit_constraints) return;
  for (const char* name : {"rnn_cell.w", "rnn_cell.sensory_w", "rnn_cell.cm", "rnn_cell.gleak"}) {
    const int i = parameters.find(name);
    check(i >= 0, Code::invalid_argument, "parameter '{}' is missing", name);
    for (Real& value : parameters.items[static_cast<std::size_t>(i)].values)
      if (value < 0) value = 0;
  }
}

template <class Real>
void convert_dialect(ParameterSet<Real>& parameters, Dialect from, Dialect to) {
  if (rules(from).time_sign == rules(to).time_sign) return;
  for (Parameter<Real>& item : parameters.items)
    if (item.info.name.ends_with("time_a.weight") || item.info.name.ends_with("time_a.bias"))
      for (Real& value : item.values) value = -value;
}

template TSR_API void check_parameters(const Layer&, const ParameterSet<float>&);
template TSR_API void check_parameters(const Layer&, const ParameterSet<double>&);
template TSR_API void apply_constraints(const Layer&, ParameterSet<float>&);
template TSR_API void apply_constraints(const Layer&, ParameterSet<double>&);
template TSR_API void convert_dialect(ParameterSet<float>&, Dialect, Dialect);
template TSR_API void convert_dialect(ParameterSet<double>&, Dialect, Dialect);

}  // namespace tessera::ncp
