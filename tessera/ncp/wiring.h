#pragma once

// A wiring: which neuron reaches which, and whether it excites or inhibits. Same seed, same matrices as the Python
// package ncps 1.0.1.

#include "tessera/core/export.h"
#include "tessera/ncp/wiring_spec.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::ncp {

struct WiringLayer {
  std::string name;  // "inter", "command", "motor", or as the recipe says
  std::vector<int> neurons;
  bool operator==(const WiringLayer&) const = default;
};

struct Wiring {
  WiringSpec spec{};
  int inputs = 0;
  int units = 0;
  int outputs = 0;                       // the first units are the outputs
  std::vector<std::int8_t> adjacency{};  // [source][destination]: -1, 0 or 1
  std::vector<std::int8_t> sensory{};    // [input][destination]
  std::vector<WiringLayer> layers{};     // from the sensory side

  std::int8_t polarity(int source, int destination) const {
    return adjacency[static_cast<std::size_t>(source) * static_cast<std::size_t>(units) +
                     static_cast<std::size_t>(destination)];
  }
  std::int8_t sensory_polarity(int input, int destination) const {
    return sensory[static_cast<std::size_t>(input) * static_cast<std::size_t>(units) +
                   static_cast<std::size_t>(destination)];
  }
  bool operator==(const Wiring&) const = default;
};

// Pure: the same recipe and inputs give the same wiring however often it is built.
TSR_API Wiring build_wiring(const WiringSpec& spec, int inputs);

struct SynapseCounts {
  int synapses = 0;
  int excitatory = 0;
  int sensory_synapses = 0;
  int sensory_excitatory = 0;
  bool operator==(const SynapseCounts&) const = default;
};
TSR_API SynapseCounts count_synapses(const Wiring& wiring);

// "motor" for an output, otherwise "command", "inter" or the name of the layer in a layered wiring.
TSR_API std::string_view neuron_type(const Wiring& wiring, int neuron);

// The first 16 hexadecimal digits of SHA-256 over adjacency and sensory, row by row as int8.
TSR_API std::string digest(const Wiring& wiring);

// The recipe with inputs, counts, layers, every synapse and the digest. Reading builds from the recipe and refuses a
// file whose digest differs from what comes of it.
TSR_API std::string wiring_to_json(const Wiring& wiring);
TSR_API Wiring wiring_from_json(std::string_view text);

}  // namespace tessera::ncp
