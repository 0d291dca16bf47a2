#pragma once

// A network planned for a machine, and simulated on one:
//
//   const PlannedNetwork plan = plan_network(zoo_network("resnet50"), "wormhole_n150");
//   plan.save("plan.json");
//   plan.simulate().seconds();
//
// Times of a plan are predicted, those of a simulation simulated; neither is measured.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/session/network.h"
#include "tessera/target/plan_request.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// How far planning or simulating is; `stop` is asked now and then, and ends a search with the best plan so far (an
// Error if there is none yet).
struct PlanningProgress {
  std::function<void(std::size_t done, std::size_t all, const std::string& what)> on_progress = {};
  std::function<bool()> stop = {};
};

struct PlannedStep {
  std::string node, op, config;
  double time_s = 0;
  std::string bound;  // the resource that it waits for
  std::string why;
};

// Of a whole batch.
struct PlannedTimes {
  std::int64_t frames = 1;
  double device_s = 0;
  double end_to_end_s = 0;  // with the host; 0: not known
};

struct SimulationOptions {
  std::vector<Array> inputs = {};  // empty: random ones
  bool values = true;              // false: memory and time only, much faster
};

// What a simulated machine did.
class TSR_API SimulatedNetwork {
 public:
  struct Impl;
  explicit SimulatedNetwork(std::shared_ptr<const Impl> impl);

  double seconds() const;                     // of a batch on the device
  const std::vector<Array>& outputs() const;  // empty without values
  std::string text() const;                   // every step, as tables
  std::string json() const;
  void save_html(const std::filesystem::path& file) const;   // memory over time, as a page
  void save_svg(const std::filesystem::path& file) const;    // the same, as a picture
  void save_trace(const std::filesystem::path& file) const;  // host, queues and cores over time, for trace viewers

 private:
  std::shared_ptr<const Impl> impl_;
};

// Copies share the plan; it never changes.
class TSR_API PlannedNetwork {
 public:
  struct Impl;
  explicit PlannedNetwork(std::shared_ptr<const Impl> impl);

  const Network& network() const;
  const std::string& machine() const;
  std::int64_t batch() const;
  PlannedTimes times() const;
  std::vector<PlannedStep> steps() const;
  std::string text() const;  // every step and a summary, as tables
  std::string json() const;  // as a plan file has it
  std::string explain(const std::string& node) const;

  void save(const std::filesystem::path& file) const;         // a plan file, which the command reads too
  void save_report(const std::filesystem::path& file) const;  // .html, .md, .csv, .json or .txt, as the name says
  SimulatedNetwork simulate(const SimulationOptions& options = {}, const PlanningProgress& progress = {}) const;

 private:
  std::shared_ptr<const Impl> impl_;
};

// `device`: "cpu", a machine by name, or a machine file. `model`: what the plan calls the network, so that it is found
// again (its file, or its name in the zoo); empty: by the network's own name.
TSR_API PlannedNetwork plan_network(const Network& network, std::string_view device, const PlanRequest& request = {},
                                    const PlanningProgress& progress = {}, const std::string& model = {});
// A plan file, for the network that it was made for.
TSR_API PlannedNetwork load_plan(const std::filesystem::path& file, const Network& network);

// Without a plan: every operator as it chooses for itself.
TSR_API SimulatedNetwork simulate_network(const Network& network, std::string_view device,
                                          const SimulationOptions& options = {}, const PlanningProgress& progress = {});

}  // namespace tessera
