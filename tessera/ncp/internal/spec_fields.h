#pragma once

// The arguments of each recipe, in the order of upstream's constructors: one list for text and JSON, both ways.

#include "tessera/ncp/wiring_spec.h"

#include <string_view>
#include <type_traits>

namespace tessera::ncp {

// visit(name, alias, value): `alias` is a shorter word that text may use, or "".
template <class Visit>
void visit_fields(auto& spec, Visit&& visit)
  requires std::is_same_v<std::remove_cvref_t<decltype(spec)>, NcpSpec>
{
  visit("inter_neurons", "inter", spec.inter_neurons);
  visit("command_neurons", "command", spec.command_neurons);
  visit("motor_neurons", "motor", spec.motor_neurons);
  visit("sensory_fanout", "", spec.sensory_fanout);
  visit("inter_fanout", "", spec.inter_fanout);
  visit("recurrent_command_synapses", "recurrent", spec.recurrent_command_synapses);
  visit("motor_fanin", "", spec.motor_fanin);
  visit("seed", "", spec.seed);
}

template <class Visit>
void visit_fields(auto& spec, Visit&& visit)
  requires std::is_same_v<std::remove_cvref_t<decltype(spec)>, AutoNcpSpec>
{
  visit("units", "", spec.units);
  visit("output_size", "outputs", spec.outputs);
  visit("sparsity_level", "sparsity", spec.sparsity);
  visit("seed", "", spec.seed);
}

template <class Visit>
void visit_fields(auto& spec, Visit&& visit)
  requires std::is_same_v<std::remove_cvref_t<decltype(spec)>, FullyConnectedSpec>
{
  visit("units", "", spec.units);
  visit("output_dim", "outputs", spec.outputs);
  visit("erev_init_seed", "seed", spec.seed);
  visit("self_connections", "", spec.self_connections);
}

template <class Visit>
void visit_fields(auto& spec, Visit&& visit)
  requires std::is_same_v<std::remove_cvref_t<decltype(spec)>, RandomSpec>
{
  visit("units", "", spec.units);
  visit("output_dim", "outputs", spec.outputs);
  visit("sparsity_level", "sparsity", spec.sparsity);
  visit("random_seed", "seed", spec.seed);
}

constexpr std::string_view type_name(const NcpSpec&) { return "NCP"; }
constexpr std::string_view type_name(const AutoNcpSpec&) { return "AutoNCP"; }
constexpr std::string_view type_name(const FullyConnectedSpec&) { return "FullyConnected"; }
constexpr std::string_view type_name(const RandomSpec&) { return "Random"; }
constexpr std::string_view type_name(const LayeredSpec&) { return "Layered"; }
constexpr std::string_view type_name(const ExplicitSpec&) { return "Explicit"; }

// A spec of that type with its defaults; an Error that lists the types for anything else.
WiringSpec default_spec(std::string_view type);

}  // namespace tessera::ncp
