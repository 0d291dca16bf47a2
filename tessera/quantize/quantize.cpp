#include "tessera/quantize/quantize.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/graph/graph.h"
#include "tessera/quantize/calibration.h"
#include "tessera/quantize/float_form.h"
#include "tessera/quantize/qdq_graph.h"
#include "tessera/quantize/quantized_accuracy.h"
#include "tessera/quantize/selection.h"
#include "tessera/session/session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace tessera {
namespace {

using Samples = std::span<const std::vector<Array>>;

constexpr std::size_t kWeighed = 8;   // samples that a single layer is weighed with
constexpr std::size_t kCompared = 4;  // samples that every value is compared for
constexpr const char* kByName = "excluded by name";
constexpr const char* kForAccuracy = "kept in float32 to reach the accuracy target";

class Quantizer {
 public:
  Quantizer(const Network& network, Samples samples, const QuantizeOptions& options)
      : graph_(float_form(network.graph())), samples_(samples), options_(options), by_value_(watching()) {
    check_samples();
    check_options();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      if (is_product(graph_.nodes[n].op)) products_.push_back(n);
  }

  QuantizedNetwork run() {
    selection_ = select({});
    check(std::ranges::any_of(selection_.bytes, [](bool bytes) { return bytes; }), Code::invalid_argument,
          Hint{"only convolutions and products with constant weights are quantised"},
          "nothing of the network '{}' can compute with bytes{}", graph_.name, why_nothing());
    calibrate();
    const Session plain(graph_, session_options());
    for (const std::vector<Array>& sample : samples_) expected_.push_back(plain.run(sample));
    Graph made = with_bytes(graph_, selection_, forms_, options_.per_channel);
    QuantizedAccuracy accuracy = accuracy_of(made, samples_.size());
    bool kept = keeps(accuracy);
    if (!kept) {
      weigh_layers();
      leave_out_what_costs_most();
      selection_ = select(left_out_);
      made = with_bytes(graph_, selection_, forms_, options_.per_channel);
      accuracy = accuracy_of(made, samples_.size());
      kept = keeps(accuracy);
    }
    std::vector<QuantizedLayer> layers = layers_of(made);
    QuantizedNetwork out{Network(std::move(made)), std::move(layers), accuracy, 0, 0, kept};
    for (const Value& value : graph_.values) out.weight_bytes_before += bytes_of(value);
    for (const Value& value : out.network.graph().values) out.weight_bytes += bytes_of(value);
    return out;
  }

 private:
  static std::size_t bytes_of(const Value& value) { return value.constant ? value.constant->bytes().size() : 0; }

  SessionOptions session_options() const {
    SessionOptions options;
    options.threads = options_.threads;
    return options;
  }
  SessionOptions watching_options() const {
    SessionOptions options = session_options();
    options.passes_off = passes_that_fuse();
    return options;
  }
  Session watching() const { return Session(graph_, watching_options()); }

  void check_samples() const {
    check(!samples_.empty(), Code::invalid_argument, "there are no samples to take ranges from");
    for (const std::vector<Array>& sample : samples_)
      check(sample.size() == graph_.inputs.size(), Code::invalid_argument,
            "a sample has {} inputs, and the network takes {}", sample.size(), graph_.inputs.size());
  }

  void check_options() const {
    const auto is_fraction = [](const std::optional<double>& value) { return !value || (*value >= 0 && *value <= 1); };
    check(is_fraction(options_.min_pcc) && is_fraction(options_.max_drop), Code::invalid_argument,
          "min_pcc is {} and max_drop is {}; both are from 0 to 1", options_.min_pcc.value_or(0),
          options_.max_drop.value_or(0));
    std::vector<std::string> names;
    for (const Node& node : graph_.nodes) {
      names.push_back(node.name);
      names.emplace_back(name(node.op));
    }
    for (const std::string& excluded : options_.exclude)
      check(std::ranges::find(names, excluded) != names.end(), Code::not_found,
            Hint{"'tessera profile' lists the nodes"}, "there is no node and no operator '{}' to leave out{}", excluded,
            did_you_mean(excluded, names));
  }

  bool is_excluded(const Node& node) const {
    return std::ranges::any_of(options_.exclude, [&](const std::string& excluded) {
      return excluded == node.name || excluded == name(node.op);
    });
  }

  Selection select(const std::set<std::size_t>& left_out) const {
    return select_bytes(graph_, [&](std::size_t n) -> std::optional<std::string> {
      if (is_excluded(graph_.nodes[n])) return kByName;
      if (left_out.contains(n)) return kForAccuracy;
      return std::nullopt;
    });
  }

  std::string why_nothing() const {
    for (const std::size_t n : products_)
      if (!selection_.nodes[n].reason.empty())
        return fmt::format(": '{}': {}", graph_.nodes[n].name, selection_.nodes[n].reason);
    return "";
  }

  void calibrate() {
    // A move has the scale of what it reads: only values with a scale of their own are looked at.
    std::vector<bool> wanted(graph_.values.size());
    for (std::size_t id = 0; id < wanted.size(); ++id)
      if (selection_.bytes[id]) wanted[static_cast<std::size_t>(selection_.scale_of[id])] = true;
    // With layers left out, a move may read what is no longer bytes, and needs a scale of its own.
    for (std::size_t id = 0; id < wanted.size(); ++id) wanted[id] = wanted[id] || selection_.bytes[id];
    const Observe observe = [&](const std::vector<Array>& inputs, const auto& each) {
      for (std::size_t i = 0; i < inputs.size(); ++i) each(graph_.value(graph_.inputs[i]).name, inputs[i]);
      by_value_.observe(inputs, each);
    };
    for (const ValueRange& range : calibrated_ranges(graph_, wanted, samples_, observe, options_))
      forms_.push_back(byte_form(range));
  }

  QuantizedAccuracy accuracy_of(const Graph& graph, std::size_t samples) const {
    const Session session(graph, session_options());
    AccuracySum sum;
    for (std::size_t i = 0; i < samples; ++i) sum.add(session.run(samples_[i]), expected_[i]);
    return sum.accuracy();
  }

  bool keeps(const QuantizedAccuracy& accuracy) const {
    if (options_.min_pcc && accuracy.pcc && *accuracy.pcc < *options_.min_pcc) return false;
    return !options_.max_drop || !accuracy.drop || *accuracy.drop <= *options_.max_drop;
  }

  // How far the outputs move when one layer alone computes with bytes.
  void weigh_layers() {
    std::size_t done = 0;
    for (const std::size_t n : products_) {
      if (selection_.nodes[n].role != ByteRole::product) continue;
      if (options_.progress) options_.progress("layers", done++, products_.size());
      std::set<std::size_t> others(products_.begin(), products_.end());
      others.erase(n);
      const Graph alone = with_bytes(graph_, select(others), forms_, options_.per_channel);
      alone_[n] = accuracy_of(alone, std::min(kWeighed, samples_.size())).pcc.value_or(1);
    }
  }

  // The fewest of them, the costliest first, that have to stay float32.
  void leave_out_what_costs_most() {
    std::vector<std::size_t> order;
    for (const auto& [n, pcc] : alone_) order.push_back(n);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return alone_[a] < alone_[b]; });
    const auto first_of = [&](std::size_t count) {
      return std::set<std::size_t>(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
    };
    std::size_t too_few = 0, enough = order.size() - 1;  // one layer stays, or it would be no network of bytes
    while (enough - too_few > 1) {
      const std::size_t middle = (too_few + enough) / 2;
      if (options_.progress) options_.progress("layers left out", middle, order.size());
      const Graph attempt = with_bytes(graph_, select(first_of(middle)), forms_, options_.per_channel);
      (keeps(accuracy_of(attempt, samples_.size())) ? enough : too_few) = middle;
    }
    left_out_ = first_of(enough);
  }

  // The power of each value over that of its error, in decibels.
  std::map<std::string, double> signal_db(const Graph& made) const {
    struct Power {
      double signal = 0, error = 0;
    };
    std::map<std::string, Power> powers;
    std::set<std::string> wanted;
    for (const std::size_t n : products_) wanted.insert(result_name(n));
    const Session session(made, watching_options());
    for (std::size_t i = 0; i < std::min(kCompared, samples_.size()); ++i) {
      std::map<std::string, Array> values;
      by_value_.observe(samples_[i], [&](const std::string& name, const Array& array) {
        if (wanted.contains(name)) values.emplace(name, array);
      });
      session.observe(samples_[i], [&](const std::string& name, const Array& array) {
        const auto there = values.find(name);
        if (there == values.end() || there->second.shape() != array.shape()) return;
        const std::vector<double> found = array.to_double(), expected = there->second.to_double();
        Power& power = powers[name];
        for (std::size_t k = 0; k < found.size(); ++k) {
          power.signal += expected[k] * expected[k];
          power.error += (found[k] - expected[k]) * (found[k] - expected[k]);
        }
      });
    }
    std::map<std::string, double> out;
    for (const auto& [name, power] : powers)
      if (power.signal > 0)
        out[name] =
            power.error > 0 ? 10 * std::log10(power.signal / power.error) : std::numeric_limits<double>::infinity();
    return out;
  }

  // The value that a product's bytes are, or would be.
  const std::string& result_name(std::size_t n) const {
    const ValueId id = selection_.nodes[n].result;
    return graph_.value(id == kNoValue ? graph_.nodes[n].outputs[0] : id).name;
  }

  std::vector<QuantizedLayer> layers_of(const Graph& made) const {
    const std::map<std::string, double> signals = signal_db(made);
    std::vector<QuantizedLayer> layers;
    for (const std::size_t n : products_) {
      const ByteNode& chosen = selection_.nodes[n];
      QuantizedLayer layer{graph_.nodes[n].name,
                           std::string(name(graph_.nodes[n].op)),
                           chosen.role == ByteRole::product,
                           chosen.reason,
                           0,
                           0,
                           {},
                           {}};
      if (layer.bytes) {
        const ByteForm& form = forms_[static_cast<std::size_t>(chosen.result)];
        layer.low = form.zero == 0 ? 0 : -static_cast<double>(form.scale) * form.zero;
        layer.high = static_cast<double>(form.scale) * (255 - form.zero);
      }
      if (const auto found = signals.find(result_name(n)); found != signals.end()) layer.signal_db = found->second;
      if (const auto found = alone_.find(n); found != alone_.end()) layer.pcc_alone = found->second;
      layers.push_back(std::move(layer));
    }
    return layers;
  }

  const Graph graph_;
  const Samples samples_;
  const QuantizeOptions& options_;
  const Session by_value_;  // makes every value of the graph
  std::vector<std::size_t> products_;
  Selection selection_;
  std::vector<ByteForm> forms_;  // by value
  std::vector<std::vector<Array>> expected_;
  std::map<std::size_t, double> alone_;  // by node
  std::set<std::size_t> left_out_;
};

}  // namespace

QuantizedNetwork quantize(const Network& network, std::span<const std::vector<Array>> samples,
                          const QuantizeOptions& options) {
  return Quantizer(network, samples, options).run();
}

}  // namespace tessera
