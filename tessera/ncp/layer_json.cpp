// Descriptions of layers as JSON, under upstream's names of arguments.

#include "tessera/core/error.h"
#include "tessera/ncp/json_fields.h"
#include "tessera/ncp/layer.h"

#include <array>

namespace tessera::ncp {
namespace {

using Json = nlohmann::ordered_json;

template <class Enum, std::size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Names<CfcMode, 3> kModes{
    {{CfcMode::standard, "default"}, {CfcMode::pure, "pure"}, {CfcMode::no_gate, "no_gate"}}};
constexpr Names<Activation, 5> kActivations{{{Activation::lecun_tanh, "lecun_tanh"},
                                             {Activation::silu, "silu"},
                                             {Activation::relu, "relu"},
                                             {Activation::tanh, "tanh"},
                                             {Activation::gelu, "gelu"}}};
constexpr Names<Dialect, 4> kDialects{
    {{Dialect::torch, "torch"}, {Dialect::keras, "keras"}, {Dialect::mlx, "mlx"}, {Dialect::paper, "paper"}}};
constexpr Names<Mapping, 3> kMappings{
    {{Mapping::affine, "affine"}, {Mapping::linear, "linear"}, {Mapping::none, "none"}}};
constexpr Names<OdeSolver, 3> kSolvers{{{OdeSolver::semi_implicit, "semi_implicit"},
                                        {OdeSolver::explicit_euler, "explicit"},
                                        {OdeSolver::runge_kutta, "rk4"}}};

template <class Enum, std::size_t N>
std::string word(Enum value, const Names<Enum, N>& names) {
  for (const auto& [item, text] : names)
    if (item == value) return std::string(text);
  return "?";
}

// Leaves `out` as it is where the key is missing.
template <class Enum, std::size_t N>
void read(const Json& json, std::string_view key, const Names<Enum, N>& names, Enum& out) {
  if (!json.contains(key)) return;
  std::string text;
  from_json(json[std::string(key)], key, text);
  std::vector<std::string> known;
  for (const auto& [item, name] : names) {
    known.emplace_back(name);
    if (name == text) {
      out = item;
      return;
    }
  }
  fail(Code::parse, "'{}' is '{}': it can be {}{}", key, text, fmt::join(known, ", "), did_you_mean(text, known));
}

template <class T>
void read(const Json& json, std::string_view key, T& out) {
  if (json.contains(key)) from_json(json[std::string(key)], key, out);
}

Json write(const CfcLayer& layer) {
  Json json{{"type", "CfC"}, {"input_size", layer.inputs}};
  if (layer.wiring)
    json["wiring"] = to_json(layer.wiring->spec);
  else
    json["units"] = layer.units;
  json["mode"] = word(layer.mode, kModes);
  json["activation"] = word(layer.activation, kActivations);
  json["backbone_units"] = layer.backbone;
  json["backbone_dropout"] = layer.backbone_dropout;
  json["dialect"] = word(layer.dialect, kDialects);
  json["proj_size"] = layer.projection == 0 ? Json() : Json(layer.projection);
  json["mixed_memory"] = layer.mixed_memory;
  json["return_sequences"] = layer.return_sequences;
  json["batch_first"] = layer.batch_first;
  return json;
}

CfcLayer read_cfc(const Json& json) {
  check_keys(json, std::vector<std::string>{"type", "input_size", "units", "wiring", "mode", "activation",
                                            "backbone_units", "backbone_layers", "backbone_dropout", "dialect",
                                            "proj_size", "mixed_memory", "return_sequences", "batch_first"});
  CfcLayer layer;
  from_json(member(json, "input_size"), "input_size", layer.inputs);
  if (json.contains("wiring")) {
    check(!json.contains("units"), Code::parse, "'units' and 'wiring' exclude each other");
    layer.wiring = build_wiring(wiring_spec_from(json["wiring"]), layer.inputs);
    layer.backbone.clear();
  } else {
    from_json(member(json, "units"), "units", layer.units);
  }
  // A list of widths, or as upstream has it one width and a number of layers.
  if (json.contains("backbone_units") && json["backbone_units"].is_array()) {
    check(!json.contains("backbone_layers"), Code::parse, "'backbone_layers' is given beside a list of widths");
    layer.backbone.clear();
    for (const Json& width : json["backbone_units"]) layer.backbone.push_back(number<int>(width, "backbone_units"));
  } else if (json.contains("backbone_units") || json.contains("backbone_layers")) {
    int width = 128, layers = 1;
    read(json, "backbone_units", width);
    read(json, "backbone_layers", layers);
    check(0 <= layers && layers <= 1000, Code::parse, "'backbone_layers' is {}", layers);
    layer.backbone.assign(static_cast<std::size_t>(layers), width);
  }
  read(json, "mode", kModes, layer.mode);
  read(json, "activation", kActivations, layer.activation);
  read(json, "backbone_dropout", layer.backbone_dropout);
  read(json, "dialect", kDialects, layer.dialect);
  std::optional<int> projection;
  read(json, "proj_size", projection);
  layer.projection = projection.value_or(0);
  read(json, "mixed_memory", layer.mixed_memory);
  read(json, "return_sequences", layer.return_sequences);
  read(json, "batch_first", layer.batch_first);
  return layer;
}

Json write(const LtcLayer& layer) {
  return {{"type", "LTC"},
          {"input_size", layer.wiring.inputs},
          {"wiring", to_json(layer.wiring.spec)},
          {"solver", word(layer.solver, kSolvers)},
          {"ode_unfolds", layer.ode_unfolds},
          {"epsilon", layer.epsilon},
          {"implicit_param_constraints", layer.implicit_constraints},
          {"input_mapping", word(layer.input_mapping, kMappings)},
          {"output_mapping", word(layer.output_mapping, kMappings)},
          {"mixed_memory", layer.mixed_memory},
          {"return_sequences", layer.return_sequences},
          {"batch_first", layer.batch_first}};
}

LtcLayer read_ltc(const Json& json) {
  check_keys(json, std::vector<std::string>{"type", "input_size", "units", "wiring", "solver", "ode_unfolds", "epsilon",
                                            "implicit_param_constraints", "input_mapping", "output_mapping",
                                            "mixed_memory", "return_sequences", "batch_first"});
  LtcLayer layer;
  const int inputs = number<int>(member(json, "input_size"), "input_size");
  check(!json.contains("wiring") || !json.contains("units"), Code::parse, "'units' and 'wiring' exclude each other");
  const WiringSpec spec = json.contains("wiring")
                              ? wiring_spec_from(json["wiring"])
                              : FullyConnectedSpec{.units = number<int>(member(json, "units"), "units")};
  layer.wiring = build_wiring(spec, inputs);
  read(json, "solver", kSolvers, layer.solver);
  read(json, "ode_unfolds", layer.ode_unfolds);
  read(json, "epsilon", layer.epsilon);
  read(json, "implicit_param_constraints", layer.implicit_constraints);
  read(json, "input_mapping", kMappings, layer.input_mapping);
  read(json, "output_mapping", kMappings, layer.output_mapping);
  read(json, "mixed_memory", layer.mixed_memory);
  read(json, "return_sequences", layer.return_sequences);
  read(json, "batch_first", layer.batch_first);
  return layer;
}

}  // namespace

std::string layer_to_json(const Layer& layer) {
  return std::visit([](const auto& l) { return write(l); }, layer).dump();
}

Layer layer_from_json(std::string_view text) {
  const Json json = parse_object(text, "a layer");
  std::string type;
  from_json(member(json, "type"), "type", type);
  check(type == "CfC" || type == "LTC", Code::parse, "there is no layer '{}': the kinds are CfC and LTC", type);
  return with_context(fmt::format("while reading a layer of type '{}'", type), [&] {
    Layer layer = type == "CfC" ? Layer(read_cfc(json)) : Layer(read_ltc(json));
    sizes(layer);
    return layer;
  });
}

}  // namespace tessera::ncp
