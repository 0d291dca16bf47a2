#pragma once

// A network placed on one machine, whatever the machine: how every step runs, what that takes, and what else was
// weighed. Times are predicted.

#include "tessera/core/export.h"
#include "tessera/core/refusal.h"
#include "tessera/core/table.h"
#include "tessera/graph/graph.h"
#include "tessera/target/plan_request.h"
#include "tessera/target/view.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// What a time was made from.
enum class Basis : std::uint8_t {
  measured,  // on this machine
  fitted,    // over measured times of this kind of work on this machine
  scaled,    // measured on a relative of it and carried over
  assumed,   // nobody has measured such work: prices of its parts
  bound,     // a lower bound
};
TSR_API std::string_view name(Basis basis);

// The resource of the machine that a step waits for, under the name that its target gives it: "math", "DRAM".
struct Bound {
  std::string resource;
  double roof_fraction = 0;  // of the machine's published rates; 0: not known
};

// What else was weighed for a step.
struct Alternative {
  std::string config;
  std::optional<double> time_s = {};  // with the moves it would need; none where it cannot run
  std::optional<Refusal> refusal = {};
  std::int64_t memory_bytes = 0;  // wanted of the memory that limits; 0: not said
  bool chosen = false;            // this is the step itself, as it was weighed against the others
};

struct StepView {
  std::string node, op, config, result, why;
  double time_s = 0;  // without moves
  Basis basis = Basis::assumed;
  Bound bound;
  std::optional<double> read_bytes = {}, written_bytes = {};
  std::int64_t memory_peak_bytes = 0;
  std::optional<double> pcc = {};  // of its result against float32, where it was measured
  std::vector<Alternative> alternatives = {};
};

// A value goes elsewhere, or into another layout, before a step.
struct MoveView {
  std::size_t before_step = 0;
  std::string kind, value, to, why;
  double time_s = 0;
};

// One memory that the plan fills.
struct MemoryUse {
  std::string memory;  // "L1 of a core", "values"
  std::int64_t peak_bytes = 0;
  std::optional<std::int64_t> limit_bytes = {};
};
using PlanMemory = std::vector<MemoryUse>;

// Of a whole batch.
struct PlanTotals {
  std::int64_t frames = 1;  // of all devices together
  double kernels_s = 0;     // steps and moves
  double moves_s = 0;       // of them
  double device_s = 0;      // with the gaps between programs
  double end_to_end_s = 0;  // with the host; 0: not known
  double latency_s = 0;     // from a batch to its results, with the host; 0: not known
};

struct Accuracy {
  std::optional<double> pcc = {};  // of the outputs against float32, where it was measured
};

// The search was stopped when it had weighed so many of all operators: this is the best plan it had by then.
struct SearchStopped {
  std::int64_t weighed = 0, of = 0;
};

class TSR_API NetworkPlan {
 public:
  NetworkPlan() = default;
  NetworkPlan(const NetworkPlan&) = delete;
  NetworkPlan& operator=(const NetworkPlan&) = delete;
  virtual ~NetworkPlan() = default;

  virtual std::string_view family() const = 0;   // of the target that made it
  virtual const std::string& model() const = 0;  // a zoo name or the file's name
  virtual const std::string& machine() const = 0;
  virtual std::string machine_digest() const = 0;  // empty: the plan does not depend on a machine file
  virtual std::string network_digest() const = 0;
  virtual std::vector<std::string> model_inputs() const = 0;  // "x float32[16, 3, 224, 224]"
  virtual PlanRequest request() const = 0;
  virtual std::int64_t batch() const = 0;

  virtual std::vector<StepView> steps() const = 0;
  virtual std::vector<MoveView> moves() const = 0;
  virtual PlanMemory memory() const = 0;
  virtual PlanTotals totals() const = 0;
  virtual Accuracy accuracy() const = 0;
  virtual std::optional<SearchStopped> stopped() const { return std::nullopt; }

  // The steps in the target's own columns, then a summary.
  virtual View shown() const = 0;
  // One row of figures to hold plans of several batches against each other.
  virtual Table figures() const = 0;
  // Why a node runs as it does; an Error with what was perhaps meant if there is none of that name.
  virtual View explain(const std::string& node) const = 0;
  // Everything that the target itself needs to follow the plan: its part of a plan file, a JSON object.
  virtual std::string body() const = 0;

  // The network that the plan is for: its target needs it to run, report or emit a plan that came from a file. An Error
  // if operators or shapes have changed since it was planned.
  virtual void attach(const Graph& graph, const std::string& name) = 0;
};

}  // namespace tessera
