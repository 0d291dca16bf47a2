#include "tessera/target/plan_request.h"

#include "tessera/core/error.h"

#include <algorithm>

namespace tessera {

std::string_view name(BatchGoal goal) { return goal == BatchGoal::latency ? "latency" : "throughput"; }

std::string_view name(PlanField field) {
  switch (field) {
    case PlanField::objective: return "--objective";
    case PlanField::min_pcc: return "--min-pcc";
    case PlanField::max_reshards: return "--max-reshards";
    case PlanField::pins: return "--pin";
    case PlanField::budget: return "--budget";
    case PlanField::partial: return "--partial";
    case PlanField::mesh: return "--mesh";
    case PlanField::command_queues: return "--cq";
    case PlanField::no_trace: return "--no-trace";
    case PlanField::l1_small: return "--l1-small";
    case PlanField::batches: return "--batches";
    case PlanField::goal: return "--goal";
    case PlanField::max_latency: return "--max-latency";
    case PlanField::report: return "--html";
    case PlanField::threads: return "--threads";
    case PlanField::isa: return "--isa";
    case PlanField::storage: return "--dtype";
    case PlanField::weights: return "--weights";
    case PlanField::exact: return "--exact";
    case PlanField::passes_off: return "--without-pass";
    case PlanField::kernels_off: return "--without-kernel";
    case PlanField::kernels: return "--plan";
    case PlanField::memory_limit: return "--memory-limit";
  }
  return "";
}

std::vector<PlanField> fields_of(const PlanRequest& r) {
  std::vector<PlanField> fields;
  const auto add = [&](PlanField field, bool set) {
    if (set) fields.push_back(field);
  };
  add(PlanField::objective, r.objective.has_value());
  add(PlanField::min_pcc, r.min_pcc.has_value());
  add(PlanField::max_reshards, r.max_reshards.has_value());
  add(PlanField::pins, !r.pins.empty());
  add(PlanField::budget, r.budget_s.has_value());
  add(PlanField::partial, r.partial);
  add(PlanField::mesh, r.mesh.has_value());
  add(PlanField::command_queues, r.command_queues.has_value());
  add(PlanField::no_trace, r.no_trace);
  add(PlanField::l1_small, r.l1_small_bytes.has_value());
  add(PlanField::batches, r.batches.has_value());
  add(PlanField::goal, r.goal.has_value());
  add(PlanField::max_latency, r.max_latency_s.has_value());
  add(PlanField::report, r.report);
  add(PlanField::threads, r.threads.has_value());
  add(PlanField::isa, r.isa.has_value());
  add(PlanField::storage, r.storage.has_value());
  add(PlanField::weights, r.weights.has_value());
  add(PlanField::exact, r.exact);
  add(PlanField::passes_off, !r.passes_off.empty());
  add(PlanField::kernels_off, !r.kernels_off.empty());
  add(PlanField::kernels, !r.kernels.empty());
  add(PlanField::memory_limit, r.memory_limit_bytes.has_value());
  return fields;
}

void check_fields(const PlanRequest& request, std::initializer_list<PlanField> honoured, std::string_view why) {
  for (const PlanField field : fields_of(request))
    check(std::find(honoured.begin(), honoured.end(), field) != honoured.end(), Code::invalid_argument, "{} {}",
          name(field), why);
}

}  // namespace tessera
