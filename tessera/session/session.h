#pragma once

// A network on this machine's CPU:
//
//   Session session = load("resnet50.onnx");
//   std::vector<Array> y = session.run({x});  // core/array.h
//
// Loading reads, optimises and, once the shapes of the inputs are known, plans and packs; after that a run only
// computes. A session may be used from several threads at once.

#include "tessera/core/export.h"
#include "tessera/core/isa.h"
#include "tessera/session/options.h"
#include "tessera/session/port.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

class Array;
class Network;
struct Graph;
struct ImportOptions;
struct Plan;
struct SessionProfile;  // profile.h

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
  explicit Session(const Network& network, SessionOptions options = {});
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
  SessionProfile profile(const std::vector<Array>& inputs, int runs = 10, int warm_up = 2) const;
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
TSR_API Session load(const std::filesystem::path& model, const SessionOptions& options = {});
TSR_API Session load(const std::filesystem::path& model, const SessionOptions& options, const ImportOptions& import);

}  // namespace tessera
