#include "tessera/ncp/work.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::ncp {
namespace {

constexpr double kFloatBytes = 4;
constexpr std::array<std::pair<Fusion, std::string_view>, 3> kFusions = {
    {{Fusion::none, "none"}, {Fusion::elementwise, "elementwise"}, {Fusion::full, "full"}}};

// Operations on arrays of the same size, one after the other.
struct Chain {
  double unary = 0;    // of an array and a constant, or of one array
  double binary = 0;   // of two arrays
  double special = 0;  // functions of one array
  double inputs = 0;   // arrays that come from outside, and those that go there
  double outputs = 1;

  double flops() const { return unary + binary + special; }
};

Chain activation_chain(Activation activation) {
  switch (activation) {
    case Activation::lecun_tanh: return {.unary = 2, .special = 1, .inputs = 1};
    case Activation::silu: return {.binary = 1, .special = 1, .inputs = 1};
    case Activation::relu: return {.unary = 1, .inputs = 1};
    case Activation::tanh: return {.special = 1, .inputs = 1};
    case Activation::gelu: return {.unary = 2, .binary = 1, .special = 1, .inputs = 1};
  }
  return {};
}

// Of the four heads, with the elapsed time of each sample counted as a constant.
Chain gate_chain(CfcMode mode, DialectRules::Head head) {
  // A - A exp(-ts (|w_tau| + |p1|)) p1
  if (mode == CfcMode::pure) return {.unary = 3, .binary = 4, .special = 1, .inputs = 1};
  Chain chain{.unary = 1, .binary = 2, .special = 1, .inputs = 4};  // sigmoid(ta ts + tb), gate * second
  chain.binary += 1;                                                // the sum
  if (mode == CfcMode::standard) {
    chain.unary += 1;  // 1 - gate
    chain.binary += 1;
  }
  if (head == DialectRules::Head::tanh) chain.special += 2;
  if (head == DialectRules::Head::lecun_tanh) {
    chain.unary += 4;
    chain.special += 2;
  }
  return chain;
}

class Counter {
 public:
  Counter(std::int64_t batch, std::int64_t steps, const WorkOptions& options)
      : options_(options), batch_(static_cast<double>(batch)), steps_(steps) {
    out_.batch = batch;
    out_.steps = steps;
  }

  LayerWork done() && { return std::move(out_); }

  void count(const CfcLayer& layer) {
    const LayerSizes size = sizes(layer);
    if (layer.mixed_memory) memory_cell(size);
    if (layer.wiring) {
      double inputs = size.inputs;
      for (std::size_t l = 0; l < layer.wiring->layers.size(); ++l) {
        const auto hidden = static_cast<double>(layer.wiring->layers[l].neurons.size());
        cell(layer, fmt::format("layer {} ", l), inputs, hidden, present_synapses(*layer.wiring, l));
        inputs = hidden;
      }
      if (!fused() && layer.wiring->layers.size() > 1) copy("join states", size.state);
    } else {
      cell(layer, "", size.inputs, size.state, std::nullopt);
    }
    outputs(size, layer.projection);
  }

  void count(const LtcLayer& layer) {
    const LayerSizes size = sizes(layer);
    const SynapseCounts synapses = count_synapses(layer.wiring);
    const double units = size.state, all = units * units, sensory_all = static_cast<double>(size.inputs) * units;
    if (layer.mixed_memory) memory_cell(size);
    if (!fused() && layer.implicit_constraints)
      chain("softplus", 1, all + sensory_all + 2 * units, {.special = 1, .inputs = 1}, 0);
    const Chain input_map = mapping(layer.input_mapping), output_map = mapping(layer.output_mapping);
    const double fan[2] = {static_cast<double>(synapses.sensory_synapses), static_cast<double>(synapses.synapses)};
    if (!fused() && input_map.flops() > 0)
      chain("map inputs", 1, batch_ * size.inputs, input_map, size.inputs * (input_map.flops()));
    if (fused()) {
      KernelWork kernel = synapse_kernel("sensory synapses", 1, size.inputs, 2 * units, fan[0], sensory_all);
      add_elementwise(kernel, batch_ * size.inputs, input_map, size.inputs * input_map.flops());
      add(std::move(kernel));
    } else {
      synapse_launches("sensory", 1, size.inputs, units, fan[0], sensory_all);
    }
    const int rates = layer.solver == OdeSolver::runge_kutta ? 4 : 1;
    // Of one unfold, for each unit; the elapsed time of a sample counts as a constant, parameters as arrays.
    Chain update{.unary = 3, .binary = 8, .inputs = 5};  // semi-implicit
    if (layer.solver == OdeSolver::explicit_euler) update = {.unary = 1, .binary = 9, .inputs = 5};
    if (layer.solver == OdeSolver::runge_kutta) update = {.unary = 6, .binary = 39, .inputs = 5};
    const double unfolds = layer.ode_unfolds;
    const double parameters = 3 * units;  // capacity, leak, and leak with its potential
    if (fused()) {
      // Besides the state: both sums of the sensory synapses come in, the next state goes out.
      KernelWork kernel = synapse_kernel("unfold", unfolds * rates, units, 3 * units, fan[1], all);
      add_elementwise(kernel, unfolds * batch_ * units, update, unfolds * rates * parameters);
      // Four rates: the state at the beginning is read three times more, the sum of rates written and read three times.
      if (rates == 4) kernel.bytes += kFloatBytes * unfolds * 9 * batch_ * units;
      add(std::move(kernel));
    } else {
      synapse_launches("recurrent", unfolds * rates, units, units, fan[1], all);
      chain("update", unfolds, batch_ * units, update, parameters);
    }
    if (output_map.flops() > 0)
      chain("map outputs", 1, batch_ * size.readout, output_map, size.readout * output_map.flops());
    outputs(size, 0);
  }

 private:
  bool fused() const { return options_.fusion == Fusion::full; }

  // As many launches, and as much work, for each step of the sequence (or once).
  void add(KernelWork kernel, bool each_step = true) {
    if (each_step) {
      kernel.launches *= steps_;
      for (double KernelWork::* what :
           {&KernelWork::flops, &KernelWork::executed_flops, &KernelWork::specials, &KernelWork::bytes})
        kernel.*what *= static_cast<double>(steps_);
    }
    if (kernel.launches > 0) out_.kernels.push_back(std::move(kernel));
  }

  static void add_elementwise(KernelWork& kernel, double elements, const Chain& chain, double parameters) {
    kernel.flops += elements * chain.flops();
    kernel.executed_flops += elements * chain.flops();
    kernel.specials += elements * chain.special;
    kernel.bytes += kFloatBytes * parameters;
  }

  // `parameters` are values that are the same for all samples, read by each round once.
  void chain(std::string name, double rounds, double elements, const Chain& chain, double parameters) {
    KernelWork kernel{.name = std::move(name)};
    add_elementwise(kernel, rounds * elements, chain, rounds * parameters);
    if (options_.fusion == Fusion::none) {
      kernel.launches = static_cast<std::int64_t>(rounds * chain.flops());
      kernel.bytes += kFloatBytes * rounds * elements * (2 * chain.unary + 2 * chain.special + 3 * chain.binary);
    } else {
      kernel.launches = static_cast<std::int64_t>(rounds);
      kernel.bytes += kFloatBytes * rounds * elements * (chain.inputs + chain.outputs);
    }
    add(std::move(kernel));
  }

  void copy(std::string name, double width) {
    add({.name = std::move(name), .launches = 1, .bytes = 2 * kFloatBytes * batch_ * width});
  }

  // A product with a bias; `present` weights of it are not masked.
  KernelWork product(std::string name, double inputs, double outputs, double present, bool bias = true) const {
    return {.name = std::move(name),
            .launches = 1,
            .flops = 2 * batch_ * present,
            .executed_flops = 2 * batch_ * inputs * outputs,
            .bytes = kFloatBytes * (batch_ * (inputs + outputs) + inputs * outputs + (bias ? outputs : 0))};
  }

  void cell(const CfcLayer& layer, const std::string& prefix, double inputs, double hidden,
            std::optional<double> present) {
    double width = inputs + hidden;
    if (!fused()) copy(prefix + "join input and state", width);
    const Chain activation = activation_chain(layer.activation);
    const std::vector<int> backbone = layer.wiring ? std::vector<int>{} : layer.backbone;
    for (std::size_t l = 0; l < backbone.size(); ++l) {
      const double units = backbone[l];
      KernelWork kernel = product(fmt::format("{}backbone {}", prefix, l), width, units, width * units);
      if (fused()) add_elementwise(kernel, batch_ * units, activation, 0);
      add(std::move(kernel));
      if (!fused()) chain(fmt::format("{}activation {}", prefix, l), 1, batch_ * units, activation, 0);
      width = units;
    }
    const Chain gate = gate_chain(layer.mode, rules(layer.dialect).head);
    const bool pure = layer.mode == CfcMode::pure;
    const double dense = width * hidden, sparse = present.value_or(dense);
    const double gate_parameters = pure ? 2 * hidden : 0;
    if (fused()) {
      const double heads = pure ? 1 : 4;
      KernelWork kernel = product(prefix + "heads", width, heads * hidden, pure ? sparse : 2 * sparse + 2 * dense);
      kernel.bytes -= kFloatBytes * batch_ * (heads - 1) * hidden;  // only the new state leaves
      add_elementwise(kernel, batch_ * hidden, gate, gate_parameters);
      return add(std::move(kernel));
    }
    for (const std::string_view head : {"ff1", "ff2", "time_a", "time_b"}) {
      if (pure && head != "ff1") break;
      const bool masked = present.has_value() && head.starts_with("ff");
      if (masked) {
        KernelWork mask{.name = fmt::format("{}{} mask", prefix, head), .launches = 1};
        mask.executed_flops = dense;
        mask.bytes = 3 * kFloatBytes * dense;
        add(std::move(mask), options_.fusion == Fusion::none);  // a tracing compiler sees that steps have it in common
      }
      add(product(fmt::format("{}{}", prefix, head), width, hidden, masked ? sparse : dense));
    }
    chain(prefix + "gate", 1, batch_ * hidden, gate, gate_parameters);
  }

  // Weights of one head of a layer of a wiring that its mask leaves: synapses from before, and all among themselves.
  static double present_synapses(const Wiring& wiring, std::size_t layer) {
    const std::vector<int>& to = wiring.layers[layer].neurons;
    double present = static_cast<double>(to.size()) * static_cast<double>(to.size());
    for (const int j : to) {
      if (layer == 0)
        for (int i = 0; i < wiring.inputs; ++i) present += wiring.sensory_polarity(i, j) != 0;
      else
        for (const int i : wiring.layers[layer - 1].neurons) present += wiring.polarity(i, j) != 0;
    }
    return present;
  }

  void memory_cell(const LayerSizes& size) {
    const double hidden = size.state, inputs = size.inputs;
    const Chain lstm{.unary = 1, .binary = 4, .special = 5, .inputs = 5, .outputs = 2};
    if (fused()) {
      KernelWork kernel = product("memory", inputs + hidden, 4 * hidden, (inputs + hidden) * 4 * hidden);
      kernel.bytes += kFloatBytes * batch_ * hidden * (1 + 2 - 4);  // memory in and out, one state out, not four sums
      add_elementwise(kernel, batch_ * hidden, lstm, 0);
      return add(std::move(kernel));
    }
    add(product("memory input map", inputs, 4 * hidden, inputs * 4 * hidden));
    // Without a bias a sum of n products has one addition less: that of both maps' results makes up for it.
    KernelWork recurrent = product("memory recurrent map", hidden, 4 * hidden, hidden * 4 * hidden, false);
    recurrent.flops -= batch_ * 4 * hidden;
    recurrent.executed_flops -= batch_ * 4 * hidden;
    add(std::move(recurrent));
    chain("memory sum", 1, batch_ * 4 * hidden, {.binary = 1, .inputs = 2}, 0);
    chain("memory gates", 1, batch_ * hidden, lstm, 0);
  }

  static Chain mapping(Mapping mapping) {
    if (mapping == Mapping::affine) return {.unary = 2, .inputs = 1};
    if (mapping == Mapping::linear) return {.unary = 1, .inputs = 1};
    return {};
  }

  // sigma (v - mu) -> sigmoid -> * w -> * erev, and the two sums: six operations and a sigmoid for each synapse.
  static constexpr double kSynapseOperations = 6;

  // `others` are values that come in or go out for each sample besides those of the sources.
  KernelWork synapse_kernel(std::string name, double rounds, double sources, double others, double present,
                            double all) const {
    const double executed = options_.skips_absent_synapses ? present : all;
    KernelWork kernel{.name = std::move(name), .launches = static_cast<std::int64_t>(rounds)};
    kernel.flops = rounds * batch_ * present * (kSynapseOperations + 1);
    kernel.executed_flops = rounds * batch_ * executed * (kSynapseOperations + 1);
    kernel.specials = rounds * batch_ * executed;
    kernel.bytes = kFloatBytes * rounds * (4 * executed + batch_ * (sources + others));  // four parameters a synapse
    return kernel;
  }

  // The same in arrays of [batch, sources, units].
  void synapse_launches(std::string_view which, double rounds, double sources, double units, double present,
                        double all) {
    const double pairs = batch_ * all;
    KernelWork kernel{.name = fmt::format("{} synapses", which)};
    kernel.flops = rounds * batch_ * present * 5;  // without the sums; the mask is no work that has to be done
    kernel.executed_flops = rounds * pairs * 6;
    kernel.specials = rounds * pairs;
    if (options_.fusion == Fusion::none) {
      kernel.launches = static_cast<std::int64_t>(6 * rounds);
      // v - mu, * sigma, sigmoid, * w, * mask, * erev: operands of a pair are a value of the sample and a parameter.
      kernel.bytes = kFloatBytes * rounds * (batch_ * sources + 5 * all + 2 * 5 * pairs + pairs);
    } else {
      kernel.launches = static_cast<std::int64_t>(rounds);
      kernel.bytes = kFloatBytes * rounds * (batch_ * sources + 5 * all + 2 * pairs);
    }
    add(std::move(kernel));
    KernelWork sums{.name = fmt::format("{} sums", which), .launches = static_cast<std::int64_t>(2 * rounds)};
    sums.flops = rounds * batch_ * present * 2;
    sums.executed_flops = rounds * pairs * 2;
    sums.bytes = kFloatBytes * rounds * 2 * (pairs + batch_ * units);
    add(std::move(sums));
  }

  void outputs(const LayerSizes& size, int projection) {
    if (projection > 0)
      add(product("projection", size.readout, projection, static_cast<double>(size.readout) * projection),
          size.return_sequences);
    if (size.return_sequences && !fused())
      add({.name = "stack outputs",
           .launches = 1,
           .bytes = 2 * kFloatBytes * batch_ * static_cast<double>(steps_) * size.outputs},
          false);
  }

  WorkOptions options_;
  double batch_;
  std::int64_t steps_;
  LayerWork out_;
};

}  // namespace

std::string_view name(Fusion fusion) {
  return std::find_if(kFusions.begin(), kFusions.end(), [&](const auto& f) { return f.first == fusion; })->second;
}

std::optional<Fusion> parse_fusion(std::string_view text) {
  for (const auto& [fusion, word] : kFusions)
    if (word == text) return fusion;
  return std::nullopt;
}

KernelWork LayerWork::total() const {
  KernelWork sum{.name = "total"};
  for (const KernelWork& kernel : kernels) {
    sum.launches += kernel.launches;
    sum.flops += kernel.flops;
    sum.executed_flops += kernel.executed_flops;
    sum.specials += kernel.specials;
    sum.bytes += kernel.bytes;
  }
  return sum;
}

LayerWork forward_work(const Layer& layer, std::int64_t batch, std::int64_t steps, const WorkOptions& options) {
  check(batch >= 0 && steps >= 1, Code::invalid_argument, "a batch of {} with {} steps is no work to count", batch,
        steps);
  sizes(layer);  // refuses what makes no sense
  Counter counter(batch, steps, options);
  std::visit([&](const auto& l) { counter.count(l); }, layer);
  return std::move(counter).done();
}

LayerWork training_work(const Layer& layer, std::int64_t batch, std::int64_t steps, const WorkOptions& options) {
  LayerWork work = forward_work(layer, batch, steps, options);
  const std::size_t forward = work.kernels.size();
  for (std::size_t i = 0; i < forward; ++i) {
    KernelWork back = work.kernels[i];
    back.name = "backward of " + back.name;
    back.launches *= 2;
    for (double KernelWork::* what :
         {&KernelWork::flops, &KernelWork::executed_flops, &KernelWork::specials, &KernelWork::bytes})
      back.*what *= 2;
    work.kernels.push_back(std::move(back));
  }
  return work;
}

MemoryNeed memory_need(const Layer& layer, std::int64_t batch, std::int64_t steps, bool training) {
  const LayerSizes size = sizes(layer);
  MemoryNeed need;
  need.parameter_bytes = 4 * count_parameters(layer).total;
  std::int64_t widest = 2 * std::int64_t{size.state};
  if (const auto* cfc = std::get_if<CfcLayer>(&layer))
    for (const int width : cfc->backbone) widest = std::max(widest, std::int64_t{2} * width);
  const std::int64_t states = (size.mixed_memory ? 2 : 1) * std::int64_t{size.state};
  const std::int64_t outputs = (size.return_sequences ? steps : 1) * std::int64_t{size.outputs};
  need.activation_bytes = 4 * batch * (steps * std::int64_t{size.inputs} + outputs + 2 * states + widest);
  if (training) {
    need.parameter_bytes += 3 * 4 * count_parameters(layer).trainable;
    need.activation_bytes += 4 * batch * steps * states;
  }
  return need;
}

}  // namespace tessera::ncp
