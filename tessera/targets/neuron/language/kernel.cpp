#include "tessera/targets/neuron/language/kernel.h"

#include "tessera/core/error.h"
#include "tessera/targets/neuron/core/core.h"
#include "tessera/targets/neuron/core/limits.h"
#include "tessera/targets/neuron/core/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tessera::neuron {
namespace {

constexpr Engine kAnyButTensor[] = {Engine::vector, Engine::scalar, Engine::gpsimd};
constexpr Engine kVectorOrGpsimd[] = {Engine::vector, Engine::gpsimd};

void check_pass(const NeuronSpec& spec, std::string_view op, const View& dst, std::span<const View> inputs) {
  for (const View& each : inputs) {
    check_operand(spec, op, "the operand", each);
    check_written(op, "the operand", each);
    check(each.partitions() == dst.partitions(), Code::invalid_argument, "{}: {} and {} differ in their partitions", op,
          dst.text(), each.text());
  }
  check_operand(spec, op, "the result", dst);
  check_overlap(op, dst, inputs);
}

void check_per_partition(const NeuronSpec& spec, std::string_view op, const View& dst, const View& operand) {
  check_operand(spec, op, "the operand per partition", operand);
  check_written(op, "the operand per partition", operand);
  check(operand.partitions() == dst.partitions() && operand.free_count() == 1, Code::invalid_argument,
        "{}: the operand per partition is [{}, 1] here, not {}", op, dst.partitions(), operand.text());
}

}  // namespace

Kernel::Kernel(const NeuronSpec& spec, KernelOptions options) : core_(std::make_shared<Core>(spec, options)) {}
Kernel::~Kernel() = default;
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;

const NeuronSpec& Kernel::spec() const { return core_->spec; }
const KernelOptions& Kernel::options() const { return core_->options; }

View Kernel::input(std::string name, const Array& array) {
  View view = core_->make(std::move(name), Memory::hbm, array.type(),
                          {array.shape().dims().begin(), array.shape().dims().end()});
  if (core_->options.values) load_values(view, array);
  view.tile().written = view.tile().complete = true;
  return view;
}

View Kernel::input(std::string name, ElementType type, std::vector<std::int64_t> shape) {
  check(!core_->options.values, Code::invalid_argument, "input '{}' needs values in a run with values", name);
  View view = core_->make(std::move(name), Memory::hbm, type, std::move(shape));
  view.tile().written = view.tile().complete = true;
  return view;
}

View Kernel::input(std::string name, ElementType type, const Array& numbers) {
  View view =
      core_->make(std::move(name), Memory::hbm, type, {numbers.shape().dims().begin(), numbers.shape().dims().end()});
  if (core_->options.values) load_values(view, numbers);
  view.tile().written = view.tile().complete = true;
  return view;
}

View Kernel::output(std::string name, ElementType type, std::vector<std::int64_t> shape) {
  return core_->make(std::move(name), Memory::hbm, type, std::move(shape));
}

Array Kernel::read(const View& view) const {
  check(core_->options.values, Code::invalid_argument, "'{}' has no values: the run is without them", view.tile_name());
  return stored_values(view);
}

View Kernel::sbuf(std::string name, ElementType type, std::vector<std::int64_t> shape, Where where) {
  View view;
  core_->at(where, [&] { view = core_->make(std::move(name), Memory::sbuf, type, std::move(shape)); });
  return view;
}

View Kernel::psum(std::string name, ElementType type, std::vector<std::int64_t> shape, Where where) {
  View view;
  core_->at(where, [&] { view = core_->make(std::move(name), Memory::psum, type, std::move(shape)); });
  return view;
}

View Kernel::placed(std::string name, Memory memory, ElementType type, std::vector<std::int64_t> shape,
                    std::int64_t address, Where where) {
  View view;
  core_->at(where, [&] { view = core_->make(std::move(name), memory, type, std::move(shape), address); });
  return view;
}

void Kernel::zero(View dst, Where where) {
  core_->at(where, [&] {
    check_operand(spec(), "zeros", "the tile", dst);
    check(dst.memory() == Memory::psum, Code::invalid_argument, Hint{"use memset"},
          "only tiles in PSUM are zero at no cost, {} is in {}", dst.text(), name(dst.memory()));
    core_->touch("zeros", dst, Use::write);
    if (options().values) fill(dst, 0);
    dst.tile().written = true;
    dst.tile().sums.push_back(reach(dst));
  });
}

void Kernel::memset(View dst, float value, Engine engine, Where where) {
  core_->at(where, [&] {
    check_engine("memset", engine, kVectorOrGpsimd);
    check_operand(spec(), "memset", "the result", dst);
    if (options().values) fill(dst, value);
    core_->record(engine, "memset", pass_cost(spec(), engine, dst, {}), dst, {});
  });
}

void Kernel::dma_copy(View dst, const View& src, Where where) {
  core_->at(where, [&] {
    check(!dst.empty() && !src.empty(), Code::invalid_argument, "dma_copy: an operand is missing");
    check(dst.memory() != Memory::psum && src.memory() != Memory::psum, Code::invalid_argument,
          Hint{"copy between PSUM and SBUF with tensor_copy"},
          "dma_copy from {} in {} to {} in {}: DMA does not reach PSUM", src.text(), name(src.memory()), dst.text(),
          name(dst.memory()));
    if (dst.memory() != Memory::hbm) check_operand(spec(), "dma_copy", "the destination", dst);
    if (src.memory() != Memory::hbm) check_operand(spec(), "dma_copy", "the source", src);
    check_same_shape("dma_copy", dst, src);
    check_written("dma_copy", "the source", src);
    check_overlap("dma_copy", dst, std::span(&src, 1));
    if (options().values) copy_values(dst, src);
    core_->record_dma(dma_cost(spec(), dst, src), dst, src);
  });
}

void Kernel::nc_matmul(View dst, const View& stationary, const View& moving, Accumulate accumulate, Where where) {
  core_->at(where, [&] {
    check_matmul(spec(), dst, stationary, moving);
    check_written("nc_matmul", "the stationary operand", stationary);
    check_written("nc_matmul", "the moving operand", moving);
    std::vector<Access>& sums = dst.tile().sums;
    const Access part = reach(dst);
    const bool summed = std::any_of(sums.begin(), sums.end(), [&](const Access& each) { return each.covers(part); });
    if (!summed) sums.push_back(part);
    const bool automatic = accumulate == Accumulate::automatic;
    const auto& writes = dst.tile().writes;
    const bool written =
        summed || std::any_of(writes.begin(), writes.end(), [&](const Access& each) { return each.overlaps(part); });
    const bool add =
        accumulate == Accumulate::add || (automatic && summed) || (accumulate == Accumulate::where_written && written);
    if (add) check_written("nc_matmul", "the sum", dst);
    if (options().values) matmul_values(dst, stationary, moving, add);
    const View inputs[] = {stationary, moving};
    core_->record(Engine::tensor, "matmul", matmul_cost(spec(), stationary, moving), dst, inputs,
                  add ? Use::add : Use::write, automatic);
    Profile& totals = core_->totals;
    ++totals.matmul_count;
    if (moving.type() == ElementType::float32) ++totals.float32_matmul_count;
    totals.matmul_flops += 2.0 * static_cast<double>(stationary.count()) * static_cast<double>(moving.free_count());
    totals.peak_flop_per_s = moving.type() == ElementType::float32 ? spec().fp32_flop_per_s : spec().fp16_flop_per_s;
  });
}

void Kernel::nc_transpose(View dst, const View& src, Engine engine, Where where) {
  core_->at(where, [&] {
    check_transpose(spec(), engine, dst, src);
    check_written("nc_transpose", "the operand", src);
    if (options().values) transpose_values(dst, src);
    core_->record(engine, "transpose", transpose_cost(spec(), engine, src), dst, std::span(&src, 1));
    if (engine != Engine::tensor) return;
    ++core_->totals.transpose_count;
    core_->totals.transpose_flops += 2.0 * static_cast<double>(src.count()) * static_cast<double>(src.partitions());
  });
}

void Kernel::tensor_copy(View dst, const View& src, Engine engine, Where where) {
  core_->at(where, [&] {
    check_engine("tensor_copy", engine, kAnyButTensor);
    check_pass(spec(), "tensor_copy", dst, std::span(&src, 1));
    check_same_shape("tensor_copy", dst, src);
    if (options().values) copy_values(dst, src);
    core_->record(engine, "copy", pass_cost(spec(), engine, dst, std::span(&src, 1)), dst, std::span(&src, 1));
  });
}

Engine Kernel::engine_for_copy(const View& dst, const View& src) const {
  const auto through_ns = [&](Engine engine) {
    return core_->work_ns(engine) + pass_cost(spec(), engine, dst, std::span(&src, 1)).busy_ns;
  };
  return through_ns(Engine::scalar) < through_ns(Engine::vector) ? Engine::scalar : Engine::vector;
}

void Kernel::tensor_tensor(View dst, const View& a, const View& b, MathOp op, Engine engine, Where where) {
  core_->at(where, [&] {
    check_engine("tensor_tensor", engine, kVectorOrGpsimd);
    const View inputs[] = {a, b};
    check_pass(spec(), "tensor_tensor", dst, inputs);
    check_same_shape("tensor_tensor", dst, a);
    check_same_shape("tensor_tensor", dst, b);
    check(op != MathOp::copy, Code::invalid_argument, "tensor_tensor needs an operation of two operands");
    if (options().values) combine_values(dst, a, b, op);
    core_->record(engine, name(op), pass_cost(spec(), engine, dst, inputs), dst, inputs);
  });
}

void Kernel::tensor_scalar(View dst, const View& a, MathOp op0, const Operand& operand0, MathOp op1,
                           const Operand& operand1, Engine engine, Where where) {
  core_->at(where, [&] {
    check_engine("tensor_scalar", engine, kAnyButTensor);
    check_pass(spec(), "tensor_scalar", dst, std::span(&a, 1));
    check_same_shape("tensor_scalar", dst, a);
    std::vector<View> inputs{a};
    for (const Operand* each : {&operand0, &operand1})
      if (const View* view = std::get_if<View>(each)) {
        check_per_partition(spec(), "tensor_scalar", dst, *view);
        inputs.push_back(*view);
      }
    if (options().values) scalar_values(dst, a, op0, operand0, op1, operand1);
    core_->record(engine, "scalar", pass_cost(spec(), engine, dst, std::span(&a, 1)), dst, inputs);
  });
}

void Kernel::tensor_reduce(View dst, const View& src, MathOp op, int axes, Where where) {
  core_->at(where, [&] {
    check_pass(spec(), "tensor_reduce", dst, std::span(&src, 1));
    check(op == MathOp::add || op == MathOp::max || op == MathOp::min, Code::invalid_argument,
          "tensor_reduce reduces by add, max or min, not by {}", name(op));
    check(axes >= 1 && axes < src.rank(), Code::invalid_argument,
          "tensor_reduce over {} axes of {}: it goes over free dimensions only", axes, src.text());
    std::int64_t kept = 1;
    for (int d = 1; d < src.rank() - axes; ++d) kept *= src.size(d);
    check(dst.free_count() == kept, Code::invalid_argument,
          "tensor_reduce over the last {} axes of {} leaves {} elements in a partition, the result is {}", axes,
          src.text(), kept, dst.text());
    if (options().values) reduce_values(dst, src, op, axes);
    core_->record(Engine::vector, "reduce", pass_cost(spec(), Engine::vector, dst, std::span(&src, 1)), dst,
                  std::span(&src, 1));
  });
}

void Kernel::activation(View dst, Function function, const View& src, const View& bias, float scale, Where where) {
  core_->at(where, [&] {
    check_pass(spec(), "activation", dst, std::span(&src, 1));
    check_same_shape("activation", dst, src);
    std::vector<View> inputs{src};
    if (!bias.empty()) {
      check_per_partition(spec(), "activation", dst, bias);
      inputs.push_back(bias);
    }
    if (options().values) activation_values(dst, function, src, bias, scale);
    core_->record(Engine::scalar, "activation", pass_cost(spec(), Engine::scalar, dst, std::span(&src, 1)), dst,
                  inputs);
  });
}

void Kernel::pass(std::string_view op, Engine engine, std::vector<View> results, const std::vector<View>& inputs,
                  int streams, Where where) {
  core_->at(where, [&] {
    check(!results.empty() && streams >= 0 && static_cast<std::size_t>(streams) <= inputs.size(),
          Code::invalid_argument, "{}: {} results and {} inputs, of which {} are streams", op, results.size(),
          inputs.size(), streams);
    check_engine(op, engine, kAnyButTensor);
    for (const View& each : inputs) {
      check_operand(spec(), op, "the operand", each);
      check_written(op, "the operand", each);
    }
    for (const View& each : results) check_operand(spec(), op, "the result", each);
    const std::span<const View> read = std::span(inputs).first(static_cast<std::size_t>(streams));
    core_->record(engine, op, pass_cost(spec(), engine, results[0], read), results, inputs);
  });
}

void Kernel::transfer(View dst, const View& src, bool read_too, Where where) {
  core_->at(where, [&] {
    check(dst.memory() != Memory::psum && src.memory() != Memory::psum, Code::invalid_argument,
          Hint{"copy between PSUM and SBUF with tensor_copy"},
          "dma_copy from {} in {} to {} in {}: DMA does not reach PSUM", src.text(), name(src.memory()), dst.text(),
          name(dst.memory()));
    if (dst.memory() != Memory::hbm) check_operand(spec(), "dma_copy", "the destination", dst);
    if (src.memory() != Memory::hbm) check_operand(spec(), "dma_copy", "the source", src);
    check_written("dma_copy", "the source", src);
    if (read_too) check_written("dma_copy", "the destination", dst);
    // An indirect copy has the runs of its side on chip.
    const View& shaped = same_shape(dst, src) ? src : dst.memory() != Memory::hbm ? dst : src;
    const View& runs = same_shape(dst, src) || dst.memory() != Memory::hbm ? dst : src;
    core_->record_dma(dma_cost(spec(), runs, shaped), dst, src);
  });
}

std::span<float> Kernel::values(const View& view) const {
  return core_->options.values ? values_of(view) : std::span<float>();
}
void Kernel::wrote(const View& view) const {
  if (core_->options.values) round_values(view);
}

const Lifetimes& Kernel::lifetimes() const { return core_->lifetimes(); }

std::int64_t Kernel::unwritten(const View& view) const {
  if (view.memory() != Memory::hbm || view.tile().complete) return 0;
  const Pattern pattern(view);
  std::int64_t all = 0;
  pattern.for_runs([&](std::int64_t, std::int64_t length) { all += length; });
  return all - view.tile().elements.count(pattern);
}

void Kernel::begin_affine_range(Where where) {
  core_->at(where, [&] { core_->begin_loop(core_->line()); });
}
void Kernel::next_turn() { core_->next_turn(); }
void Kernel::end_affine_range() { core_->end_loop(); }
std::int64_t Kernel::turn() const { return core_->turn(); }
void Kernel::set_turn(std::int64_t turn) { core_->set_turn(turn); }

void Kernel::run_turns_as_written() { core_->turns_as_written = true; }
const std::string& Kernel::carried() const { return core_->carried; }
void Kernel::begin_sequential_range() { core_->begin_ordered_loop(); }
void Kernel::next_sequential_turn() { core_->next_ordered_turn(); }
void Kernel::end_sequential_range() { core_->end_ordered_loop(); }

void Kernel::set_location(std::string location) { core_->location = std::move(location); }

Profile Kernel::profile() const { return core_->profile(); }
const sim::Timeline& Kernel::timeline() const { return core_->timeline; }
const std::string& Kernel::line_of(sim::TaskId task) const { return core_->script_lines.of(task); }
const std::vector<TensorTraffic>& Kernel::traffic() const { return core_->traffic.tensors(); }
sim::Schedule Kernel::schedule() const { return sim::simulate(core_->timeline); }

}  // namespace tessera::neuron
