#include "tessera/targets/cpu/program/program.h"

#include "tessera/core/error.h"
#include "tessera/kernel_plan/arena.h"
#include "tessera/kernel_plan/parts.h"
#include "tessera/targets/cpu/kernels/move/convert_order.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <new>

namespace tessera::cpu {
namespace {

constexpr std::uintptr_t kOutputAlignment = 16;  // what allocators give, and kernels may count on

const CpuKernel& kernel_of(const KernelInfo& info) {
  for (const CpuKernel& kernel : kernels())
    if (&kernel.info == &info) return kernel;
  fail(Code::internal, "kernel {} is not one of this backend", info.name);
}

// The orders in which a step finds its inputs are those that its kernel asked for.
Problem problem_of(const Plan& plan, const Step& step) {
  const Node& node = plan.graph.nodes[static_cast<std::size_t>(step.node)];
  Problem problem{plan.graph, node,        infer_node(plan.graph, node), step.offer.inputs, plan.machine, plan.threads,
                  plan.exact, plan.weights};
  const auto pixel = [&](int buffer) { return buffer < 0 ? 0 : plan.buffers[static_cast<std::size_t>(buffer)].pixel; };
  for (const int buffer : step.inputs) problem.input_pixels.push_back(pixel(buffer));
  for (const int buffer : step.outputs) problem.output_pixels.push_back(pixel(buffer));
  return problem;
}

Runner conversion(const Plan& plan, const Step& step) {
  const PlanBuffer &from = plan.buffers[static_cast<std::size_t>(step.inputs[0])],
                   &to = plan.buffers[static_cast<std::size_t>(step.outputs[0])];
  const TensorType& type = plan.graph.value(to.value).type;
  return [shape = type.shape(), bytes = element_bytes(type.type), from_order = from.order,
          to_order = to.order](const StepArgs& args) {
    convert_order(args.inputs[0], from_order, args.outputs[0], to_order, shape, bytes);
  };
}

PackedWeights make_arena(const Plan& plan) {
  try {
    return PackedWeights(static_cast<std::size_t>(std::max<std::int64_t>(plan.arena_bytes, kArenaAlignment)));
  } catch (const std::bad_alloc&) {
    fail(Code::out_of_memory, Hint{"a smaller batch or input needs less"},
         "a run needs {} bytes at once for values, the most at {}; the system has not got them", plan.arena_bytes,
         plan.steps.empty() ? "no step" : plan.step_name(static_cast<std::size_t>(plan.worst_step)));
  }
}

}  // namespace

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Program::Program(Plan plan, WeightCache& weights) : plan_(std::move(plan)) {
  converted_.resize(plan_.buffers.size());
  for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
    const PlanBuffer& buffer = plan_.buffers[b];
    if (buffer.place != PlanBuffer::Place::constant || buffer.view_of >= 0 || buffer.order == Order::row_major)
      continue;
    const Array& array = *plan_.graph.value(buffer.value).constant;
    converted_[b] = Bytes(array.bytes().size());
    convert_order(array.bytes().data(), Order::row_major, converted_[b].data(), buffer.order, array.shape(),
                  element_bytes(array.type()));
  }
  for (Step& step : plan_.steps) {
    if (step.node == Step::kConversion) {
      runners_.push_back(conversion(plan_, step));
      continue;
    }
    if (step.offer.view_of >= 0 || step.in_place) {
      runners_.emplace_back([](const StepArgs&) {});
      continue;
    }
    const CpuKernel& kernel = kernel_of(*step.kernel);
    const Problem problem = problem_of(plan_, step);
    const WeightCache::Watch watch;
    runners_.push_back(
        with_context(fmt::format("while making node '{}' ready for {}", problem.node.name, step.kernel->name),
                     [&] { return kernel.prepare(kernel.info, problem, step.offer, weights); }));
    // What was packed need not be there any more, unless the node reads it a second time.
    std::map<const Array*, int> reads;
    for (std::size_t i = 0; i < problem.node.inputs.size(); ++i) ++reads[problem.constant(i)];
    for (std::size_t i = 0; i < problem.node.inputs.size(); ++i)
      if (const Array* constant = problem.constant(i); constant != nullptr && watch.saw(constant))
        if (reads[constant] == 1) step.inputs[i] = -1;
  }
}

const std::byte* Program::constant(int buffer) const {
  const std::size_t b = static_cast<std::size_t>(buffer);
  return converted_[b].empty() ? plan_.graph.value(plan_.buffers[b].value).constant->bytes().data()
                               : converted_[b].data();
}

Memory::Memory(const Program& program) : arena_(make_arena(program.plan())) {
  const Plan& plan = program.plan();
  // The address of a buffer; null and a note in `from_caller` for one of the caller's.
  const auto address = [&](int buffer, std::size_t slot, std::vector<FromCaller>& from_caller) -> std::byte* {
    if (buffer < 0) return nullptr;
    int root = buffer;
    while (plan.buffers[static_cast<std::size_t>(root)].view_of >= 0)
      root = plan.buffers[static_cast<std::size_t>(root)].view_of;
    const PlanBuffer& b = plan.buffers[static_cast<std::size_t>(root)];
    switch (b.place) {
      case PlanBuffer::Place::arena: return arena_.data() + b.offset;
      case PlanBuffer::Place::constant: return const_cast<std::byte*>(program.constant(root));
      case PlanBuffer::Place::input: break;
    }
    const auto input = std::find(plan.input_buffers.begin(), plan.input_buffers.end(), root);
    from_caller.push_back({slot, static_cast<std::size_t>(input - plan.input_buffers.begin())});
    return nullptr;
  };
  const auto root_of = [&](int buffer) { return buffer < 0 ? buffer : tessera::root_of(plan, buffer); };
  std::vector<int> place_of(plan.buffers.size(), -1);  // in in_place_, of a root
  for (std::size_t i = 0; i < plan.output_buffers.size(); ++i) {
    const int root = root_of(plan.output_buffers[i]);
    const PlanBuffer& owner = plan.buffers[static_cast<std::size_t>(root)];
    const bool has_parts = std::any_of(plan.buffers.begin(), plan.buffers.end(), [&](const PlanBuffer& buffer) {
      return buffer.part_of >= 0 && tessera::root_of(plan, buffer.part_of) == root;
    });
    const bool shared = std::count_if(plan.output_buffers.begin(), plan.output_buffers.end(),
                                      [&](int other) { return root_of(other) == root; }) > 1;
    if (owner.place != PlanBuffer::Place::arena || shared || has_parts ||
        owner.bytes != plan.buffers[static_cast<std::size_t>(plan.output_buffers[i])].bytes)
      continue;
    place_of[static_cast<std::size_t>(root)] = static_cast<int>(in_place_.size());
    in_place_.push_back({i, arena_.data() + owner.offset, {}, {}});
  }
  const auto in_place = [&](int buffer) -> InPlace* {
    const int root = root_of(buffer), at = root < 0 ? -1 : place_of[static_cast<std::size_t>(root)];
    return at < 0 ? nullptr : &in_place_[static_cast<std::size_t>(at)];
  };
  std::vector<FromCaller> none;
  for (const Step& step : plan.steps) {
    first_input_.push_back(inputs_.size());
    first_output_.push_back(outputs_.size());
    for (const int buffer : step.inputs) {
      const std::byte* at = address(buffer, inputs_.size(), from_caller_);
      if (InPlace* place = in_place(buffer)) place->inputs.push_back(inputs_.size());
      inputs_.push_back(at);
    }
    for (const int buffer : step.outputs) {
      if (InPlace* place = in_place(buffer)) place->outputs.push_back(outputs_.size());
      std::byte* const at = address(buffer, outputs_.size(), outputs_from_caller_);
      outputs_.push_back(at);
    }
    scratch_.push_back(address(step.scratch, 0, none));
  }
  first_input_.push_back(inputs_.size());
  first_output_.push_back(outputs_.size());
  for (const int buffer : plan.output_buffers) {
    const std::byte* at = address(buffer, results_.size(), results_from_caller_);
    results_.push_back(at);
  }
}

void Program::run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, Memory& memory,
                  std::span<StepInterval> times, const std::function<void(std::size_t, const StepArgs&)>& after) const {
  for (const auto& [slot, input] : memory.from_caller_) memory.inputs_[slot] = inputs[input];
  for (const auto& [slot, input] : memory.results_from_caller_) memory.results_[slot] = inputs[input];
  for (const auto& [slot, input] : memory.outputs_from_caller_)
    memory.outputs_[slot] = const_cast<std::byte*>(inputs[input]);
  for (const Memory::InPlace& place : memory.in_place_) {
    std::byte* const wanted = outputs[place.result];
    const bool aligned = wanted != nullptr && reinterpret_cast<std::uintptr_t>(wanted) % kOutputAlignment == 0;
    std::byte* const at = aligned ? wanted : place.in_arena;
    for (const std::size_t slot : place.inputs) memory.inputs_[slot] = at;
    for (const std::size_t slot : place.outputs) memory.outputs_[slot] = at;
    memory.results_[place.result] = at;
  }
  for (std::size_t s = 0; s < runners_.size(); ++s) {
    const std::size_t i = memory.first_input_[s], o = memory.first_output_[s];
    const StepArgs args{{memory.inputs_.data() + i, memory.first_input_[s + 1] - i},
                        {memory.outputs_.data() + o, memory.first_output_[s + 1] - o},
                        memory.scratch_[s]};
    if (!times.empty()) times[s].begin_ns = now_ns();
    runners_[s](args);
    if (!times.empty()) times[s].end_ns = now_ns();
    if (after) after(s, args);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int64_t bytes = plan_.buffers[static_cast<std::size_t>(plan_.output_buffers[i])].bytes;
    if (bytes > 0 && outputs[i] != memory.results_[i])
      std::memcpy(outputs[i], memory.results_[i], static_cast<std::size_t>(bytes));
  }
}

}  // namespace tessera::cpu
