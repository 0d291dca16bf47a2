#include "tessera/targets/cpu/plan/engine.h"

#include "tessera/core/error.h"
#include "tessera/core/memory_budget.h"
#include "tessera/core/memory_size.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/ops/control_flow_run.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/kernel_plan/planning_stages.h"
#include "tessera/targets/cpu/plan/host.h"
#include "tessera/targets/cpu/plan/stage.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cpu {

Graph prepared(Graph graph, const Options& options) {
  check_kernels_are_for(graph, options.kernels_are_for);
  run_passes(graph, without(options.passes_off).passes);
  check(options.storage == ElementType::float32 || options.storage == ElementType::bfloat16, Code::unsupported,
        "values can be stored as float32 or bfloat16, not as {}", name(options.storage));
  check(options.weights == DType::float32 || options.storage == ElementType::float32, Code::unsupported,
        "weights can be kept as {} where values are float32, not {}", name(options.weights), name(options.storage));
  if (options.weights != DType::float32) round_weights(graph, options.weights);
  if (options.storage == ElementType::bfloat16) store_narrow(graph, ElementType::bfloat16);
  return graph;
}

namespace {

Plan plan_of(Graph graph, const Options& options, Isa isa, const CpuSpec& machine) {
  static const std::vector<const KernelInfo*> infos = [] {
    std::vector<const KernelInfo*> list;
    for (const CpuKernel& kernel : kernels()) list.push_back(&kernel.info);
    return list;
  }();
  PlanOptions plan;
  plan.isa = isa;
  plan.threads = options.threads > 0 ? options.threads : max_threads();
  plan.machine = KernelMachine(machine);
  const Optimisations optimisations = without(options.passes_off);
  plan.orders = optimisations.orders;
  plan.parts = optimisations.parts;
  plan.exact = options.exact;
  plan.weights = options.weights;
  plan.without = options.kernels_off;
  plan.decided = options.kernels;
  plan.memory_limit_bytes = options.memory_limit_bytes.value_or(default_memory_limit_bytes());
  if (optimisations.chains) {
    ChainLimits limits;
    limits.min_bytes = std::min(limits.min_bytes, plan.machine.cpu().l2_bytes);
    limits.max_rows_bytes = std::min(limits.max_rows_bytes, plan.machine.cpu().l2_bytes / 2);
    limits.max_weight_bytes = std::min(limits.max_weight_bytes, plan.machine.cpu().l2_bytes / 4);
    if (fuse_chains(graph, limits)) infer_types(graph);
  }
  return make_plan(std::move(graph), infos, plan);
}

Plan plan_of(Graph graph, const Options& options) {
  const Isa isa = options.isa.value_or(active_isa());
  return plan_of(std::move(graph), options, isa, cpu_spec(isa));
}

std::int64_t bytes_of(const Array& array) { return static_cast<std::int64_t>(array.bytes().size()); }

// The graph with these inputs of known shape; those in `bound` are constants and no inputs any more.
Graph specialised(const Graph& graph, const std::vector<const Array*>& inputs, const std::vector<bool>& bound) {
  Graph g = graph;
  g.inputs.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Value& value = g.value(graph.inputs[i]);
    value.type = TensorType(inputs[i]->type(), inputs[i]->shape());
    if (bound[i])
      value.constant = std::make_shared<const Array>(*inputs[i]);
    else
      g.inputs.push_back(graph.inputs[i]);
  }
  return g;
}

// The part of the graph that can be planned, with what is wanted of it for outputs.
Graph early_of(const Graph& g, const Cut& parts, const std::vector<ValueId>& wanted) {
  Graph early = g;
  early.outputs = wanted;
  std::size_t n = 0;
  std::erase_if(early.nodes, [&](const Node&) {
    const bool gone = parts.late[n] || parts.rest[n];
    ++n;
    return gone;
  });
  remove_dead_code(early);
  return early;
}

// What comes after the late nodes, as a graph of its own. Fills in where its inputs and the stage's outputs come from.
Graph rest_of(const Graph& g, const Cut& parts, const Sources& sources, Stage& stage) {
  Graph rest = g;
  rest.nodes.clear();
  rest.inputs.clear();
  rest.outputs.clear();
  std::vector<bool> asked(g.values.size());
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    if (!parts.rest[n]) continue;
    rest.nodes.push_back(g.nodes[n]);
    for (const ValueId id : g.nodes[n].inputs) {
      if (id == kNoValue || !sources.of(id) || g.value(id).constant || asked[static_cast<std::size_t>(id)]) continue;
      asked[static_cast<std::size_t>(id)] = true;
      rest.inputs.push_back(id);
      stage.rest_inputs.push_back(*sources.of(id));
    }
  }
  for (const ValueId id : g.outputs) {
    if (sources.of(id)) {
      stage.outputs.push_back({sources.of(id), 0});
      continue;
    }
    stage.outputs.push_back({std::nullopt, rest.outputs.size()});
    rest.outputs.push_back(id);
  }
  return rest;
}

// The body of an If or Loop as an engine: what the outer graph has as constants are constants in it too.
Stage::Body make_body(const Graph& body, const std::vector<std::shared_ptr<const Array>>& given, const Options& options,
                      const std::shared_ptr<WeightCache>& weights) {
  Graph g = runnable_body(body);
  Stage::Body result;
  std::vector<ValueId> kept;
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    Value& value = g.value(g.inputs[i]);
    if (given[i]) {
      value.constant = given[i];
      value.type = TensorType(given[i]->type(), given[i]->shape());
    } else {
      kept.push_back(g.inputs[i]);
      result.inputs.push_back(i);
    }
  }
  g.inputs = std::move(kept);
  run_passes(g, without(options.passes_off).passes);
  result.graph = &body;
  result.engine = std::make_unique<Engine>(std::move(g), options, weights);
  return result;
}

}  // namespace

Sources::Sources(const Graph& g, const Cut& parts, const std::vector<std::size_t>& inputs) : at_(g.values.size()) {
  const auto set = [&](ValueId id, Stage::Source source) { at_[static_cast<std::size_t>(id)] = source; };
  for (std::size_t i = 0; i < g.inputs.size(); ++i) set(g.inputs[i], {Stage::Source::From::input, inputs[i]});
  std::vector<bool> planned(g.values.size());
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    if (parts.rest[n]) continue;
    for (const ValueId id : g.nodes[n].outputs) {
      if (id == kNoValue) continue;
      if (parts.late[n])
        set(id, {Stage::Source::From::late, late_results_++});
      else
        planned[static_cast<std::size_t>(id)] = true;
    }
  }
  const auto want = [&](ValueId id) {
    if (id == kNoValue || of(id)) return;
    if (!planned[static_cast<std::size_t>(id)] && !g.value(id).constant) return;  // the rest makes it
    set(id, {Stage::Source::From::program, wanted_.size()});
    wanted_.push_back(id);
  };
  for (std::size_t n = 0; n < g.nodes.size(); ++n)
    if (parts.late[n] || parts.rest[n])
      for (const ValueId id : g.nodes[n].inputs)
        if (id != kNoValue && !g.value(id).constant) want(id);
  for (const ValueId id : g.outputs) want(id);
}

std::unique_ptr<Memory> MemoryPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Memory> memory = std::move(free_.back());
      free_.pop_back();
      return memory;
    }
  }
  return std::make_unique<Memory>(program_);
}

void MemoryPool::give_back(std::unique_ptr<Memory> memory) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(memory));
}

Plan plan_for(const Graph& graph, const std::vector<const Array*>& inputs, const Options& options, Isa isa,
              const CpuSpec& machine) {
  Graph g = specialised(graph, inputs, std::vector<bool>(inputs.size(), false));
  run_passes(g, without(options.passes_off).passes);
  check(cut(g).whole(), Code::unsupported, Hint{"--device cpu plans it in stages, on this machine"},
        "the network has operators whose results have shapes that only a run tells");
  return plan_of(std::move(g), options, isa, machine);
}

Engine::Engine(Graph graph, const Options& options, std::shared_ptr<WeightCache> weights)
    : graph_(std::move(graph)), options_(options), weights_(std::move(weights)), bound_(graph_.inputs.size()) {}

std::size_t Engine::plans_made() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

std::vector<std::shared_ptr<const Plan>> Engine::plans(const std::vector<const Array*>& inputs) {
  const std::shared_ptr<Stage> first = stage(inputs);
  std::vector<std::shared_ptr<const Plan>> plans;
  if (!first->rest) {
    plans.emplace_back(first, &first->program->plan());
    return plans;
  }
  RunRecord record;
  run(inputs, &record);
  for (const std::shared_ptr<const void>& alive : record.alive) {
    const auto stage = std::static_pointer_cast<const Stage>(alive);
    plans.emplace_back(stage, &stage->program->plan());
  }
  return plans;
}

std::string Engine::key_of(const std::vector<const Array*>& inputs) const {
  std::string key;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    key += inputs[i]->to_string();
    if (!bound_[i]) continue;
    key += '=';
    key.append(reinterpret_cast<const char*>(inputs[i]->bytes().data()), inputs[i]->bytes().size());
  }
  return key;
}

std::shared_ptr<Stage> Engine::stage(const std::vector<const Array*>& inputs) {
  check(inputs.size() == graph_.inputs.size(), Code::invalid_argument, "the network takes {} inputs, {} were given",
        graph_.inputs.size(), inputs.size());
  const std::lock_guard lock(mutex_);
  const std::string key = key_of(inputs);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.key == key; });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().stage;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) check_input(graph_, i, *inputs[i]);
  const BudgetScope none(nullptr);  // constants and weights are no values of a run
  std::shared_ptr<Stage> stage = make_stage(inputs);
  ++made_;
  kept_.push_front({key_of(inputs), stage});
  if (kept_.size() > std::max<std::size_t>(1, options_.max_plans)) kept_.pop_back();
  return stage;
}

std::shared_ptr<Stage> Engine::make_stage(const std::vector<const Array*>& inputs) {
  auto stage = std::make_shared<Stage>();
  Graph& g = stage->graph;
  Cut parts;
  for (;;) {
    g = specialised(graph_, inputs, bound_);
    run_passes(g, without(options_.passes_off).passes);
    parts = cut(g);
    if (parts.whole()) break;
    std::vector<std::size_t> open;  // positions of the inputs that are still inputs
    for (std::size_t i = 0; i < bound_.size(); ++i)
      if (!bound_[i]) open.push_back(i);
    const std::vector<std::size_t> deciding = deciding_inputs(g, parts);
    if (deciding.empty()) break;
    for (const std::size_t i : deciding) bound_[open[i]] = true;
  }
  for (std::size_t i = 0; i < bound_.size(); ++i)
    if (!bound_[i]) stage->program_inputs.push_back(i);

  Sources sources(g, parts, stage->program_inputs);
  stage->late_results = sources.late_results();
  Graph rest = rest_of(g, parts, sources, *stage);
  if (!rest.nodes.empty()) stage->rest = std::make_unique<Engine>(std::move(rest), options_, weights_);
  for (std::size_t n = 0; n < g.nodes.size(); ++n)
    if (parts.late[n]) stage->late.push_back(make_late(g, g.nodes[n], sources));
  Graph early = early_of(g, parts, sources.wanted());
  stage->program = std::make_unique<Program>(plan_of(std::move(early), options_), *weights_);
  stage->memory = std::make_unique<MemoryPool>(*stage->program);
  return stage;
}

Stage::Late Engine::make_late(const Graph& g, const Node& node, const Sources& sources) const {
  Stage::Late late;
  late.node = node;
  for (const ValueId id : node.outputs) late.results.push_back(id == kNoValue ? std::nullopt : sources.of(id));
  for (const ValueId id : node.inputs) {
    const bool constant = id != kNoValue && g.value(id).constant;
    late.constants.push_back(constant ? g.value(id).constant : nullptr);
    late.operands.push_back(id == kNoValue || constant ? std::nullopt : sources.of(id));
  }
  if (const auto* op = std::get_if<If>(&late.node.op)) {
    const std::vector<std::shared_ptr<const Array>> given(late.constants.begin() + 1, late.constants.end());
    for (const Graph* branch : {op->then_branch.get(), op->else_branch.get()})
      late.bodies.push_back(make_body(*branch, given, options_, weights_));
  } else if (const auto* loop = std::get_if<Loop>(&late.node.op)) {
    std::vector<std::shared_ptr<const Array>> given = late.constants;
    // What changes from one iteration to the next is no constant.
    std::fill_n(given.begin(), 2 + loop->carried, nullptr);
    late.bodies.push_back(make_body(*loop->body, given, options_, weights_));
  }
  return late;
}

std::vector<Array> Engine::run_late(Stage::Late& late, const std::vector<const Array*>& operands, RunRecord* record) {
  const std::int64_t begin = now_ns();
  const auto run_body = [&](const Graph& body, const std::vector<Array>& inputs) {
    for (const Stage::Body& b : late.bodies) {
      if (b.graph != &body) continue;
      std::vector<const Array*> kept;
      for (const std::size_t i : b.inputs) kept.push_back(&inputs[i]);
      return b.engine->run(kept, nullptr);
    }
    fail(Code::internal, "a body of '{}' has no engine", late.node.name);
  };
  std::vector<Array> results;
  if (const auto* op = std::get_if<If>(&late.node.op))
    results = tessera::run(*op, Arrays(If::kName, operands), run_body);
  else if (const auto* loop = std::get_if<Loop>(&late.node.op))
    results = tessera::run(*loop, Arrays(Loop::kName, operands), run_body);
  else
    results = evaluate(late.node, operands);
  if (record != nullptr && record->steps_too) record->steps.push_back({nullptr, 0, &late.node, {begin, now_ns()}});
  return results;
}

std::vector<Array> Engine::run(const std::vector<const Array*>& inputs, RunRecord* record) {
  const std::shared_ptr<Stage> stage = this->stage(inputs);
  const Program& program = *stage->program;
  const Plan& plan = program.plan();
  if (record != nullptr) record->alive.push_back(stage);

  // A body of a loop runs on the budget of the whole. Outputs are the caller's, unless more is to be done with them.
  std::optional<BudgetScope> budget;
  const auto begin_budget = [&] {
    if (!BudgetScope::active()) budget.emplace(options_.memory_limit_bytes.value_or(default_memory_limit_bytes()));
  };
  if (!stage->late.empty()) begin_budget();

  // What can be planned.
  std::vector<const std::byte*> in;
  for (const std::size_t i : stage->program_inputs) in.push_back(inputs[i]->bytes().data());
  std::vector<Array> made;
  std::vector<BudgetShare> shares;
  std::vector<std::byte*> out;
  for (const ValueId id : plan.graph.outputs) {
    made.emplace_back(plan.graph.value(id).type.type, plan.graph.value(id).type.shape());
    shares.emplace_back(bytes_of(made.back()));
  }
  for (Array& array : made) out.push_back(array.bytes().data());
  begin_budget();
  std::optional<BudgetShare> arena(plan.arena_bytes);
  std::unique_ptr<Memory> memory = stage->memory->take();
  if (record == nullptr) {
    program.run(in, out, *memory);
  } else {
    std::vector<StepInterval> times(record->steps_too ? plan.steps.size() : 0);
    std::function<void(std::size_t, const StepArgs&)> after;
    if (record->observer) after = [&](std::size_t step, const StepArgs& args) { record->observer(plan, step, args); };
    program.run(in, out, *memory, times, after);
    for (std::size_t s = 0; s < times.size(); ++s) {
      const int node = plan.steps[s].node;
      const Node* of = node == Step::kConversion ? nullptr : &plan.graph.nodes[static_cast<std::size_t>(node)];
      record->steps.push_back({&plan, s, of, times[s]});
    }
  }
  stage->memory->give_back(std::move(memory));
  arena.reset();

  // What cannot.
  std::vector<Array> late_results(stage->late_results);
  const auto at = [&](const Stage::Source& source) -> const Array* {
    switch (source.from) {
      case Stage::Source::From::input: return inputs[source.at];
      case Stage::Source::From::program: return &made[source.at];
      case Stage::Source::From::late: return &late_results[source.at];
    }
    return nullptr;
  };
  for (Stage::Late& late : stage->late) {
    std::vector<const Array*> operands;
    for (std::size_t i = 0; i < late.operands.size(); ++i)
      operands.push_back(late.operands[i] ? at(*late.operands[i]) : late.constants[i].get());
    std::vector<Array> results = run_late(late, operands, record);
    for (std::size_t i = 0; i < late.results.size(); ++i) {
      if (!late.results[i]) continue;
      shares.emplace_back(bytes_of(results.at(i)));
      late_results[late.results[i]->at] = std::move(results[i]);
    }
  }

  // The rest.
  std::vector<Array> rest;
  if (stage->rest) {
    std::vector<const Array*> rest_inputs;
    for (const Stage::Source& source : stage->rest_inputs) rest_inputs.push_back(at(source));
    rest = stage->rest->run(rest_inputs, record);
  }
  if (stage->late.empty() && made.size() == stage->outputs.size()) return made;
  // Each is moved to where it is wanted last, and copied before.
  const auto move_out = [&](std::size_t i) -> Array {
    const Stage::Output& output = stage->outputs[i];
    const bool again = std::any_of(stage->outputs.begin() + static_cast<std::ptrdiff_t>(i) + 1, stage->outputs.end(),
                                   [&](const Stage::Output& other) { return other == output; });
    if (!output.source) return again ? rest[output.rest] : std::move(rest[output.rest]);
    if (again || output.source->from == Stage::Source::From::input) return *at(*output.source);
    return std::move((output.source->from == Stage::Source::From::late ? late_results : made)[output.source->at]);
  };
  std::vector<Array> outputs;
  for (std::size_t i = 0; i < stage->outputs.size(); ++i) outputs.push_back(move_out(i));
  return outputs;
}

}  // namespace tessera::cpu
