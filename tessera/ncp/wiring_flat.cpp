// Wirings without layers: all pairs, random pairs, or pairs that were given.

#include "tessera/core/error.h"
#include "tessera/ncp/internal/wiring_recipes.h"
#include "tessera/ncp/random_generator.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

namespace tessera::ncp {
namespace {

constexpr std::int64_t kMostRandomPairs = std::int64_t{1} << 26;  // seconds, and half a gigabyte

// Two of three synapses excite.
int biased_polarity(RandomGenerator& random) { return random.choice(3) == 0 ? -1 : 1; }

void one_layer(Wiring& wiring) {
  std::vector<int> all(static_cast<std::size_t>(wiring.units));
  std::iota(all.begin(), all.end(), 0);
  wiring.layers = {{"inter", std::move(all)}};
}

std::int64_t kept_pairs(std::int64_t pairs, double sparsity) {
  return std::llrint(static_cast<double>(pairs) * (1 - sparsity));  // halves to even, as Python's round
}

void check_explicit_layers(const ExplicitSpec& spec) {
  std::vector<int> seen(static_cast<std::size_t>(spec.units));
  for (const ExplicitSpec::Layer& layer : spec.layers) {
    check(is_layer_name(layer.name), Code::invalid_argument, "'{}' is no name for a layer: letters, digits and _",
          layer.name);
    check(!layer.neurons.empty(), Code::invalid_argument, "layer '{}' has no neurons", layer.name);
    for (const int neuron : layer.neurons) {
      check(0 <= neuron && neuron < spec.units, Code::invalid_argument,
            "layer '{}' has neuron {}, but there are {} units", layer.name, neuron, spec.units);
      check(++seen[static_cast<std::size_t>(neuron)] == 1, Code::invalid_argument, "neuron {} is in two layers",
            neuron);
    }
  }
  for (int neuron = 0; neuron < spec.units && !spec.layers.empty(); ++neuron)
    check(seen[static_cast<std::size_t>(neuron)] == 1, Code::invalid_argument, "neuron {} is in no layer", neuron);
}

}  // namespace

bool is_layer_name(std::string_view name) {
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_word);
}

Wiring blank_wiring(int units, int outputs, int inputs) {
  check(1 <= units && units <= kMaxNeurons, Code::invalid_argument, "a wiring of {} units: 1 to {} are possible", units,
        kMaxNeurons);
  check(1 <= outputs && outputs <= units, Code::invalid_argument, "{} outputs of {} units", outputs, units);
  Wiring wiring{.inputs = inputs, .units = units, .outputs = outputs};
  const auto n = static_cast<std::size_t>(units);
  wiring.adjacency.resize(n * n);
  wiring.sensory.resize(static_cast<std::size_t>(inputs) * n);
  return wiring;
}

void connect(Wiring& wiring, int source, int destination, int polarity) {
  check(0 <= source && source < wiring.units && 0 <= destination && destination < wiring.units, Code::invalid_argument,
        "a synapse from {} to {}: neurons are 0 to {}", source, destination, wiring.units - 1);
  check(polarity == 1 || polarity == -1, Code::invalid_argument,
        "the synapse from {} to {} has polarity {}: 1 excites, -1 inhibits", source, destination, polarity);
  wiring.adjacency[static_cast<std::size_t>(source) * static_cast<std::size_t>(wiring.units) +
                   static_cast<std::size_t>(destination)] = static_cast<std::int8_t>(polarity);
}

void connect_sensory(Wiring& wiring, int input, int destination, int polarity) {
  check(0 <= input && input < wiring.inputs && 0 <= destination && destination < wiring.units, Code::invalid_argument,
        "a synapse from input {} to {}: inputs are 0 to {}, neurons 0 to {}", input, destination, wiring.inputs - 1,
        wiring.units - 1);
  check(polarity == 1 || polarity == -1, Code::invalid_argument,
        "the synapse from input {} to {} has polarity {}: 1 excites, -1 inhibits", input, destination, polarity);
  wiring.sensory[static_cast<std::size_t>(input) * static_cast<std::size_t>(wiring.units) +
                 static_cast<std::size_t>(destination)] = static_cast<std::int8_t>(polarity);
}

Wiring build(const FullyConnectedSpec& spec, int inputs) {
  Wiring wiring = blank_wiring(spec.units, spec.outputs.value_or(spec.units), inputs);
  one_layer(wiring);
  RandomGenerator random(spec.seed);
  for (int source = 0; source < spec.units; ++source)
    for (int destination = 0; destination < spec.units; ++destination)
      if (source != destination || spec.self_connections) connect(wiring, source, destination, biased_polarity(random));
  for (int input = 0; input < inputs; ++input)
    for (int destination = 0; destination < spec.units; ++destination)
      connect_sensory(wiring, input, destination, biased_polarity(random));
  return wiring;
}

Wiring build(const RandomSpec& spec, int inputs) {
  check(0 <= spec.sparsity && spec.sparsity < 1, Code::invalid_argument,
        "a sparsity of {}: a random wiring takes 0 (all pairs) up to, but not, 1", spec.sparsity);
  for (const std::int64_t from : {spec.units, inputs}) {
    const std::int64_t pairs = from * spec.units,
                       drawn = RandomGenerator::steps(pairs, kept_pairs(pairs, spec.sparsity));
    check(drawn <= kMostRandomPairs, Code::unsupported, Hint{"fewer units or a higher sparsity need less"},
          "a random wiring of {} units and {} inputs at a sparsity of {} draws {} times, {} times at most are possible",
          spec.units, inputs, spec.sparsity, drawn, kMostRandomPairs);
  }
  Wiring wiring = blank_wiring(spec.units, spec.outputs.value_or(spec.units), inputs);
  one_layer(wiring);
  RandomGenerator random(spec.seed);
  const std::int64_t n = spec.units;
  for (const std::int64_t pair : random.choose(n * n, kept_pairs(n * n, spec.sparsity)))
    connect(wiring, static_cast<int>(pair / n), static_cast<int>(pair % n), biased_polarity(random));
  for (const std::int64_t pair : random.choose(inputs * n, kept_pairs(inputs * n, spec.sparsity))) {
    biased_polarity(random);  // ncps draws twice for each sensory synapse; the second stays
    connect_sensory(wiring, static_cast<int>(pair / n), static_cast<int>(pair % n), biased_polarity(random));
  }
  return wiring;
}

Wiring build(const ExplicitSpec& spec, int inputs) {
  check(spec.inputs == inputs, Code::invalid_argument, "an explicit wiring of {} inputs cannot be built for {}",
        spec.inputs, inputs);
  Wiring wiring = blank_wiring(spec.units, spec.outputs.value_or(spec.units), inputs);
  check_explicit_layers(spec);
  if (spec.layers.empty()) one_layer(wiring);
  for (const ExplicitSpec::Layer& layer : spec.layers) wiring.layers.push_back({layer.name, layer.neurons});
  for (const Synapse& synapse : spec.synapses) connect(wiring, synapse.source, synapse.destination, synapse.polarity);
  for (const Synapse& synapse : spec.sensory_synapses)
    connect_sensory(wiring, synapse.source, synapse.destination, synapse.polarity);
  return wiring;
}

}  // namespace tessera::ncp
