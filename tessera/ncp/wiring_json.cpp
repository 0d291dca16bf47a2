// Wirings and their recipes as JSON.

#include "tessera/core/error.h"
#include "tessera/ncp/internal/spec_fields.h"
#include "tessera/ncp/json_fields.h"
#include "tessera/ncp/wiring.h"

namespace tessera::ncp {
namespace {

using Json = nlohmann::ordered_json;

Json synapses_json(const std::vector<std::int8_t>& matrix, int units) {
  Json out = Json::array();
  for (std::size_t i = 0; i < matrix.size(); ++i)
    if (matrix[i] != 0)
      out.push_back({i / static_cast<std::size_t>(units), i % static_cast<std::size_t>(units), matrix[i]});
  return out;
}

Json synapses_json(const std::vector<Synapse>& synapses) {
  Json out = Json::array();
  for (const Synapse& s : synapses) out.push_back({s.source, s.destination, s.polarity});
  return out;
}

std::vector<Synapse> synapses_from(const Json& json, std::string_view key) {
  std::vector<Synapse> out;
  for (const Json& item : member(json, key)) {
    check(item.is_array() && item.size() == 3, Code::parse, "{}: '{}' is no [source, destination, polarity]", key,
          item.dump());
    out.push_back({number<int>(item[0], key), number<int>(item[1], key), number<int>(item[2], key)});
  }
  return out;
}

template <class Layers>
Json layers_json(const Layers& layers) {
  Json out = Json::array();
  for (const auto& layer : layers) out.push_back({{"name", layer.name}, {"neurons", layer.neurons}});
  return out;
}

template <class Spec>
void write(const Spec& spec, Json& json) {
  visit_fields(spec, [&](std::string_view name, auto, const auto& value) { json[std::string(name)] = to_json(value); });
}

template <class Spec>
void read(Spec& spec, const Json& json) {
  std::vector<std::string> known{"type"};
  visit_fields(spec, [&](std::string_view name, auto, auto& value) {
    known.emplace_back(name);
    const bool required = std::is_same_v<std::remove_cvref_t<decltype(value)>, int>;
    if (required || json.contains(name)) from_json(member(json, name), name, value);
  });
  check_keys(json, known);
}

void write(const LayeredSpec& spec, Json& json) {
  for (const LayeredSpec::Hidden& layer : spec.hidden)
    json["hidden"].push_back({{"name", layer.name},
                              {"neurons", layer.neurons},
                              {"fanout", layer.fanout},
                              {"recurrent_synapses", layer.recurrent_synapses}});
  json["motor_neurons"] = spec.motor_neurons;
  json["motor_fanin"] = spec.motor_fanin;
  json["seed"] = spec.seed;
}

void read(LayeredSpec& spec, const Json& json) {
  check_keys(json, std::vector<std::string>{"type", "hidden", "motor_neurons", "motor_fanin", "seed"});
  for (const Json& item : member(json, "hidden")) {
    check_keys(item, std::vector<std::string>{"name", "neurons", "fanout", "recurrent_synapses"});
    LayeredSpec::Hidden layer;
    from_json(member(item, "name"), "name", layer.name);
    from_json(member(item, "neurons"), "neurons", layer.neurons);
    from_json(member(item, "fanout"), "fanout", layer.fanout);
    if (item.contains("recurrent_synapses"))
      from_json(item["recurrent_synapses"], "recurrent_synapses", layer.recurrent_synapses);
    spec.hidden.push_back(std::move(layer));
  }
  from_json(member(json, "motor_neurons"), "motor_neurons", spec.motor_neurons);
  from_json(member(json, "motor_fanin"), "motor_fanin", spec.motor_fanin);
  if (json.contains("seed")) from_json(json["seed"], "seed", spec.seed);
}

void write(const ExplicitSpec& spec, Json& json) {
  json["units"] = spec.units;
  json["output_dim"] = to_json(spec.outputs);
  json["input_dim"] = spec.inputs;
  json["layers"] = layers_json(spec.layers);
  json["synapses"] = synapses_json(spec.synapses);
  json["sensory_synapses"] = synapses_json(spec.sensory_synapses);
}

void read(ExplicitSpec& spec, const Json& json) {
  check_keys(json, std::vector<std::string>{"type", "units", "output_dim", "input_dim", "layers", "synapses",
                                            "sensory_synapses"});
  from_json(member(json, "units"), "units", spec.units);
  if (json.contains("output_dim")) from_json(json["output_dim"], "output_dim", spec.outputs);
  from_json(member(json, "input_dim"), "input_dim", spec.inputs);
  if (json.contains("layers"))
    for (const Json& item : json["layers"]) {
      ExplicitSpec::Layer layer;
      from_json(member(item, "name"), "name", layer.name);
      for (const Json& neuron : member(item, "neurons")) layer.neurons.push_back(number<int>(neuron, "neurons"));
      spec.layers.push_back(std::move(layer));
    }
  spec.synapses = synapses_from(json, "synapses");
  spec.sensory_synapses = synapses_from(json, "sensory_synapses");
}

}  // namespace

Json to_json(const WiringSpec& spec) {
  Json json;
  std::visit(
      [&](const auto& s) {
        json["type"] = type_name(s);
        write(s, json);
      },
      spec);
  return json;
}

WiringSpec wiring_spec_from(const Json& json) {
  std::string type;
  from_json(member(json, "type"), "type", type);
  WiringSpec spec = default_spec(type);
  with_context(fmt::format("while reading a wiring of type '{}'", type),
               [&] { std::visit([&](auto& s) { read(s, json); }, spec); });
  return spec;
}

std::string wiring_spec_to_json(const WiringSpec& spec) { return to_json(spec).dump(); }

WiringSpec wiring_spec_from_json(std::string_view text) { return wiring_spec_from(parse_object(text, "a wiring")); }

std::string wiring_to_json(const Wiring& wiring) {
  const SynapseCounts counts = count_synapses(wiring);
  Json json;
  json["kind"] = "tessera wiring";
  json["wiring"] = to_json(wiring.spec);
  json["inputs"] = wiring.inputs;
  json["units"] = wiring.units;
  json["outputs"] = wiring.outputs;
  json["synapse_count"] = counts.synapses;
  json["excitatory_count"] = counts.excitatory;
  json["sensory_synapse_count"] = counts.sensory_synapses;
  json["sensory_excitatory_count"] = counts.sensory_excitatory;
  json["digest"] = digest(wiring);
  json["layers"] = layers_json(wiring.layers);
  json["synapses"] = synapses_json(wiring.adjacency, wiring.units);
  json["sensory_synapses"] = synapses_json(wiring.sensory, wiring.units);
  return json.dump() + "\n";
}

Wiring wiring_from_json(std::string_view text) {
  const Json json = parse_object(text, "a wiring");
  const Wiring wiring =
      build_wiring(wiring_spec_from(member(json, "wiring")), number<int>(member(json, "inputs"), "inputs"));
  std::string stated;
  from_json(member(json, "digest"), "digest", stated);
  check(stated == digest(wiring), Code::parse,
        "the file says that its wiring has digest {}, but {} of {} inputs has {}", stated, to_string(wiring.spec),
        wiring.inputs, digest(wiring));
  return wiring;
}

}  // namespace tessera::ncp
