#pragma once

// What every machine family answers: plan a network, run or simulate it, explain and compare plans, write them as code.
// Commands, sessions and bindings speak to this and find targets through targets/registry.h.

#include "tessera/core/array.h"
#include "tessera/core/error.h"
#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"
#include "tessera/graph/graph.h"
#include "tessera/machine/machine.h"
#include "tessera/target/network_plan.h"
#include "tessera/target/plan_request.h"
#include "tessera/target/planning_stopped.h"
#include "tessera/target/run_trace.h"
#include "tessera/target/script.h"
#include "tessera/target/simulation.h"
#include "tessera/target/view.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// A network and what it is run with.
struct LoadedNetwork {
  std::string model;  // as it was asked for: a zoo name or a file
  std::string name;   // without folder and ending
  Graph graph;
  std::vector<Array> inputs = {};
};

// Frames of a batch: the first extent of the first input.
TSR_API std::int64_t batch_of(const Graph& graph);

// What plans of one model in several batches have in common. A target derives from it.
struct PlanningState {
  virtual ~PlanningState() = default;
};

struct PlanHooks {
  OnProgress on_progress = {};
  // The network with so many images at least, for measuring accuracy; none: on random inputs.
  std::function<LoadedNetwork(std::int64_t images)> sample = {};
  Reference reference = {};
  std::shared_ptr<PlanningState> state = {};  // from Target::planning_state()
  // Asked now and then; true: the best plan so far, or PlanningStopped if there is none.
  std::function<bool()> stop = {};
  // A quick plan is made first, so that there is one early on to stop with.
  bool quick_first = false;
  // As `stop`, while everything is weighed: for the quick plan there is always time.
  std::function<bool()> out_of_time = {};
  // Several processes that plan the same together: `share` computes pieces [0, count), each on one of them, and gives
  // every one all results; `agree` gives all the answer of the first; `same` is an Error unless all have the same.
  std::function<std::vector<std::vector<std::byte>>(std::size_t count,
                                                    FunctionRef<std::vector<std::byte>(std::size_t)> piece)>
      share = {};
  std::function<bool(bool)> agree = {};
  std::function<void(std::string_view what, const std::string& digest)> same = {};
};

// A language that a target writes networks in.
struct Language {
  std::string_view name;         // "ttnn"
  bool follows_plan = false;     // otherwise written from the network itself
  std::string_view needs = {};   // "writes a plan for a card": what it takes, for a message
  std::string_view device = {};  // one that would do
};

struct EmitRequest {
  std::string_view language;
  std::filesystem::path script;      // its weights lie beside it
  std::string model;                 // a file or a zoo name
  const Machine* machine = nullptr;  // none: not said
  std::function<LoadedNetwork()> load = {};
  OnProgress on_progress = {};
};

struct Emitted {
  emit::Script script;
  View view = {};  // what was written of the network, if that is not all
};

// Arithmetic to hold against float32: empty lists are all that the machine has.
struct ArithmeticRequest {
  // "bfloat8_b/bfloat16": weights and activations.
  std::vector<std::string> types = {}, fidelities = {}, accumulations = {};
  bool trained_statistics = false;  // weights with the statistics of trained ones
};

struct NamedPlan {
  std::string file;
  const NetworkPlan& plan;
};

class TSR_API Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  virtual std::string_view family() const = 0;  // of machine files

  // An Error for what cannot be honoured, before any time is spent.
  virtual void check_request(const Machine& machine, const PlanRequest& request) const = 0;
  virtual std::unique_ptr<NetworkPlan> plan(LoadedNetwork network, const Machine& machine, const PlanRequest& request,
                                            const PlanHooks& hooks = {}) const = 0;
  virtual std::shared_ptr<PlanningState> planning_state() const { return nullptr; }

  // The target's part of a plan file; what NetworkPlan::body() wrote.
  virtual std::unique_ptr<NetworkPlan> read(std::string_view body) const = 0;
  // A plan holds for one machine only: an Error names what has changed since.
  virtual void check_machine(const NetworkPlan& plan, const Machine& machine) const = 0;

  virtual RunResult run(const NetworkPlan& plan, const Machine& machine, const std::vector<Array>& inputs,
                        const OnProgress& on_progress = {}) const = 0;
  // With a plan the network is the one that is attached to it.
  virtual std::unique_ptr<SimulatedRun> simulate(const LoadedNetwork& network, const NetworkPlan* plan,
                                                 const Machine& machine, const SimulateRequest& request,
                                                 const SimulateHooks& hooks) const = 0;

  virtual std::span<const Language> languages() const { return {}; }
  virtual emit::Script emit(const NetworkPlan& plan, std::string_view language, const std::string& weights_file) const;
  virtual Emitted emit(const EmitRequest& request) const;

  // A report of the plan in the form that the file's name says; the check is for before there is a plan.
  virtual void check_report(const std::filesystem::path& file) const;
  virtual void write_reports(const NetworkPlan& plan, const Machine& machine,
                             std::span<const std::filesystem::path> files) const;
  // What guides ask of a finished plan; `failed` of the answers are no.
  struct Checked {
    View view = {};
    std::size_t failed = 0, all = 0;
  };
  virtual Checked check_plan(const NetworkPlan& plan, const std::string& file) const;
  virtual View compare(const std::array<NamedPlan, 2>& plans) const;
  virtual View compare_arithmetic(LoadedNetwork network, const Machine& machine, const ArithmeticRequest& request,
                                  const SimulateHooks& hooks) const;

 protected:
  // "the cpu target has no reports of plans"
  [[noreturn]] void refuse(std::string_view what) const;
};

}  // namespace tessera
