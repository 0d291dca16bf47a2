#pragma once

// What the card's arithmetic makes of a network, measured: outputs and every result against float32.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/plan/precision.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tensix {

// A network of the same operators as the planned one, perhaps of a smaller batch, and what it should give.
struct Calibration {
  std::shared_ptr<const tensix::LoweredGraph> network;
  std::vector<Array> inputs;
  std::vector<Array> outputs;           // in float32
  std::map<std::string, Array> values;  // results inside, by the names of values, as far as they are known
};

// Random inputs, and the definitions of operators for what they should give: exact, and slow.
TSR_API Calibration calibration_of(const tensix::LoweredGraph& network, std::uint64_t seed = 1);

// Pearson's; 1 where neither varies and they are equal.
TSR_API double correlation(const Array& a, const Array& b);

struct NodeAccuracy {
  double pcc = 1;                            // of the output that has least
  std::vector<std::optional<double>> nodes;  // of each result
};

// One precision for each node; `pins` come before it. `pulse` is called after each node: what it throws ends this.
TSR_API NodeAccuracy measure(const Calibration& calibration, const Machine& machine, std::int64_t l1_small_bytes,
                             const std::vector<StepPrecision>& precisions, const std::vector<tensix::LayerConfig>& pins,
                             const std::function<void()>& pulse = {});

// From fastest to most exact.
TSR_API const std::vector<StepPrecision>& precision_levels();

struct Budgeted {
  std::vector<std::size_t> levels;  // of precision_levels(), one for each node
  NodeAccuracy accuracy;
};
// What leaves the network goes to the host as bfloat16 at least: fewer bits would save it nothing.
TSR_API std::vector<StepPrecision> precisions_of(const tensix::LoweredGraph& network,
                                                 const std::vector<std::size_t>& levels);

// One level up where results lose most for the time that more exactness takes, on as many nodes as should do for
// `min_pcc`. An Error with the `best` that was found if everything is as exact as can be already.
TSR_API void raise_precisions(const tensix::LoweredGraph& network, const TensixSpec& card, const NodeAccuracy& accuracy,
                              double min_pcc, double best, std::vector<std::size_t>& levels);

// The cheapest precisions that hold the budget, found step by step with raise_precisions. `late`: asked after
// every node of every step; true between steps: everything is made as exact as can be.
TSR_API Budgeted hold_budget(const Calibration& calibration, const Machine& machine, std::int64_t l1_small_bytes,
                             const std::vector<tensix::LayerConfig>& pins, double min_pcc,
                             const std::function<bool()>& late);

// What plans of one model in several batches have in common: kept from the first, used by the others.
struct KeptAccuracy {
  std::map<std::int64_t, Calibration> calibrations;  // by images
  std::optional<Budgeted> budgeted;
};

}  // namespace tessera::tensix
