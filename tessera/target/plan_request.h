#pragma once

// What a plan is asked to be. Each field is for targets that can honour it; a target refuses those that it cannot
// (check_fields), so that nothing is accepted and ignored.

#include "tessera/core/dtype.h"
#include "tessera/core/element_type.h"
#include "tessera/core/export.h"
#include "tessera/core/isa.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class PlanObjective : std::uint8_t {
  device,      // kernels and the gaps between them
  end_to_end,  // with the host's dispatch and transfers
};

// A field of all nodes whose name fits the pattern: "layer3.*:shard=BLOCK".
struct PlanPin {
  std::string nodes, field, value;
};

// Which of several batches is taken.
enum class BatchGoal : std::uint8_t { throughput, latency };
TSR_API std::string_view name(BatchGoal goal);

struct PlanRequest {
  // Of a configuration that is searched for.
  std::optional<PlanObjective> objective = {};
  std::optional<double> min_pcc = {};  // of the outputs against float32
  std::optional<std::int64_t> max_reshards = {};
  std::vector<PlanPin> pins = {};
  std::optional<double> budget_s = {};  // of searching, at most
  bool partial = false;                 // what the machine has no operator for runs on the host
  std::optional<std::int64_t> mesh = {};
  std::optional<int> command_queues = {};
  bool no_trace = false;  // operators are called one by one
  std::optional<std::int64_t> l1_small_bytes = {};
  // Of several plans.
  std::optional<std::vector<std::int64_t>> batches = {};  // empty: found on the way, doubling
  std::optional<BatchGoal> goal = {};
  std::optional<double> max_latency_s = {};
  // Of what is written beside the plan.
  bool report = false;
  // Of kernels on a processor.
  std::optional<int> threads = {};
  std::optional<Isa> isa = {};
  std::optional<ElementType> storage = {};
  std::optional<DType> weights = {};
  bool exact = false;
  std::vector<std::string> passes_off = {}, kernels_off = {};
  std::map<std::string, std::string> kernels = {};  // by node: the kernel it must take
  std::string kernels_are_for = {};                 // network_digest() of the network they were chosen for
  std::optional<std::int64_t> memory_limit_bytes = {};
};

enum class PlanField : std::uint8_t {
  objective,
  min_pcc,
  max_reshards,
  pins,
  budget,
  partial,
  mesh,
  command_queues,
  no_trace,
  l1_small,
  batches,
  goal,
  max_latency,
  report,
  threads,
  isa,
  storage,
  weights,
  exact,
  passes_off,
  kernels_off,
  kernels,
  memory_limit,
};
TSR_API std::string_view name(PlanField field);  // "--min-pcc": as the command line has it

// The fields that were set.
TSR_API std::vector<PlanField> fields_of(const PlanRequest& request);

// An Error for the first field that was set and is not among those: "--pin {why}".
TSR_API void check_fields(const PlanRequest& request, std::initializer_list<PlanField> honoured, std::string_view why);

}  // namespace tessera
