#include "tessera/graph/ops/control_flow.h"

#include "tessera/core/error.h"
#include "tessera/core/memory_budget.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/ops/control_flow_run.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tessera {
namespace {

constexpr int kMaxNesting = 64;  // bodies inside bodies
// A loop's types settle in rounds, and a loop inside it takes its own rounds in each of them: deeper ones get only one.
constexpr int kMaxRounds = 4;
constexpr int kMaxNestedRounds = 3;

thread_local int nesting = 0;
thread_local std::int64_t iterations_left = 0;

class Nested {
 public:
  explicit Nested(std::string_view op) {
    check(nesting < kMaxNesting, Code::unsupported, "{}: bodies are nested more than {} deep", op, kMaxNesting);
    if (nesting++ == 0) iterations_left = loop_limits().iterations;
  }
  ~Nested() { --nesting; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
};

std::size_t size(int count) { return static_cast<std::size_t>(count); }

Known known_input(const Knowns& inputs, std::size_t i) { return {inputs[i], inputs.constant(i), true}; }

std::vector<Known> knowns_of(const Arrays& inputs) {
  std::vector<Known> knowns;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    knowns.push_back(inputs.has(i) ? Known{TensorType(inputs[i].type(), inputs[i].shape()), &inputs[i], true}
                                   : Known{{}, nullptr, false});
  return knowns;
}

// The body with the types of its inputs replaced by what the operator knows, and all other types worked out again. The
// constants stay where they are: the result must not outlive `given`.
Graph typed_body(const Graph& body, std::span<const Known> given, std::string_view op) {
  verify(body);
  Graph typed = body;
  for (std::size_t i = 0; i < given.size(); ++i) {
    Value& input = typed.value(typed.inputs[i]);
    if (input.type.type != given[i].type.type)
      fail(Code::invalid_argument, "{}: input '{}' of the body is {}, but is given {}", op, input.name,
           input.type.to_string(), given[i].type.to_string());
    if (given[i].type.dims) input.type = given[i].type;
    if (given[i].constant != nullptr)
      input.constant = std::shared_ptr<const Array>(std::shared_ptr<const void>(), given[i].constant);
  }
  infer_types(typed);
  return typed;
}

std::vector<Array> evaluate_body(const Graph& body, const std::vector<Array>& inputs) {
  return evaluate(runnable_body(body), inputs);
}

std::vector<TensorType> output_types(const Graph& graph) {
  std::vector<TensorType> types;
  for (ValueId id : graph.outputs) types.push_back(graph.value(id).type);
  return types;
}

// What holds of both.
TensorType merged(const TensorType& a, const TensorType& b, std::string_view op, std::size_t i) {
  if (a.type != b.type)
    fail(Code::invalid_argument, "{}: output {} is {} one way and {} the other", op, i, a.to_string(), b.to_string());
  if (!a.dims || !b.dims || a.dims->size() != b.dims->size()) return {a.type, std::nullopt};
  TensorType out = a;
  for (std::size_t d = 0; d < out.dims->size(); ++d)
    if ((*out.dims)[d] != (*b.dims)[d]) (*out.dims)[d] = TensorType::kUnknown;
  return out;
}

void expect_one(const TensorType& t, ElementType type, std::string_view what, std::string_view op) {
  const bool one = !t.dims || std::all_of(t.dims->begin(), t.dims->end(),
                                          [](auto d) { return d == 1 || d == TensorType::kUnknown; });
  if (t.type != type || !one)
    fail(Code::invalid_argument, "{}: {} must be one {}, not {}", op, what, name(type), t.to_string());
}

bool truth(const Array& condition, std::string_view op) {
  expect_one(TensorType(condition.type(), condition.shape()), ElementType::boolean, "the condition", op);
  return condition.as<bool>()[0];
}

// The work of one run of the body; what its types do not tell counts as nothing.
Work body_work(const Graph& body, std::span<const TensorType> given, std::string_view op) {
  std::vector<Known> knowns;
  for (const TensorType& t : given) knowns.push_back({t, nullptr, true});
  Work total;
  try {
    const Nested nested(op);
    const Graph typed = typed_body(body, knowns, op);
    for (const Node& node : typed.nodes) {
      std::vector<TensorType> in, out;
      for (ValueId id : node.inputs)
        in.push_back(id == kNoValue ? TensorType(ElementType::float32, Shape{0}) : typed.value(id).type);
      for (ValueId id : node.outputs)
        if (id != kNoValue) out.push_back(typed.value(id).type);
      const Work w = work(node.op, in, out);
      total.flops += w.flops;
      total.read_bytes += w.read_bytes;
      total.write_bytes += w.write_bytes;
    }
  } catch (const Error&) {
    return {};  // a branch for other shapes than these
  }
  return total;
}

void check_branches(const If& op) {
  check(op.then_branch && op.else_branch, Code::invalid_argument, "If: a branch is missing");
  check(op.captures >= 0, Code::invalid_argument, "If: {} captures", op.captures);
  for (const Graph* branch : {op.then_branch.get(), op.else_branch.get()})
    check(branch->inputs.size() == size(op.captures), Code::invalid_argument,
          "If: branch '{}' takes {} inputs, {} values are captured", branch->name, branch->inputs.size(), op.captures);
  check(op.then_branch->outputs.size() == op.else_branch->outputs.size(), Code::invalid_argument,
        "If: one branch gives {} outputs, the other {}", op.then_branch->outputs.size(),
        op.else_branch->outputs.size());
}

}  // namespace

LoopLimits& loop_limits() {
  thread_local LoopLimits limits;
  return limits;
}

LoopHook& on_loop_iteration() {
  thread_local LoopHook hook;
  return hook;
}

// What is handed in decides, not the shapes that the model has written beside the inputs of a body.
Graph runnable_body(const Graph& body) {
  Graph runnable = body;
  for (ValueId id : runnable.inputs) runnable.value(id).type.dims = std::nullopt;
  return runnable;
}

std::vector<TensorType> infer(const If& op, const Knowns& inputs) {
  const Nested nested("If");
  check_branches(op);
  inputs.expect_count(1 + size(op.captures), 1 + size(op.captures));
  expect_one(inputs[0], ElementType::boolean, "the condition", "If");
  std::vector<Known> captured;
  for (std::size_t i = 1; i < inputs.size(); ++i) captured.push_back(known_input(inputs, i));
  if (const Array* condition = inputs.constant(0))
    return output_types(typed_body(truth(*condition, "If") ? *op.then_branch : *op.else_branch, captured, "If"));

  // Models guard operators that would be wrong for some shapes. A branch that these operands do not fit cannot be the
  // one that is taken, so the other tells.
  std::optional<Error> fault;
  const auto types_of = [&](const Graph& branch) -> std::optional<std::vector<TensorType>> {
    try {
      return output_types(typed_body(branch, captured, "If"));
    } catch (const Error& error) {
      if (!fault) fault = error;
      return std::nullopt;
    }
  };
  const auto a = types_of(*op.then_branch), b = types_of(*op.else_branch);
  if (!a && !b) throw *fault;
  if (!a || !b) return a ? *a : *b;
  std::vector<TensorType> out;
  for (std::size_t i = 0; i < a->size(); ++i) out.push_back(merged((*a)[i], (*b)[i], "If", i));
  return out;
}

Work work(const If& op, const Types& inputs, const Types& outputs) {
  check_branches(op);
  Work most = streaming_work(inputs, outputs);
  for (const Graph* branch : {op.then_branch.get(), op.else_branch.get()}) {
    const Work w = body_work(*branch, inputs.subspan(1), "If");
    if (w.flops > most.flops) most = w;
  }
  return most;
}

std::vector<Array> reference(const If& op, const Arrays& inputs) { return run(op, inputs, evaluate_body); }

std::vector<Array> run(const If& op, const Arrays& inputs, const BodyRunner& runner) {
  const Nested nested("If");
  check_branches(op);
  std::vector<Array> captured;
  for (std::size_t i = 1; i < inputs.size(); ++i) captured.push_back(inputs[i]);
  return runner(truth(inputs[0], "If") ? *op.then_branch : *op.else_branch, captured);
}

namespace {

void check_body(const Loop& op) {
  check(op.body != nullptr, Code::invalid_argument, "Loop: the body is missing");
  check(op.carried >= 0 && op.captures >= 0, Code::invalid_argument, "Loop: {} carried values and {} captures",
        op.carried, op.captures);
  const std::size_t wanted = 2 + size(op.carried) + size(op.captures);
  check(op.body->inputs.size() == wanted, Code::invalid_argument,
        "Loop: the body takes {} inputs; iteration, condition, {} carried values and {} captures are {}",
        op.body->inputs.size(), op.carried, op.captures, wanted);
  check(op.body->outputs.size() >= 1 + size(op.carried), Code::invalid_argument,
        "Loop: the body gives {} outputs, a condition and {} carried values are needed", op.body->outputs.size(),
        op.carried);
}

// Iteration and condition are scalars, or tensors of one element where the body says so.
Shape scalar_shape(const Loop& op, std::size_t input) {
  const TensorType& declared = op.body->value(op.body->inputs[input]).type;
  return declared.dims && declared.dims->size() == 1 ? Shape{1} : Shape{};
}

std::optional<std::int64_t> trip_count(const Array* count) {
  if (count == nullptr) return std::nullopt;
  const std::vector<std::int64_t> values = count->to_int64();
  check(values.size() == 1, Code::invalid_argument, "Loop: the trip count is {}, one number is needed",
        count->to_string());
  return std::max<std::int64_t>(values[0], 0);
}

// Whether the body's condition is one that it was given or a constant true: then the trip count alone decides.
bool always_continues(const Graph& body) {
  ValueId id = body.outputs[0];
  for (std::size_t i = body.nodes.size(); i-- > 0;) {
    const Node& node = body.nodes[i];
    if (node.outputs.size() != 1 || node.outputs[0] != id) continue;
    const Unary* unary = std::get_if<Unary>(&node.op);
    if (unary == nullptr || unary->kind != Unary::Kind::identity) return false;
    id = node.inputs[0];
  }
  if (id == body.inputs[1]) return true;
  const Array* constant = body.value(id).constant.get();
  return constant != nullptr && truth(*constant, "Loop");
}

// The iterations there will be, if that can be told.
std::optional<std::int64_t> known_iterations(const Loop& op, const Knowns& inputs) {
  const std::optional<std::int64_t> trips = trip_count(inputs.constant(0));
  if (trips == 0) return 0;
  if (inputs.has(1)) {
    const Array* condition = inputs.constant(1);
    if (condition == nullptr) return std::nullopt;
    if (!truth(*condition, "Loop")) return 0;
  }
  return trips && always_continues(*op.body) ? trips : std::nullopt;
}

}  // namespace

std::vector<TensorType> infer(const Loop& op, const Knowns& inputs) {
  const Nested nested("Loop");
  check_body(op);
  const std::size_t carried = size(op.carried), captures = size(op.captures);
  check(inputs.size() == 2 + carried + captures, Code::invalid_argument,
        "Loop: {} inputs are given; trip count, condition, {} carried values and {} captures are {}", inputs.size(),
        carried, captures, 2 + carried + captures);
  if (inputs.has(0)) expect_one(inputs[0], ElementType::int64, "the trip count", "Loop");
  if (inputs.has(1)) expect_one(inputs[1], ElementType::boolean, "the condition", "Loop");

  std::vector<Known> given{{TensorType(ElementType::int64, scalar_shape(op, 0)), nullptr, true},
                           {TensorType(ElementType::boolean, scalar_shape(op, 1)), nullptr, true}};
  for (std::size_t i = 0; i < carried; ++i) given.push_back({inputs[2 + i], nullptr, true});
  for (std::size_t i = 0; i < captures; ++i) given.push_back(known_input(inputs, 2 + carried + i));

  // A carried value has the type that holds before and after the body; looking again with less known until nothing
  // changes.
  const std::optional<std::int64_t> iterations = known_iterations(op, inputs);
  std::vector<TensorType> body_outputs;
  const auto forget_carried = [&] {
    for (std::size_t i = 0; i < carried; ++i) given[2 + i].type.dims = std::nullopt;
  };
  if (nesting > kMaxNestedRounds) forget_carried();
  for (int round = 0;; ++round) {
    if (round == kMaxRounds) forget_carried();
    Graph body = *op.body;
    // The shapes the model has written beside carried values hold for the first iteration at most.
    for (std::size_t i = 0; i < carried; ++i) body.value(body.inputs[2 + i]).type.dims = std::nullopt;
    body_outputs = output_types(typed_body(body, given, "Loop"));
    expect_one(body_outputs[0], ElementType::boolean, "the condition that the body gives", "Loop");
    bool settled = true;
    for (std::size_t i = 0; i < carried; ++i) {
      const TensorType both = merged(given[2 + i].type, body_outputs[1 + i], "Loop", i);
      settled = settled && both == given[2 + i].type;
      given[2 + i].type = both;
    }
    if (settled || iterations == 0) break;
  }

  std::vector<TensorType> out;
  for (std::size_t i = 0; i < carried; ++i) out.push_back(iterations == 0 ? inputs[2 + i] : given[2 + i].type);
  for (std::size_t i = 1 + carried; i < body_outputs.size(); ++i) {
    TensorType scan = body_outputs[i];
    if (scan.dims) scan.dims->insert(scan.dims->begin(), iterations.value_or(TensorType::kUnknown));
    if (scan.is_static()) scan.shape();  // refuses what cannot be counted
    out.push_back(std::move(scan));
  }
  return out;
}

Work work(const Loop& op, const Types& inputs, const Types& outputs) {
  check_body(op);
  std::vector<TensorType> given{TensorType(ElementType::int64, scalar_shape(op, 0)),
                                TensorType(ElementType::boolean, scalar_shape(op, 1))};
  given.insert(given.end(), inputs.begin() + 2, inputs.end());
  Work work = body_work(*op.body, given, "Loop");
  // A scan output tells the iterations; otherwise the work is that of one.
  double iterations = 1;
  for (std::size_t i = size(op.carried); i < outputs.size(); ++i)
    if (outputs[i].dims && !outputs[i].dims->empty() && outputs[i].dims->front() != TensorType::kUnknown)
      iterations = static_cast<double>(outputs[i].dims->front());
  work.flops *= iterations;
  work.read_bytes *= iterations;
  work.write_bytes *= iterations;
  return work;
}

std::vector<Array> reference(const Loop& op, const Arrays& inputs) {
  const Graph body = runnable_body(*op.body);
  return run(op, inputs, [&](const Graph&, const std::vector<Array>& state) { return evaluate(body, state); });
}

namespace {

// Slices of a scan output, one after the other. Memory is asked for before it is taken.
class Collected {
 public:
  void append(std::span<const std::byte> slice) {
    const std::size_t needed = bytes_.size() + slice.size();
    if (needed > bytes_.capacity()) {
      const std::size_t more = std::max(needed, 2 * bytes_.capacity());
      BudgetShare share(static_cast<std::int64_t>(more));  // beside the old ones, until they are copied
      bytes_.reserve(more);
      share_ = std::move(share);
    }
    bytes_.insert(bytes_.end(), slice.begin(), slice.end());
  }
  std::vector<std::byte> take() && {
    share_.leave();
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
  BudgetShare share_;
};

}  // namespace

std::vector<Array> run(const Loop& op, const Arrays& inputs, const BodyRunner& runner) {
  const Nested nested("Loop");
  check_body(op);
  const std::size_t carried = size(op.carried), scans = op.body->outputs.size() - 1 - carried;
  const std::optional<std::int64_t> trips = trip_count(inputs.has(0) ? &inputs[0] : nullptr);
  bool running = !inputs.has(1) || truth(inputs[1], "Loop");

  std::vector<Array> state;
  state.push_back(Array(ElementType::int64, scalar_shape(op, 0)));
  state.push_back(Array(ElementType::boolean, scalar_shape(op, 1)));
  for (std::size_t i = 2; i < inputs.size(); ++i) state.push_back(inputs[i]);
  std::vector<Collected> collected(scans);
  std::vector<std::optional<TensorType>> slice(scans);
  std::int64_t iteration = 0, collected_bytes = 0;
  BudgetShare carried_share;
  // ONNX calls the body's condition ignored if the model gives no first one; the runtimes heed it, and so do we.
  for (; running && (!trips || iteration < *trips); ++iteration) {
    check(--iterations_left >= 0, Code::unsupported, Hint{"--loop-limit, or loop_limit, allows more"},
          "Loop: more than {} iterations, this one in its iteration {}", loop_limits().iterations, iteration);
    if (on_loop_iteration()) on_loop_iteration()();
    state[0].as<std::int64_t>()[0] = iteration;
    state[1].as<bool>()[0] = running;
    std::vector<Array> results = runner(*op.body, state);
    running = truth(results[0], "Loop");
    std::int64_t carried_bytes = 0;
    for (std::size_t i = 0; i < carried; ++i)
      carried_bytes += static_cast<std::int64_t>(std::as_const(results[1 + i]).bytes().size());
    BudgetShare share(carried_bytes);  // beside what was carried before, until it goes
    for (std::size_t i = 0; i < carried; ++i) state[2 + i] = std::move(results[1 + i]);
    carried_share = std::move(share);
    std::int64_t bytes = collected_bytes + carried_bytes;
    for (std::size_t i = 0; i < scans; ++i) {
      const Array& result = results[1 + carried + i];
      const TensorType type(result.type(), result.shape());
      if (slice[i] && *slice[i] != type)
        fail(Code::invalid_argument, "Loop: scan output {} was {} and is {} in iteration {}", i, slice[i]->to_string(),
             type.to_string(), iteration);
      slice[i] = type;
      bytes += static_cast<std::int64_t>(result.bytes().size());
      collected_bytes += static_cast<std::int64_t>(result.bytes().size());
      check(bytes <= loop_limits().bytes, Code::out_of_memory,
            "Loop: more than {} B are carried and collected by iteration {}", loop_limits().bytes, iteration);
      collected[i].append(result.bytes());
    }
    check(bytes <= loop_limits().bytes, Code::out_of_memory, "Loop: more than {} B are carried by iteration {}",
          loop_limits().bytes, iteration);
  }

  std::vector<Array> outputs;
  for (std::size_t i = 0; i < carried; ++i) outputs.push_back(std::move(state[2 + i]));
  if (scans == 0) return outputs;
  // Without an iteration the types alone tell what the slices would have been; what they leave open is 0.
  const std::vector<TensorType> types =
      iteration == 0 ? infer(op, Knowns(inputs.op(), knowns_of(inputs))) : std::vector<TensorType>{};
  for (std::size_t i = 0; i < scans; ++i) {
    if (iteration == 0) {
      std::vector<std::int64_t> dims = types[carried + i].dims.value_or(std::vector<std::int64_t>{0});
      std::replace(dims.begin(), dims.end(), TensorType::kUnknown, std::int64_t{0});
      outputs.push_back(Array(types[carried + i].type, Shape(dims)));
    } else {
      std::vector<std::int64_t> dims = *slice[i]->dims;
      dims.insert(dims.begin(), iteration);
      outputs.push_back(Array(slice[i]->type, Shape(dims), std::move(collected[i]).take()));
    }
  }
  return outputs;
}

}  // namespace tessera
