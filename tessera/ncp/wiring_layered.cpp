// Wirings in layers. The order of draws is part of the contract: it makes the matrices those of ncps for the same seed.

#include "tessera/core/error.h"
#include "tessera/ncp/internal/wiring_recipes.h"
#include "tessera/ncp/random_state.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace tessera::ncp {
namespace {

class LayeredBuilder {
 public:
  LayeredBuilder(Wiring& wiring, std::uint32_t seed) : wiring_(wiring), random_(seed) {}

  // Each source reaches `fanout` targets; then targets that none reached get about as many synapses as the others have
  // on average, but at most `most`.
  template <class Connect>
  void spread(std::span<const int> sources, std::span<const int> targets, int fanout, int most, Connect&& connect) {
    std::vector<bool> reached(targets.size());
    for (const int source : sources) {
      for (const int t : random_.choose(size(targets), fanout)) {
        reached[static_cast<std::size_t>(t)] = true;
        connect(source, targets[static_cast<std::size_t>(t)], polarity());
      }
    }
    const int mean = average(size(sources), fanout, size(targets), most);
    for (std::size_t t = 0; t < targets.size(); ++t) {
      if (reached[t]) continue;
      for (const int s : random_.choose(size(sources), mean))
        connect(sources[static_cast<std::size_t>(s)], targets[t], polarity());
    }
  }

  void sense(std::span<const int> targets, int fanout) {
    std::vector<int> inputs(static_cast<std::size_t>(wiring_.inputs));
    std::iota(inputs.begin(), inputs.end(), 0);
    spread(inputs, targets, fanout, wiring_.inputs, [&](int s, int d, int p) { connect_sensory(wiring_, s, d, p); });
  }

  void forward(std::span<const int> sources, std::span<const int> targets, int fanout) {
    // ncps bounds the average by the number of targets where it means that of sources. No choice fails for it, since
    // the average is never more than all sources, but it decides how many numbers are drawn.
    spread(sources, targets, fanout, size(targets), [&](int s, int d, int p) { connect(wiring_, s, d, p); });
  }

  void recur(std::span<const int> neurons, int synapses) {
    for (int i = 0; i < synapses; ++i) {
      const int source = neurons[static_cast<std::size_t>(random_.choice(size(neurons)))];
      const int destination = neurons[static_cast<std::size_t>(random_.choice(size(neurons)))];
      connect(wiring_, source, destination, polarity());
    }
  }

  // The other way round: each motor neuron chooses its sources.
  void gather(std::span<const int> sources, std::span<const int> motors, int fanin) {
    spread(motors, sources, fanin, size(motors), [&](int d, int s, int p) { connect(wiring_, s, d, p); });
  }

 private:
  static int size(std::span<const int> of) { return static_cast<int>(of.size()); }
  static int average(int sources, int fanout, int targets, int most) {
    const double mean = static_cast<double>(sources) * fanout / targets;
    return std::max(1, std::min(static_cast<int>(mean), most));
  }
  int polarity() { return random_.choice(2) == 0 ? -1 : 1; }

  Wiring& wiring_;
  RandomState random_;
};

std::vector<int> ids(int first, int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

void check_layer(const LayeredSpec::Hidden& layer, std::string_view sources) {
  check(is_layer_name(layer.name), Code::invalid_argument, "'{}' is no name for a layer: letters, digits and _",
        layer.name);
  check(layer.neurons >= 1, Code::invalid_argument, "layer '{}' has {} neurons; it needs at least 1", layer.name,
        layer.neurons);
  check(0 <= layer.fanout && layer.fanout <= layer.neurons, Code::invalid_argument,
        "each of the {} neurons would reach {} neurons of layer '{}', which has {}", sources, layer.fanout, layer.name,
        layer.neurons);
  check(layer.recurrent_synapses >= 0, Code::invalid_argument, "layer '{}' has {} recurrent synapses", layer.name,
        layer.recurrent_synapses);
}

}  // namespace

Wiring build(const LayeredSpec& spec, int inputs) {
  check(!spec.hidden.empty(), Code::invalid_argument,
        "a layered wiring needs at least one layer before the motor neurons");
  check(spec.motor_neurons >= 1, Code::invalid_argument, "{} motor neurons; at least 1 is needed", spec.motor_neurons);
  std::string_view before = "sensory";
  std::int64_t units = spec.motor_neurons;
  for (const LayeredSpec::Hidden& layer : spec.hidden) {
    check_layer(layer, before);
    before = layer.name;
    units += layer.neurons;
  }
  const LayeredSpec::Hidden& last = spec.hidden.back();
  check(0 <= spec.motor_fanin && spec.motor_fanin <= last.neurons, Code::invalid_argument,
        "each motor neuron would have {} sources among the {} neurons of layer '{}'", spec.motor_fanin, last.neurons,
        last.name);
  check(units <= kMaxNeurons, Code::invalid_argument, "a wiring of {} neurons: {} are possible", units, kMaxNeurons);

  Wiring wiring = blank_wiring(static_cast<int>(units), spec.motor_neurons, inputs);
  // Neurons are numbered from the motor side.
  int first = static_cast<int>(units);
  for (const LayeredSpec::Hidden& layer : spec.hidden) {
    first -= layer.neurons;
    wiring.layers.push_back({layer.name, ids(first, layer.neurons)});
  }
  wiring.layers.push_back({"motor", ids(0, spec.motor_neurons)});

  LayeredBuilder builder(wiring, spec.seed);
  for (std::size_t l = 0; l < spec.hidden.size(); ++l) {
    const std::vector<int>& neurons = wiring.layers[l].neurons;
    if (l == 0)
      builder.sense(neurons, spec.hidden[l].fanout);
    else
      builder.forward(wiring.layers[l - 1].neurons, neurons, spec.hidden[l].fanout);
    builder.recur(neurons, spec.hidden[l].recurrent_synapses);
  }
  builder.gather(wiring.layers[spec.hidden.size() - 1].neurons, wiring.layers.back().neurons, spec.motor_fanin);
  return wiring;
}

Wiring build(const NcpSpec& spec, int inputs) {
  return build(
      LayeredSpec{.hidden = {{"inter", spec.inter_neurons, spec.sensory_fanout, 0},
                             {"command", spec.command_neurons, spec.inter_fanout, spec.recurrent_command_synapses}},
                  .motor_neurons = spec.motor_neurons,
                  .motor_fanin = spec.motor_fanin,
                  .seed = spec.seed},
      inputs);
}

NcpSpec expand(const AutoNcpSpec& spec) {
  check(spec.outputs >= 1 && spec.outputs < spec.units - 2, Code::invalid_argument,
        "{} outputs of {} units: an automatic NCP needs at least one output, and three units more than outputs",
        spec.outputs, spec.units);
  check(0.1 <= spec.sparsity && spec.sparsity <= 1.0, Code::invalid_argument,
        "a sparsity of {}: an automatic NCP takes 0.1 (dense) to 1.0 (sparse)", spec.sparsity);
  const double density = 1.0 - spec.sparsity;
  const auto at_least_one = [](double value) { return std::max(static_cast<int>(value), 1); };
  const int rest = spec.units - spec.outputs;
  const int command = at_least_one(0.4 * rest);
  const int inter = rest - command;
  return {.inter_neurons = inter,
          .command_neurons = command,
          .motor_neurons = spec.outputs,
          .sensory_fanout = at_least_one(inter * density),
          .inter_fanout = at_least_one(command * density),
          .recurrent_command_synapses = at_least_one(command * density * 2),
          .motor_fanin = at_least_one(command * density),
          .seed = spec.seed};
}

Wiring build(const AutoNcpSpec& spec, int inputs) { return build(expand(spec), inputs); }

}  // namespace tessera::ncp
