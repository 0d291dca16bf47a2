#include "tessera/kernel_plan/plan.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/graph/digest.h"
#include "tessera/kernel_plan/arena.h"
#include "tessera/kernel_plan/parts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace tessera {
namespace {

// One channel, or one pixel: the elements lie the same whatever comes last.
bool same_in_every_order(const Shape& shape) {
  std::int64_t pixels = 1;
  for (int i = 2; i < shape.rank(); ++i) pixels *= shape[i];
  return shape.rank() < 3 || shape[1] == 1 || pixels == 1;
}

std::int64_t bytes_of(const TensorType& type) { return type.shape().volume() * element_bytes(type.type); }

// Chooses node by node, in order; what a node made decides what the next one finds.
class Planner {
 public:
  // `inner`: the order that is expected to be asked for next, of values that are no outputs of the graph.
  Planner(Graph graph, std::span<const KernelInfo* const> kernels, const PlanOptions& options,
          std::optional<Order> inner)
      : kernels_(kernels), options_(options), inner_(inner) {
    plan_.graph = std::move(graph);
    plan_.isa = options.isa;
    plan_.threads = options.threads;
    plan_.exact = options.exact;
    plan_.weights = options.weights;
    plan_.machine = options.machine;
    for (const KernelInfo* kernel : kernels_) by_op_[kernel->op].push_back(kernel);
    for (const std::string& name : options_.without) check_is_kernel(name);
    for (const auto& [node, name] : options_.decided) check_is_kernel(name);
  }

  Plan run() {
    for (const ValueId id : graph().inputs) {
      check_static(id);
      plan_.input_buffers.push_back(add_buffer(PlanBuffer::Place::input, id, Order::row_major));
      native_[id] = Order::row_major;
    }
    for (std::size_t n = 0; n < graph().nodes.size(); ++n)
      with_context(fmt::format("while planning node '{}' ({})", graph().nodes[n].name, name(graph().nodes[n].op)),
                   [&] { add_node(static_cast<int>(n)); });
    for (const ValueId id : graph().outputs) plan_.output_buffers.push_back(buffer_of(id, Order::row_major));
    if (options_.parts) place_parts(plan_);
    place_buffers();
    return std::move(plan_);
  }

 private:
  const Graph& graph() const { return plan_.graph; }

  void check_is_kernel(const std::string& name) const {
    if (std::ranges::find(kernels_, name, &KernelInfo::name) != kernels_.end()) return;
    std::vector<std::string> names;
    for (const KernelInfo* kernel : kernels_) names.emplace_back(kernel->name);
    fail(Code::not_found, Hint{"tessera kernels lists them"}, "there is no kernel '{}'{}", name,
         did_you_mean(name, names));
  }

  void check_static(ValueId id) const {
    const Value& value = graph().value(id);
    check(value.type.is_static(), Code::invalid_argument, "'{}' is {}: a plan needs every extent", value.name,
          value.type.to_string());
  }

  int add_buffer(PlanBuffer::Place place, ValueId value, Order order) {
    PlanBuffer buffer;
    buffer.place = place;
    buffer.value = value;
    buffer.order = order;
    buffer.bytes = bytes_of(graph().value(value).type);
    buffer.first = buffer.last = static_cast<int>(plan_.steps.size());
    plan_.buffers.push_back(buffer);
    const int id = static_cast<int>(plan_.buffers.size()) - 1;
    buffers_[{value, order}] = id;
    return id;
  }

  // The buffer of a value in a order; if it is not there yet, a step is added that converts it.
  int buffer_of(ValueId value, Order order) {
    if (graph().value(value).type.rank() < 3) order = Order::row_major;
    if (const auto found = buffers_.find({value, order}); found != buffers_.end()) return found->second;
    if (graph().value(value).constant) return add_buffer(PlanBuffer::Place::constant, value, order);
    const int from = buffers_.at({value, native_.at(value)});
    if (same_in_every_order(graph().value(value).type.shape())) {
      const int view = add_buffer(PlanBuffer::Place::arena, value, order);
      at(view).view_of = from;
      return view;
    }
    Step step;
    step.inputs = {from};
    step.offer.inputs = {plan_.buffers[static_cast<std::size_t>(from)].order};
    step.offer.outputs = {order};
    step.offer.estimate = conversion_estimate(value);
    step.work.read_bytes = step.work.write_bytes = static_cast<double>(bytes_of(graph().value(value).type));
    const int to = add_buffer(PlanBuffer::Place::arena, value, order);
    step.outputs = {to};
    plan_.steps.push_back(std::move(step));
    return to;
  }

  Estimate conversion_estimate(ValueId value) const {
    return tessera::conversion_estimate(options_.machine, static_cast<double>(bytes_of(graph().value(value).type)));
  }

  // Seconds for the conversions that an offer asks for.
  double conversion_seconds(const Node& node, const Offer& offer) const {
    double seconds = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue || graph().value(id).constant || graph().value(id).type.rank() < 3) continue;
      if (!buffers_.contains({id, offer.inputs[i]}) && !same_in_every_order(graph().value(id).type.shape()))
        seconds += conversion_estimate(id).seconds;
    }
    for (std::size_t i = 0; i < offer.outputs.size(); ++i)
      if (offer.outputs[i] != Order::row_major && goes_out(node.outputs[i]))
        seconds += conversion_estimate(node.outputs[i]).seconds;
    return seconds;
  }

  // Whether a value will be asked for as row_major. Without a choice of orders everything goes back at once.
  bool goes_out(ValueId id) const {
    return id != kNoValue && !same_in_every_order(graph().value(id).type.shape()) &&
           (!options_.orders || std::ranges::find(graph().outputs, id) != graph().outputs.end());
  }

  // Seconds for conversions that the next steps are expected to ask for.
  double expected_seconds(const Node& node, const Offer& offer) const {
    double seconds = 0;
    for (std::size_t i = 0; inner_ && i < offer.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id != kNoValue && offer.outputs[i] != *inner_ && !goes_out(id) &&
          !same_in_every_order(graph().value(id).type.shape()))
        seconds += conversion_estimate(id).seconds;
    }
    return seconds;
  }

  std::optional<std::string> excluded(const KernelInfo& kernel, const Node& node) const {
    if (kernel.isa > options_.isa)
      return fmt::format("needs {}, the plan is for {}", name(kernel.isa), name(options_.isa));
    if (options_.exact && !kernel.exact()) return "not exact, as the plan is to be";
    if (std::find(options_.without.begin(), options_.without.end(), kernel.name) != options_.without.end())
      return "left out on request";
    if (const auto found = options_.decided.find(node.name); found != options_.decided.end())
      if (found->second != kernel.name) return fmt::format("the plan given says {}", found->second);
    return std::nullopt;
  }

  Problem problem_of(const Node& node) const {
    Problem problem{graph(),          node,           infer_node(graph(), node), {}, options_.machine,
                    options_.threads, options_.exact, options_.weights};
    for (const ValueId id : node.inputs) {
      const auto found = id == kNoValue ? native_.end() : native_.find(id);
      problem.orders.push_back(found == native_.end() ? Order::row_major : found->second);
    }
    return problem;
  }

  // Of the kernel chosen so far.
  struct Best {
    double seconds = 0;  // with the conversions that it asks for
    double score = 0;    // and with those that are expected
  };

  // Estimates this close say nothing; then the wider instruction set has the better chance.
  static bool better(double seconds, const KernelInfo& kernel, double best, const KernelInfo& chosen) {
    constexpr double kClose = 0.01;
    if (kernel.isa != chosen.isa && std::abs(seconds - best) <= kClose * best) return kernel.isa > chosen.isa;
    return seconds < best;
  }

  void consider(const KernelInfo& kernel, const Problem& problem, Step& step, Best& best) const {
    if (auto reason = excluded(kernel, problem.node)) {
      step.refused.push_back({kernel.name, std::move(*reason)});
      return;
    }
    Answer answer = kernel.consider(kernel, problem);
    if (auto* refusal = std::get_if<Refusal>(&answer)) {
      step.refused.push_back({kernel.name, std::move(refusal->message)});
      return;
    }
    Offer& offer = std::get<Offer>(answer);
    check(offer.inputs.size() == problem.node.inputs.size() && offer.outputs.size() == problem.types.outputs.size(),
          Code::internal, "kernel {} answered for {} inputs and {} outputs, the node has {} and {}", kernel.name,
          offer.inputs.size(), offer.outputs.size(), problem.node.inputs.size(), problem.types.outputs.size());
    Estimate total = offer.estimate;
    total.seconds += conversion_seconds(problem.node, offer);
    const double score = total.seconds + expected_seconds(problem.node, offer);
    if (step.kernel != nullptr && !better(score, kernel, best.score, *step.kernel)) {
      step.slower.push_back({kernel.name, total});
      return;
    }
    if (step.kernel != nullptr) step.slower.push_back({step.kernel->name, {best.seconds, step.offer.estimate.bound}});
    best = {total.seconds, score};
    step.kernel = &kernel;
    step.offer = std::move(offer);
  }

  void add_node(int n) {
    const Node& node = graph().nodes[static_cast<std::size_t>(n)];
    for (const ValueId id : node.inputs)
      if (id != kNoValue) check_static(id);
    for (const ValueId id : node.outputs)
      if (id != kNoValue) check_static(id);
    const Problem problem = problem_of(node);
    Step step;
    step.node = n;
    Best best;
    for (const std::string_view op : {name(node.op), std::string_view("*")})
      for (const KernelInfo* kernel : by_op_[op]) consider(*kernel, problem, step, best);
    if (step.kernel == nullptr) {
      std::vector<std::string> reasons;
      for (const RefusedKernel& refused : step.refused)
        reasons.push_back(fmt::format("{}: {}", refused.kernel, refused.reason));
      fail(Code::unsupported, "no kernel takes it: {}", fmt::join(reasons, "; "));
    }
    std::stable_sort(step.slower.begin(), step.slower.end(), [](const SlowerKernel& a, const SlowerKernel& b) {
      return a.estimate.seconds < b.estimate.seconds;
    });
    step.work = work(graph(), node);
    add_step(std::move(step), node);
  }

  void add_step(Step step, const Node& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      step.inputs.push_back(node.inputs[i] == kNoValue ? -1 : buffer_of(node.inputs[i], step.offer.inputs[i]));
    if (step.offer.scratch_bytes > 0) {
      PlanBuffer scratch;
      scratch.bytes = step.offer.scratch_bytes;
      scratch.first = scratch.last = static_cast<int>(plan_.steps.size());
      plan_.buffers.push_back(scratch);
      step.scratch = static_cast<int>(plan_.buffers.size()) - 1;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id == kNoValue) {
        step.outputs.push_back(-1);
        continue;
      }
      const Order order = graph().value(id).type.rank() < 3 ? Order::row_major : step.offer.outputs[i];
      const int buffer = add_buffer(PlanBuffer::Place::arena, id, order);
      if (step.offer.view_of >= 0)
        plan_.buffers[static_cast<std::size_t>(buffer)].view_of =
            step.inputs[static_cast<std::size_t>(step.offer.view_of)];
      native_[id] = order;
      step.outputs.push_back(buffer);
    }
    const std::vector<int> outputs = step.outputs;
    plan_.steps.push_back(std::move(step));
    if (options_.orders) return;
    for (const ValueId id : node.outputs) {
      if (id == kNoValue || native_[id] == Order::row_major) continue;
      buffer_of(id, Order::row_major);
      native_[id] = Order::row_major;
    }
  }

  int root(int buffer) const { return root_of(plan_, buffer); }
  PlanBuffer& at(int buffer) { return plan_.buffers[static_cast<std::size_t>(buffer)]; }

  void place_buffers() {
    const int end = static_cast<int>(plan_.steps.size());
    const auto use = [&](int buffer, int step) {
      if (buffer < 0) return;
      PlanBuffer& owner = at(root(buffer));
      owner.first = std::min(owner.first, step);
      owner.last = std::max(owner.last, step);
    };
    for (int s = 0; s < end; ++s) {
      const Step& step = plan_.steps[static_cast<std::size_t>(s)];
      for (const int buffer : step.inputs) use(buffer, s);
      for (const int buffer : step.outputs) use(buffer, s);
    }
    for (const int buffer : plan_.output_buffers) use(buffer, end);
    overwrite_inputs();
    std::vector<Lifetime> lifetimes;
    std::vector<int> owners;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.place != PlanBuffer::Place::arena || buffer.view_of >= 0 || buffer.part_of >= 0) continue;
      lifetimes.push_back({buffer.bytes, buffer.first, buffer.last});
      owners.push_back(static_cast<int>(b));
    }
    const ArenaPlacement placement = place(lifetimes);
    for (std::size_t i = 0; i < owners.size(); ++i) at(owners[i]).offset = placement.offsets[i];
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.view_of < 0 && buffer.part_of < 0) continue;
      const PlanBuffer& owner = at(root(static_cast<int>(b)));
      buffer.offset = owner.offset + offset_in_root(static_cast<int>(b));
      buffer.place = owner.place;
    }
    plan_.arena_bytes = placement.bytes;
    plan_.arena_lower_bound_bytes = placement.lower_bound_bytes;
    plan_.worst_step = std::min(placement.worst_step, std::max(0, end - 1));
  }

  std::int64_t offset_in_root(int buffer) {
    std::int64_t bytes = 0;
    for (; at(buffer).view_of >= 0 || at(buffer).part_of >= 0;) {
      if (at(buffer).part_of >= 0)
        bytes += at(buffer).channel * element_bytes(graph().value(at(buffer).value).type.type);
      buffer = at(buffer).view_of >= 0 ? at(buffer).view_of : at(buffer).part_of;
    }
    return bytes;
  }

  // Results take the place of inputs that end with the step, where the kernel allows it.
  void overwrite_inputs() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      if (step.offer.may_overwrite < 0 || step.outputs.size() != 1 || step.outputs[0] < 0) continue;
      const int from = step.inputs[static_cast<std::size_t>(step.offer.may_overwrite)], to = step.outputs[0];
      if (from < 0 || root(from) == root(to)) continue;
      PlanBuffer &source = at(root(from)), &result = at(to);
      const bool read_twice = std::count_if(step.inputs.begin(), step.inputs.end(),
                                            [&](int i) { return i >= 0 && root(i) == root(from); }) > 1;
      if (source.place != PlanBuffer::Place::arena || source.last != static_cast<int>(s) || read_twice ||
          source.bytes != result.bytes || result.view_of >= 0 || result.part_of >= 0 || at(from).part_of >= 0)
        continue;
      source.last = std::max(source.last, result.last);
      result.view_of = root(from);
    }
  }

  Plan plan_;
  std::span<const KernelInfo* const> kernels_;
  const PlanOptions& options_;
  std::optional<Order> inner_;
  std::map<std::string_view, std::vector<const KernelInfo*>> by_op_;
  std::map<std::pair<ValueId, Order>, int> buffers_;
  std::map<ValueId, Order> native_;  // the order in which a value was made
};

bool fits(const Plan& plan, const PlanOptions& options) {
  return !options.memory_limit_bytes || plan.arena_bytes <= *options.memory_limit_bytes;
}

double seconds_of(const Plan& plan) {
  double sum = 0;
  for (const Step& step : plan.steps) sum += step.offer.estimate.seconds;
  return sum;
}

// The better of both, memory first.
Plan better_of(Plan a, Plan b, const PlanOptions& options) {
  if (fits(a, options) != fits(b, options)) return fits(a, options) ? a : b;
  return seconds_of(a) <= seconds_of(b) ? a : b;
}

}  // namespace

void check_kernels_are_for(const Graph& graph, const std::string& digest) {
  if (digest.empty()) return;
  const std::string here = network_digest(graph);
  check(here == digest, Code::invalid_argument, Hint{"plan this network: tessera plan MODEL -o FILE"},
        "the plan is for another network: it has the digest {}, this one {}", digest, here);
}

std::string op_text(const Node& node) {
  std::string text(name(node.op));
  for (const FusedOp& fused : node.fused) {
    text += '+';
    text += name(fused.op);
  }
  return text;
}

std::string Plan::step_name(std::size_t step) const {
  const Step& s = steps[step];
  if (s.node != Step::kConversion) {
    const Node& node = graph.nodes[static_cast<std::size_t>(s.node)];
    return fmt::format("{} ({})", node.name, name(node.op));
  }
  const PlanBuffer& to = buffers[static_cast<std::size_t>(s.outputs[0])];
  return fmt::format("{} to {}", graph.value(to.value).name, name(to.order));
}

Plan make_plan(Graph graph, std::span<const KernelInfo* const> kernels, const PlanOptions& options) {
  Plan plan = Planner(graph, kernels, options, std::nullopt).run();
  // Node by node, nobody sees that one conversion now is worth many later. So both ways are tried.
  if (graph.nodes.size() > 1 && options.orders)
    plan = better_of(Planner(graph, kernels, options, Order::channels_last).run(), std::move(plan), options);
  // The place of a part is taken as long as anything of the whole is there, which may need more memory than copies.
  if (!fits(plan, options) && options.parts) {
    PlanOptions copying = options;
    copying.parts = false;
    return make_plan(std::move(graph), kernels, copying);
  }
  if (!fits(plan, options)) {
    const std::size_t steps = plan.steps.size();
    fail(Code::out_of_memory,
         "the plan needs {} bytes for values at once, the limit is {}; the most at step {} of {}, {}", plan.arena_bytes,
         *options.memory_limit_bytes, plan.worst_step + 1, steps,
         steps > 0 ? plan.step_name(static_cast<std::size_t>(plan.worst_step)) : "(none)");
  }
  return plan;
}

}  // namespace tessera
