#include "tessera/ncp/wiring.h"

#include "tessera/core/error.h"
#include "tessera/core/sha256.h"
#include "tessera/ncp/internal/wiring_recipes.h"

#include <algorithm>
#include <span>

namespace tessera::ncp {

Wiring build_wiring(const WiringSpec& spec, int inputs) {
  check(1 <= inputs && inputs <= kMaxNeurons, Code::invalid_argument, "a wiring of {} inputs: 1 to {} are possible",
        inputs, kMaxNeurons);
  return with_context("while building " + to_string(spec), [&] {
    Wiring wiring = std::visit([&](const auto& recipe) { return build(recipe, inputs); }, spec);
    wiring.spec = spec;
    return wiring;
  });
}

SynapseCounts count_synapses(const Wiring& wiring) {
  const auto count = [](const std::vector<std::int8_t>& matrix, auto&& wanted) {
    return static_cast<int>(std::count_if(matrix.begin(), matrix.end(), wanted));
  };
  const auto any = [](std::int8_t value) { return value != 0; };
  const auto positive = [](std::int8_t value) { return value > 0; };
  return {.synapses = count(wiring.adjacency, any),
          .excitatory = count(wiring.adjacency, positive),
          .sensory_synapses = count(wiring.sensory, any),
          .sensory_excitatory = count(wiring.sensory, positive)};
}

std::string_view neuron_type(const Wiring& wiring, int neuron) {
  check(0 <= neuron && neuron < wiring.units, Code::invalid_argument, "there is no neuron {} in a wiring of {}", neuron,
        wiring.units);
  if (neuron < wiring.outputs) return "motor";
  for (const WiringLayer& layer : wiring.layers)
    if (std::find(layer.neurons.begin(), layer.neurons.end(), neuron) != layer.neurons.end()) return layer.name;
  return "inter";
}

std::string digest(const Wiring& wiring) {
  std::vector<std::int8_t> both = wiring.adjacency;
  both.insert(both.end(), wiring.sensory.begin(), wiring.sensory.end());
  return sha256_hex(std::as_bytes(std::span(both)), 16);
}

}  // namespace tessera::ncp
