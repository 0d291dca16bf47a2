#include "tessera/ncp/foreign_parameters.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace tessera::ncp {
namespace {

// A parameter of ours in another framework.
struct Foreign {
  std::string name{};       // how it ends
  bool transposed = false;  // [inputs, outputs]
  bool absent = false;      // follows from the wiring
};

// Which backbone layer "rnn_cell.backbone.5.weight" belongs to, by the order of the list.
std::size_t backbone_layer(const std::vector<ParameterInfo>& list, const std::string& name) {
  std::size_t layer = 0;
  for (const ParameterInfo& info : list) {
    if (info.name == name || info.name == name.substr(0, name.rfind('.')) + ".weight") break;
    if (info.name.find(".backbone.") != std::string::npos && info.name.ends_with(".weight")) ++layer;
  }
  return layer;
}

std::string after_cell(const std::string& name) {
  std::string rest = name.starts_with("rnn_cell.") ? name.substr(9) : name;
  if (rest.starts_with("layer_")) rest = rest.substr(rest.find('.') + 1);
  return rest;
}

Foreign keras_name(const std::vector<ParameterInfo>& list, const std::string& name) {
  const std::string rest = after_cell(name);
  const bool weight = rest.ends_with(".weight");
  const std::string stem = rest.substr(0, rest.rfind('.'));
  if (stem == "ff1" || stem == "ff2") return {stem + (weight ? "_weight" : "_bias"), weight};
  if (rest.starts_with("backbone."))
    return {fmt::format("backbone{}.{}", backbone_layer(list, name), weight ? "kernel" : "bias"), weight};
  if (stem == "time_a" || stem == "time_b" || stem == "fc") return {stem + (weight ? ".kernel" : ".bias"), weight};
  return {rest};
}

Foreign mlx_name(const std::vector<ParameterInfo>& list, const std::string& name, double dropout) {
  const std::string rest = after_cell(name);
  if (!rest.starts_with("backbone.")) return {rest};
  const std::size_t index = backbone_layer(list, name) * (dropout > 0 ? 3 : 2);
  return {fmt::format("backbone.layers.{}{}", index, rest.substr(rest.rfind('.')))};
}

Foreign foreign(const Layer& layer, const std::vector<ParameterInfo>& list, const ParameterInfo& info,
                Dialect dialect) {
  if (dialect == Dialect::torch) return {info.name};
  if (info.name.ends_with("sparsity_mask")) return {.absent = true};
  if (dialect == Dialect::mlx) {
    const auto* cfc = std::get_if<CfcLayer>(&layer);
    return mlx_name(list, info.name, cfc != nullptr ? cfc->backbone_dropout : 0);
  }
  return keras_name(list, info.name);
}

void check_dialect(const Layer& layer, Dialect dialect) {
  if (dialect == Dialect::torch || dialect == Dialect::mlx) return;
  check(!sizes(layer).mixed_memory, Code::unsupported,
        "mixed memory of ncps for Keras is another network (its memory feeds the cell's inputs, not its state), so its "
        "weights mean nothing here");
  if (const auto* ltc = std::get_if<LtcLayer>(&layer))
    check(!ltc->implicit_constraints, Code::invalid_argument,
          Hint{"make the layer with implicit_param_constraints off"},
          "an LTC of Keras has its weights as they are, this layer passes them through a softplus");
}

std::string normal(std::string name) {
  if (const auto colon = name.rfind(':'); colon != std::string::npos) name.resize(colon);  // TensorFlow's "kernel:0"
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

bool ends_as(const std::string& name, const std::string& end) {
  return name == end || (name.size() > end.size() && name.ends_with(end) && name[name.size() - end.size() - 1] == '.');
}

Parameter<float> transposed(const Parameter<float>& of) {
  Parameter<float> out = of;
  if (of.info.shape.size() != 2) return out;
  std::swap(out.info.shape[0], out.info.shape[1]);
  const auto rows = static_cast<std::size_t>(of.info.shape[0]), columns = static_cast<std::size_t>(of.info.shape[1]);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) out.values[c * rows + r] = of.values[r * columns + c];
  return out;
}

// A wired CfC of Keras multiplies its heads by polarities (-1, 0, 1), one of PyTorch by their absolute values: the sign
// goes into the weight. Its own inverse.
void apply_polarities(const Layer& layer, ParameterSet<float>& parameters) {
  const auto* cfc = std::get_if<CfcLayer>(&layer);
  if (cfc == nullptr || !cfc->wiring) return;
  const Wiring& wiring = *cfc->wiring;
  for (std::size_t l = 0; l < wiring.layers.size(); ++l)
    for (const char* head : {"ff1", "ff2"}) {
      const int at = parameters.find(fmt::format("rnn_cell.layer_{}.{}.weight", l, head));
      if (at < 0) continue;
      Parameter<float>& p = parameters.items[static_cast<std::size_t>(at)];
      const std::vector<int>& neurons = wiring.layers[l].neurons;
      const auto width = static_cast<std::size_t>(p.info.shape[1]);
      for (std::size_t n = 0; n < neurons.size(); ++n)
        for (std::size_t i = 0; i + neurons.size() < width; ++i) {
          const int polarity = l == 0 ? wiring.sensory_polarity(static_cast<int>(i), neurons[n])
                                      : wiring.polarity(wiring.layers[l - 1].neurons[i], neurons[n]);
          if (polarity < 0) p.values[n * width + i] = -p.values[n * width + i];
        }
    }
}

bool has_polarities(Dialect dialect) { return dialect == Dialect::keras || dialect == Dialect::paper; }

Dialect dialect_of(const Layer& layer) {
  const auto* cfc = std::get_if<CfcLayer>(&layer);
  return cfc != nullptr ? cfc->dialect : Dialect::torch;
}

}  // namespace

ParameterSet<float> import_parameters(const Layer& layer, const ParameterSet<float>& given, Dialect from) {
  check_dialect(layer, from);
  const std::vector<ParameterInfo> list = parameter_list(layer);
  std::vector<bool> used(given.items.size());
  const auto take = [&](const std::string& end) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < given.items.size(); ++i)
      if (!used[i] && ends_as(normal(given.items[i].info.name), end)) {
        used[i] = true;
        return i;
      }
    return std::nullopt;
  };
  ParameterSet<float> out;
  std::vector<std::string> problems;
  const ParameterSet<float> start = converted<float>(initial_parameters(layer, 0));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Foreign there = foreign(layer, list, list[i], from);
    if (there.absent) {
      out.items.push_back(start.items[i]);
      continue;
    }
    const auto found = take(there.name);
    if (!found) {
      problems.push_back(fmt::format("'{}' is missing ('{}' here)", there.name, list[i].name));
      continue;
    }
    const Parameter<float>& theirs = given.items[*found];
    Parameter<float> item = there.transposed ? transposed(theirs) : theirs;
    if (item.info.shape != list[i].shape) {
      std::vector<std::int64_t> wanted = list[i].shape;
      if (there.transposed) std::reverse(wanted.begin(), wanted.end());
      problems.push_back(fmt::format("'{}' is [{}], not [{}]", theirs.info.name, fmt::join(theirs.info.shape, ", "),
                                     fmt::join(wanted, ", ")));
      continue;
    }
    item.info = list[i];
    out.items.push_back(std::move(item));
  }
  for (std::size_t i = 0; i < given.items.size(); ++i)
    if (!used[i] && !given.items[i].info.name.ends_with("sparsity_mask"))
      problems.push_back(fmt::format("'{}' is not known", given.items[i].info.name));
  if (!problems.empty())
    fail(Code::invalid_argument, "{} of {} parameters do not fit: {}", problems.size(), list.size(),
         fmt::join(problems, "; "));
  if (has_polarities(from)) apply_polarities(layer, out);
  if (std::holds_alternative<CfcLayer>(layer)) convert_dialect(out, from, dialect_of(layer));
  check_parameters(layer, out);
  return out;
}

ParameterSet<float> export_parameters(const Layer& layer, const ParameterSet<float>& parameters, Dialect to) {
  check_dialect(layer, to);
  check_parameters(layer, parameters);
  const std::vector<ParameterInfo> list = parameter_list(layer);
  ParameterSet<float> ours = parameters;
  if (std::holds_alternative<CfcLayer>(layer)) convert_dialect(ours, dialect_of(layer), to);
  if (has_polarities(to)) apply_polarities(layer, ours);
  if (to == Dialect::torch) return ours;
  ParameterSet<float> out;
  const bool slashes = to != Dialect::mlx;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Foreign there = foreign(layer, list, list[i], to);
    if (there.absent) continue;
    Parameter<float> item = there.transposed ? transposed(ours.items[i]) : ours.items[i];
    const std::string& name = list[i].name;
    std::string before;  // what of our name stands before the part that has another name there
    if (name.starts_with("rnn_cell.layer_"))
      before = name.substr(slashes ? 9 : 0, name.find('.', 9) + 1 - (slashes ? 9 : 0));
    else if (!slashes && name.starts_with("rnn_cell."))
      before = "rnn_cell.";
    item.info.name = before + there.name;
    if (slashes) std::replace(item.info.name.begin(), item.info.name.end(), '.', '/');
    out.items.push_back(std::move(item));
  }
  return out;
}

}  // namespace tessera::ncp
