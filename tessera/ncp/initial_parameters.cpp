// How parameters begin: upstream's distributions.

#include "tessera/core/error.h"
#include "tessera/ncp/layer.h"
#include "tessera/ncp/random_generator.h"

#include <cmath>
#include <numbers>
#include <span>

namespace tessera::ncp {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  double uniform(double low, double high) { return low + (high - low) * unit(); }
  double normal() {
    return std::sqrt(-2 * std::log(1 - unit())) * std::cos(2 * std::numbers::pi * unit());  // Box and Muller
  }
  void uniform(std::span<double> out, double low, double high) {
    for (double& value : out) value = uniform(low, high);
  }
  void xavier(Parameter<double>& p) {
    const double bound = std::sqrt(6.0 / static_cast<double>(p.info.shape[0] + p.info.shape[1]));
    uniform(p.values, -bound, bound);
  }
  // Columns of random directions made orthogonal one by one (modified Gram and Schmidt, twice for accuracy).
  void orthogonal(Parameter<double>& p) {
    const auto rows = static_cast<std::size_t>(p.info.shape[0]), columns = static_cast<std::size_t>(p.info.shape[1]);
    for (double& value : p.values) value = normal();
    for (std::size_t c = 0; c < columns; ++c) {
      for (int pass = 0; pass < 2; ++pass)
        for (std::size_t before = 0; before < c; ++before) {
          double dot = 0;
          for (std::size_t r = 0; r < rows; ++r) dot += p.values[r * columns + c] * p.values[r * columns + before];
          for (std::size_t r = 0; r < rows; ++r) p.values[r * columns + c] -= dot * p.values[r * columns + before];
        }
      double square = 0;
      for (std::size_t r = 0; r < rows; ++r) square += p.values[r * columns + c] * p.values[r * columns + c];
      for (std::size_t r = 0; r < rows; ++r) p.values[r * columns + c] /= std::sqrt(square);
    }
  }

 private:
  double unit() { return static_cast<double>(random_.next_u64() >> 11) * 0x1p-53; }

  RandomGenerator random_;
};

struct Range {
  const char* suffix;
  double low, high;
};
constexpr Range kLtcRanges[] = {{".gleak", 0.001, 1},     {".vleak", -0.2, 0.2},    {".cm", 0.4, 0.6},
                                {".w", 0.001, 1},         {".sigma", 3, 8},         {".mu", 0.3, 0.8},
                                {".sensory_w", 0.001, 1}, {".sensory_sigma", 3, 8}, {".sensory_mu", 0.3, 0.8}};

void from_matrix(Parameter<double>& p, const std::vector<std::int8_t>& matrix, bool absolute) {
  for (std::size_t i = 0; i < matrix.size(); ++i) p.values[i] = absolute ? std::abs(matrix[i]) : matrix[i];
}

// [neuron][inputs of the layer, then its own state]: what the wiring says, and all of the layer's own state.
void cfc_mask(Parameter<double>& p, const Wiring& wiring, std::size_t layer) {
  const std::vector<int>& neurons = wiring.layers[layer].neurons;
  const auto width = static_cast<std::size_t>(p.info.shape[1]);
  const std::size_t inputs = width - neurons.size();
  for (std::size_t n = 0; n < neurons.size(); ++n)
    for (std::size_t i = 0; i < width; ++i) {
      double& value = p.values[n * width + i];
      if (i >= inputs)
        value = 1;
      else if (layer == 0)
        value = std::abs(wiring.sensory_polarity(static_cast<int>(i), neurons[n]));
      else
        value = std::abs(wiring.polarity(wiring.layers[layer - 1].neurons[i], neurons[n]));
    }
}

void start_memory_or_projection(Parameter<double>& p, Draw& draw, const Parameter<double>* weight) {
  const std::string& name = p.info.name;
  if (name == "lstm.recurrent_map.weight") return draw.orthogonal(p);
  if (name == "lstm.input_map.weight") return draw.xavier(p);
  if (name == "lstm.input_map.bias") return draw.uniform(p.values, -0.1, 0.1);
  // A linear layer as PyTorch begins it: both uniform by the number of inputs.
  const Parameter<double>& of = name.ends_with(".bias") ? *weight : p;
  const double bound = 1 / std::sqrt(static_cast<double>(of.info.shape[1]));
  draw.uniform(p.values, -bound, bound);
}

void start(const CfcLayer& layer, ParameterSet<double>& set, Draw& draw) {
  std::size_t mask = 0;
  for (std::size_t i = 0; i < set.items.size(); ++i) {
    Parameter<double>& p = set.items[i];
    const std::string& name = p.info.name;
    const Parameter<double>* before = i > 0 ? &set.items[i - 1] : nullptr;
    const bool constant = rules(layer.dialect).constant_pure_start;
    if (name.starts_with("lstm.") || name.starts_with("fc."))
      start_memory_or_projection(p, draw, before);
    else if (name.ends_with("sparsity_mask"))
      cfc_mask(p, *layer.wiring, mask++);
    else if (constant && (name.ends_with(".w_tau") || name.ends_with(".A")))
      p.values.assign(p.values.size(), name.ends_with(".A") ? 1 : 0);
    else if (p.info.shape.size() == 2)
      draw.xavier(p);  // upstream's rule for everything with two dimensions, w_tau and A of the pure mode included
    else
      start_memory_or_projection(p, draw, before);
  }
}

void start(const LtcLayer& layer, ParameterSet<double>& set, Draw& draw) {
  for (std::size_t i = 0; i < set.items.size(); ++i) {
    Parameter<double>& p = set.items[i];
    const std::string& name = p.info.name;
    const auto is = [&](const char* suffix) { return name == std::string("rnn_cell") + suffix; };
    if (name.starts_with("lstm.")) start_memory_or_projection(p, draw, i > 0 ? &set.items[i - 1] : nullptr);
    for (const Range& range : kLtcRanges)
      if (is(range.suffix)) draw.uniform(p.values, range.low, range.high);
    if (is(".erev")) from_matrix(p, layer.wiring.adjacency, false);
    if (is(".sensory_erev")) from_matrix(p, layer.wiring.sensory, false);
    if (is(".sparsity_mask")) from_matrix(p, layer.wiring.adjacency, true);
    if (is(".sensory_sparsity_mask")) from_matrix(p, layer.wiring.sensory, true);
    if (is(".input_w") || is(".output_w")) p.values.assign(p.values.size(), 1);
  }
}

}  // namespace

ParameterSet<double> initial_parameters(const Layer& layer, std::uint64_t seed) {
  ParameterSet<double> set = zeros<double>(parameter_list(layer));
  Draw draw(seed);
  std::visit([&](const auto& l) { start(l, set, draw); }, layer);
  return set;
}

}  // namespace tessera::ncp
