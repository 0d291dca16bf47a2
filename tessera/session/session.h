#pragma once

// A network on this machine's CPU:
//
//   Session session = load("resnet50.onnx");
//   std::vector<Array> y = session.run({x});
//
// Loading reads, optimises and, once the shapes of the inputs are known, plans and packs; after that a run only
// computes. A session may be used from several threads at once.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/graph/graph.h"
#include "tessera/io/onnx/import.h"
#include "tessera/kernel_plan/plan.h"
#include "tessera/session/options.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

// An input or output: its name, and its type as far as the model tells.
struct Port {
  std::string name;
  TensorType type;
};

// What one step of a run did. All times are measured.
struct ProfiledStep {
  enum class Kind : std::uint8_t {
    kernel,
    definition,  // plain loops: no fast kernel takes the node
    conversion,  // from one order of axes to another
    view,        // the bytes of an input: nothing is run
    unplanned,   // the shape of its result depends on values: runs outside of the plan
  };
  Kind kind = Kind::kernel;
  std::string name;                       // "conv1 (Conv)"
  std::string node;                       // empty for a conversion between orders
  std::string op;                         // "Conv+relu"
  std::string kernel;                     // "conv2d_f32_6x64_avx512"
  std::string shape;                      // of the first output
  bool in_place = false;                  // what it would copy lies there already: nothing is run
  double seconds = 0;                     // median over the runs
  std::int64_t begin_ns = 0, end_ns = 0;  // in the last run, from its start
  Work work;
};
struct Profile {
  std::vector<ProfiledStep> steps;
  double seconds = 0;      // of a whole run, median
  double min_seconds = 0;  // the fastest
  int runs = 0;
};

// What planning came to, for one set of shapes.
struct PlanSummary {
  std::size_t steps = 0;
  std::size_t stages = 1;
  std::int64_t arena_bytes = 0;  // the most that one stage needs for values
  std::int64_t arena_lower_bound_bytes = 0;
  std::int64_t weight_bytes = 0;  // packed
  double flops = 0;
};

class TSR_API Session {
 public:
  explicit Session(Graph graph, SessionOptions options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  const SessionOptions& options() const;
  int threads() const;
  Isa isa() const;

  // The outputs in order. The first run with new shapes plans for them.
  std::vector<Array> run(const std::vector<Array>& inputs) const;
  // By name.
  std::map<std::string, Array> run(const std::map<std::string, Array>& inputs) const;

  // Plans for inputs of these shapes now. (Values count only where shapes depend on them.)
  PlanSummary prepare(const std::vector<Array>& inputs) const;
  // Every plan that these inputs are run by, first to last.
  std::vector<std::shared_ptr<const Plan>> plans(const std::vector<Array>& inputs) const;
  // Runs `runs` times after `warm_up` and takes the time of every step.
  Profile profile(const std::vector<Array>& inputs, int runs = 10, int warm_up = 2) const;
  // Runs once and hands over each value that a node of a plan makes, row_major, by its name.
  void observe(const std::vector<Array>& inputs,
               const std::function<void(const std::string& value, const Array&)>& observer) const;
  // How many plans have been made since the session began: a bounded number of them is kept.
  std::size_t plans_made() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A session of an ONNX file. Shapes that the model leaves open may be given here or come with the first run.
TSR_API Session load(const std::filesystem::path& model, const SessionOptions& options = {},
                     const ImportOptions& import = {});

}  // namespace tessera
