#pragma once

// A graph that runs for inputs of any shape: a plan is made for each set of shapes it meets, and kept.
//
// What a plan cannot place ahead of time is a node whose result has a shape that only its values tell (NonZero, the
// boxes of a detector, If, Loop). Such a graph runs in stages: all that can be planned, then those nodes, then the rest
// of the graph as an engine of its own.

#include "tessera/graph/graph.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/targets/cpu/plan/options.h"
#include "tessera/targets/cpu/plan/stage.h"
#include "tessera/targets/cpu/program/program.h"

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cpu {

// The graph through the passes that need no shapes, its weights and values in the types that the options say.
Graph prepared(Graph graph, const Options& options);

// How another processor would run it, for inputs of these shapes: a plan that nothing is packed for. An Error if its
// shapes depend on values. `graph` is prepared().
Plan plan_for(const Graph& graph, const std::vector<const Array*>& inputs, const Options& options, Isa isa,
              const CpuSpec& machine);

// What a run did, step by step, when someone asks.
struct StepRecord {
  const Plan* plan = nullptr;  // null: a node that ran outside of any plan
  std::size_t step = 0;
  const Node* node = nullptr;  // null: a conversion
  StepInterval time;
};
struct RunRecord {
  bool steps_too = true;                                                              // times of steps are asked for
  std::function<void(const Plan& plan, std::size_t step, const StepArgs&)> observer;  // if set, sees every step
  std::vector<StepRecord> steps;
  std::vector<std::shared_ptr<const void>> alive;  // what the pointers point into
};

class Engine;

// Memory for runs of one program: as many as have run at once.
class MemoryPool {
 public:
  explicit MemoryPool(const Program& program) : program_(program) {}
  std::unique_ptr<Memory> take();
  void give_back(std::unique_ptr<Memory> memory);

 private:
  const Program& program_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Memory>> free_;
};

// All that is known for one set of input shapes.
struct Stage {
  // Where a value comes from: an input of the engine, an output of the program, or a result of a late node.
  struct Source {
    enum class From { input, program, late } from = From::input;
    std::size_t at = 0;

    bool operator==(const Source&) const = default;
  };

  Graph graph;  // as optimised for these shapes; late nodes refer to it
  std::unique_ptr<Program> program;
  std::unique_ptr<MemoryPool> memory;
  std::vector<std::size_t> program_inputs;  // inputs of the engine that the program takes
  struct Body {
    const Graph* graph = nullptr;  // as the operator has it
    std::unique_ptr<Engine> engine;
    std::vector<std::size_t> inputs;  // of the body that the engine takes; the others are constants in it
  };
  struct Late {
    Node node;
    std::vector<std::optional<Source>> operands;  // none: constant or absent
    std::vector<std::shared_ptr<const Array>> constants;
    std::vector<std::optional<Source>> results;  // where its outputs go
    std::vector<Body> bodies;                    // of If: then, else; of Loop: the body
  };
  std::vector<Late> late;
  std::size_t late_results = 0;
  std::unique_ptr<Engine> rest;
  std::vector<Source> rest_inputs;
  struct Output {
    std::optional<Source> source;  // none: output `rest` of the rest
    std::size_t rest = 0;

    bool operator==(const Output&) const = default;
  };
  std::vector<Output> outputs;
};

// Where each value of a cut graph can be had.
class Sources {
 public:
  // `inputs`: the engine's position of each input of the graph.
  Sources(const Graph& graph, const Cut& cut, const std::vector<std::size_t>& inputs);

  // None for what the rest of the graph makes, and for what nobody asks the planned part for.
  const std::optional<Stage::Source>& of(ValueId id) const { return at_[static_cast<std::size_t>(id)]; }
  const std::vector<ValueId>& wanted() const { return wanted_; }  // of the planned part, in the order of its outputs
  std::size_t late_results() const { return late_results_; }

 private:
  std::vector<std::optional<Stage::Source>> at_;
  std::vector<ValueId> wanted_;
  std::size_t late_results_ = 0;
};

class Engine {
 public:
  // `graph` has been through the passes that need no shapes.
  Engine(Graph graph, const Options& options, std::shared_ptr<WeightCache> weights);

  const Graph& graph() const { return graph_; }
  std::vector<Array> run(const std::vector<const Array*>& inputs, RunRecord* record = nullptr);

  // The stage for these inputs, made if it is not there. Values of inputs count only where shapes depend on them.
  std::shared_ptr<Stage> stage(const std::vector<const Array*>& inputs);
  // Every plan that these inputs are run by, first to last. Plans of later stages are known after a run only.
  std::vector<std::shared_ptr<const Plan>> plans(const std::vector<const Array*>& inputs);
  std::size_t plans_made() const;

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<Stage> stage;
  };

  std::string key_of(const std::vector<const Array*>& inputs) const;
  std::shared_ptr<Stage> make_stage(const std::vector<const Array*>& inputs);
  Stage::Late make_late(const Graph& graph, const Node& node, const Sources& sources) const;
  static std::vector<Array> run_late(Stage::Late& late, const std::vector<const Array*>& operands, RunRecord* record);

  Graph graph_;
  Options options_;
  std::shared_ptr<WeightCache> weights_;
  std::vector<bool> bound_;  // inputs whose values decide shapes: part of the key, constants in the stage
  mutable std::mutex mutex_;
  std::list<Kept> kept_;  // last used first
  std::size_t made_ = 0;
};

}  // namespace tessera::cpu
