#include "tessera/quantize/calibration.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <unordered_map>

namespace tessera {
namespace {

// Values that are looked at, by name.
class Looked {
 public:
  Looked(const Graph& graph, const std::vector<bool>& wanted) {
    for (std::size_t id = 0; id < wanted.size(); ++id)
      if (wanted[id]) ids_.emplace(graph.values[id].name, id);
  }
  std::optional<std::size_t> operator()(const std::string& name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unordered_map<std::string, std::size_t> ids_;
};

void widen(std::optional<ValueRange>& range, const std::string& name, std::span<const float> values) {
  if (!range) range = ValueRange{};
  for (const float value : values) {
    check(std::isfinite(value), Code::invalid_argument,
          Hint{"look for the node that makes it with 'tessera compare --against reference --bisect'"},
          "'{}' is {} for one of the samples, and has no range", name, value);
    range->low = std::min(range->low, static_cast<double>(value));
    range->high = std::max(range->high, static_cast<double>(value));
  }
}

}  // namespace

std::vector<ValueRange> calibrated_ranges(const Graph& graph, const std::vector<bool>& wanted,
                                          std::span<const std::vector<Array>> samples, const Observe& observe,
                                          const QuantizeOptions& options) {
  const Looked looked(graph, wanted);
  const auto over_samples = [&](std::string_view what, const auto& each) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (options.progress) options.progress(what, i, samples.size());
      observe(samples[i], [&](const std::string& name, const Array& array) {
        if (const auto id = looked(name); id && array.type() == ElementType::float32)
          each(*id, name, array.as<float>());
      });
    }
  };
  std::vector<std::optional<ValueRange>> seen(wanted.size());
  over_samples("ranges", [&](std::size_t id, const std::string& name, std::span<const float> values) {
    widen(seen[id], name, values);
  });
  std::vector<ValueRange> ranges(wanted.size());
  for (std::size_t id = 0; id < wanted.size(); ++id) {
    if (!wanted[id]) continue;
    check(seen[id].has_value(), Code::internal, "no run has made the value '{}'", graph.values[id].name);
    ranges[id] = *seen[id];
  }
  if (options.method == RangeMethod::min_max) return ranges;
  std::vector<std::optional<Histogram>> histograms(wanted.size());
  for (std::size_t id = 0; id < wanted.size(); ++id)
    if (wanted[id]) histograms[id].emplace(ranges[id]);
  over_samples("distributions",
               [&](std::size_t id, const std::string&, std::span<const float> values) { histograms[id]->add(values); });
  for (std::size_t id = 0; id < wanted.size(); ++id)
    if (wanted[id]) ranges[id] = choose_range(*histograms[id], options.method, options.percentile);
  return ranges;
}

}  // namespace tessera
