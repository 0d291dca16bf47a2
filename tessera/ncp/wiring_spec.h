#pragma once

// How a wiring is made: its recipe, as text or JSON, without the synapses that come of it.

#include "tessera/core/export.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::ncp {

// Sensory -> inter -> command (with synapses among themselves) -> motor.
struct NcpSpec {
  int inter_neurons = 0;
  int command_neurons = 0;
  int motor_neurons = 0;
  int sensory_fanout = 0;
  int inter_fanout = 0;
  int recurrent_command_synapses = 0;
  int motor_fanin = 0;
  std::uint32_t seed = 22222;
  bool operator==(const NcpSpec&) const = default;
};

// An NCP whose seven numbers follow from three.
struct AutoNcpSpec {
  int units = 0;
  int outputs = 0;
  double sparsity = 0.5;
  std::uint32_t seed = 22222;
  bool operator==(const AutoNcpSpec&) const = default;
};

struct FullyConnectedSpec {
  int units = 0;
  std::optional<int> outputs{};  // all units unless given
  std::uint64_t seed = 1111;
  bool self_connections = true;
  bool operator==(const FullyConnectedSpec&) const = default;
};

struct RandomSpec {
  int units = 0;
  std::optional<int> outputs{};
  double sparsity = 0;
  std::uint64_t seed = 1111;
  bool operator==(const RandomSpec&) const = default;
};

// Any number of hidden layers between the sensory neurons and the motor neurons. Two of them, the second with recurrent
// synapses, make the same matrices as an NCP.
struct LayeredSpec {
  struct Hidden {
    std::string name{};
    int neurons = 0;
    int fanout = 0;              // synapses into this layer from each neuron before it (sensory ones for the first)
    int recurrent_synapses = 0;  // drawn within the layer; self loops and repeats are allowed
    bool operator==(const Hidden&) const = default;
  };
  std::vector<Hidden> hidden{};  // from the sensory side
  int motor_neurons = 0;
  int motor_fanin = 0;  // synapses into each motor neuron from the last hidden layer
  std::uint32_t seed = 22222;
  bool operator==(const LayeredSpec&) const = default;
};

struct Synapse {
  int source = 0;
  int destination = 0;
  int polarity = 1;  // 1 excites, -1 inhibits
  bool operator==(const Synapse&) const = default;
};

// Every synapse given one by one. A later synapse between the same two neurons replaces an earlier one.
struct ExplicitSpec {
  struct Layer {
    std::string name{};
    std::vector<int> neurons{};
    bool operator==(const Layer&) const = default;
  };
  int units = 0;
  std::optional<int> outputs{};
  int inputs = 0;
  std::vector<Layer> layers{};  // from the sensory side; none: all neurons are one layer
  std::vector<Synapse> synapses{};
  std::vector<Synapse> sensory_synapses{};  // their sources are inputs
  bool operator==(const ExplicitSpec&) const = default;
};

using WiringSpec = std::variant<NcpSpec, AutoNcpSpec, FullyConnectedSpec, RandomSpec, LayeredSpec, ExplicitSpec>;

// "NCP(12,6,1,6,4,4,6,seed=7)", "AutoNCP(16,4)", "Random(16,sparsity=0.5)",
// "FullyConnected(8,4,self_connections=false)", and "Layered(inter:12x6,deep:8x4,command:6x4+4,motor:1x6)":
// name:neurons x fanout + recurrent synapses, the last entry being the motor neurons with their fan-in. Arguments go by
// position or by upstream's names.
TSR_API WiringSpec parse_wiring_spec(std::string_view text);
// The same in its shortest form; an explicit wiring has no such text and is named "Explicit(units,synapses)".
TSR_API std::string to_string(const WiringSpec& spec);

// An object with "type" and the arguments under upstream's names.
TSR_API std::string wiring_spec_to_json(const WiringSpec& spec);
TSR_API WiringSpec wiring_spec_from_json(std::string_view text);

}  // namespace tessera::ncp
