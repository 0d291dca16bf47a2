#include "tessera/targets/cuda/program/program.h"

#include "tessera/core/error.h"
#include "tessera/kernel_plan/arena.h"
#include "tessera/targets/cuda/kernels/move/copy.h"
#include "tessera/targets/cuda/kernels/strides.h"

#include <algorithm>
#include <cstring>

namespace tessera::cuda {
namespace {

const CudaKernel& kernel_of(const KernelInfo& info) {
  for (const CudaKernel& kernel : kernels())
    if (&kernel.info == &info) return kernel;
  fail(Code::internal, "kernel {} is not one of this backend", info.name);
}

Problem problem_of(const Plan& plan, const Step& step) {
  const Node& node = plan.graph.nodes[static_cast<std::size_t>(step.node)];
  Problem problem{plan.graph, node,        infer_node(plan.graph, node), step.offer.inputs, plan.machine, plan.threads,
                  plan.exact, plan.weights};
  const auto pixel = [&](int buffer) { return buffer < 0 ? 0 : plan.buffers[static_cast<std::size_t>(buffer)].pixel; };
  for (const int buffer : step.inputs) problem.input_pixels.push_back(pixel(buffer));
  for (const int buffer : step.outputs) problem.output_pixels.push_back(pixel(buffer));
  return problem;
}

// A constant's bytes in another order.
std::vector<std::byte> in_order(const Array& array, Order order) {
  std::vector<std::byte> out(array.bytes().size());
  const Shape shape = array.shape();
  const std::int64_t bytes = element_bytes(array.type());
  const std::vector<std::int64_t> to = strides_of(shape, order);
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * to[d];
    std::memcpy(out.data() + at * bytes, array.bytes().data() + i * bytes, static_cast<std::size_t>(bytes));
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < shape[static_cast<int>(d)]) break;
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace

Program::Program(Plan plan, Device device)
    : plan_(std::move(plan)), device_(device), stream_(device.library.context()), constants_(plan_.buffers.size()) {
  const Context& context = device_.library.context();
  context.make_current();
  arena_ = Memory(context, plan_.arena_bytes);
  std::int64_t input_bytes = 0;
  for (const int buffer : plan_.input_buffers) {
    input_offsets_.push_back(input_bytes);
    input_bytes += round_up(plan_.buffers[static_cast<std::size_t>(buffer)].bytes, std::int64_t{256});
  }
  inputs_ = Memory(context, input_bytes);
  for (const Step& step : plan_.steps) launches_.push_back(launch_of_step(step));
  graph_.emplace(stream_, [&] {
    for (const Launch& launch : launches_) launch(stream_);
  });
}

Launch Program::launch_of_step(const Step& step) {
  if (step.offer.view_of >= 0 || step.in_place) return nothing();
  if (step.node == Step::kConversion) {
    const PlanBuffer &from = plan_.buffers[static_cast<std::size_t>(step.inputs[0])],
                     &to = plan_.buffers[static_cast<std::size_t>(step.outputs[0])];
    const TensorType& type = plan_.graph.value(to.value).type;
    return reorder_launch(device_.library, type.shape(), type.type, from.order, address_of(step.inputs[0]), type.type,
                          to.order, const_cast<void*>(address_of(step.outputs[0])));
  }
  const CudaKernel& kernel = kernel_of(*step.kernel);
  const Problem problem = problem_of(plan_, step);
  StepAddresses at;
  at.input = [&](std::size_t i) { return address_of(step.inputs.at(i)); };
  for (const int buffer : step.outputs) at.outputs.push_back(const_cast<void*>(address_of(buffer)));
  at.scratch = const_cast<void*>(address_of(step.scratch));
  at.take_uncast = [&](std::size_t i) { return take_uncast(step.inputs.at(i)); };
  return with_context(fmt::format("while making node '{}' ready for {}", problem.node.name, step.kernel->name),
                      [&] { return kernel.prepare(kernel.info, problem, step.offer, device_, at); });
}

const float* Program::take_uncast(int buffer) {
  const auto reads = [&](const Step& step) { return std::ranges::count(step.inputs, buffer); };
  std::int64_t readers = std::ranges::count(plan_.output_buffers, buffer);
  for (const Step& step : plan_.steps) readers += reads(step);
  for (const PlanBuffer& other : plan_.buffers) readers += other.view_of == buffer || other.part_of == buffer;
  for (std::size_t s = 0; s < launches_.size(); ++s) {
    const Step& step = plan_.steps[s];
    if (step.node == Step::kConversion || step.outputs.empty() || step.outputs[0] != buffer) continue;
    const Node& node = plan_.graph.nodes[static_cast<std::size_t>(step.node)];
    const PlanBuffer& from = plan_.buffers[static_cast<std::size_t>(step.inputs[0])];
    if (!std::holds_alternative<Cast>(node.op) || from.place != PlanBuffer::Place::input || readers != 1 ||
        from.order != Order::row_major || plan_.graph.value(from.value).type.type != ElementType::float32)
      return nullptr;
    launches_[s] = nothing();
    return static_cast<const float*>(address_of(step.inputs[0]));
  }
  return nullptr;
}

const void* Program::address_of(int buffer) {
  if (buffer < 0) return nullptr;
  const PlanBuffer& b = plan_.buffers[static_cast<std::size_t>(buffer)];
  if (b.place == PlanBuffer::Place::arena) return static_cast<const std::byte*>(arena_.data()) + b.offset;
  int root = buffer;
  while (plan_.buffers[static_cast<std::size_t>(root)].view_of >= 0)
    root = plan_.buffers[static_cast<std::size_t>(root)].view_of;
  if (b.place == PlanBuffer::Place::constant) return constant_address(root);
  const auto input = std::ranges::find(plan_.input_buffers, root) - plan_.input_buffers.begin();
  return static_cast<const std::byte*>(inputs_.data()) + input_offsets_.at(static_cast<std::size_t>(input));
}

const void* Program::constant_address(int buffer) {
  std::shared_ptr<const Memory>& memory = constants_[static_cast<std::size_t>(buffer)];
  const PlanBuffer& b = plan_.buffers[static_cast<std::size_t>(buffer)];
  if (!memory)
    memory = device_.weights.get(plan_.graph.value(b.value).constant, fmt::format("plain {}", name(b.order)),
                                 [&](const Array& array) { return in_order(array, b.order); });
  return memory->data();
}

std::vector<Array> Program::run(std::span<const Array* const> inputs) {
  const std::lock_guard lock(mutex_);
  device_.library.context().make_current();
  check(inputs.size() == plan_.input_buffers.size(), Code::invalid_argument,
        "the program takes {} inputs, {} were given", plan_.input_buffers.size(), inputs.size());
  const auto copy_in = [&](std::size_t i) {
    const PlanBuffer& buffer = plan_.buffers[static_cast<std::size_t>(plan_.input_buffers[i])];
    check(static_cast<std::int64_t>(inputs[i]->bytes().size()) == buffer.bytes, Code::invalid_argument,
          "input {} has {} bytes, the program is for {}", i, inputs[i]->bytes().size(), buffer.bytes);
    inputs_.write(stream_, inputs[i]->bytes(), input_offsets_[i]);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) copy_in(i);
  graph_->replay(stream_);
  std::vector<Array> outputs;
  for (std::size_t i = 0; i < plan_.output_buffers.size(); ++i) {
    const TensorType& type = plan_.graph.value(plan_.graph.outputs[i]).type;
    outputs.emplace_back(type.type, type.shape());
    copy_out(stream_, address_of(plan_.output_buffers[i]), outputs.back().bytes());
  }
  stream_.synchronize();
  return outputs;
}

std::vector<double> Program::time_replays(int count) {
  const std::lock_guard lock(mutex_);
  const Context& context = device_.library.context();
  context.make_current();
  const Event before(context), after(context);
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    before.record(stream_);
    graph_->replay(stream_);
    after.record(stream_);
    after.synchronize();
    times.push_back(milliseconds_between(before, after));
  }
  return times;
}

std::vector<double> Program::time_steps() {
  const std::lock_guard lock(mutex_);
  const Context& context = device_.library.context();
  context.make_current();
  std::vector<std::unique_ptr<Event>> events;
  for (std::size_t s = 0; s <= launches_.size(); ++s) events.push_back(std::make_unique<Event>(context));
  events[0]->record(stream_);
  for (std::size_t s = 0; s < launches_.size(); ++s) {
    launches_[s](stream_);
    events[s + 1]->record(stream_);
  }
  stream_.synchronize();
  std::vector<double> times;
  for (std::size_t s = 0; s < launches_.size(); ++s) times.push_back(milliseconds_between(*events[s], *events[s + 1]));
  return times;
}

std::vector<double> Program::time_steps_repeated(int copies) {
  const std::lock_guard lock(mutex_);
  const Context& context = device_.library.context();
  context.make_current();
  const Event before(context), after(context);
  constexpr int kReplays = 7;
  std::vector<double> times;
  for (const Launch& launch : launches_) {
    const cuda::Graph graph(stream_, [&] {
      for (int i = 0; i < copies; ++i) launch(stream_);
    });
    std::vector<double> replays;
    for (int i = 0; i < kReplays; ++i) {
      before.record(stream_);
      graph.replay(stream_);
      after.record(stream_);
      after.synchronize();
      replays.push_back(milliseconds_between(before, after) / copies);
    }
    std::ranges::nth_element(replays, replays.begin() + kReplays / 2);
    times.push_back(replays[kReplays / 2]);
  }
  return times;
}

}  // namespace tessera::cuda
