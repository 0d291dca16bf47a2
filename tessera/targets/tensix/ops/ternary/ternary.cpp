#include "tessera/targets/tensix/ops/ternary/ternary.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/operand_facts.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/card/shard_inheritance.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace tessera::tensix {
namespace {

constexpr std::array kFunctions = {
#define TERNARY_FUNCTION(name, result, operands, value_given, expression)            \
  TernaryFunction{#name, TernaryResult::result, OperandTypes::operands, value_given, \
                  [](double a, double b, double c, [[maybe_unused]] double v) -> double { return expression; }},
#include "tessera/targets/tensix/ops/ternary/ternary_functions.def"
#undef TERNARY_FUNCTION
};

using Operands = std::array<Operand, 3>;

Operand operand_of(const TensorOrNumber& x) {
  if (const auto* tensor = std::get_if<DeviceTensor>(&x)) return {tensor};
  return {nullptr, std::get<double>(x)};
}

// Repeated to the result's shape, as a core reads them.
std::vector<double> values_of(const Operand& x, const Shape& shape, DType number_dtype, bool float32) {
  if (x.tensor != nullptr ? is_integer(x.spec()->dtype()) : is_integer(number_dtype)) {
    const std::vector<std::int64_t> integers = integers_of(x, shape);
    return {integers.begin(), integers.end()};
  }
  const std::vector<float> fractions = fractions_of(x, shape, number_dtype);
  std::vector<double> out(fractions.size());
  std::ranges::transform(fractions, out.begin(), [&](float v) { return double{float32 ? v : widen(v)}; });
  return out;
}

Tensor ternary_tensor(const TernaryFunction& f, const Operands& operands, const TensorSpec& target, DType computed,
                      double value) {
  const Shape& shape = target.logical_shape();
  const bool float32 = computed == DType::float32 || target.dtype() == DType::float32;
  const std::vector<double> a = values_of(operands[0], shape, computed, float32),
                            b = values_of(operands[1], shape, computed, float32),
                            c = values_of(operands[2], shape, computed, float32);
  const auto result = [&](std::size_t i) { return f.value(a[i], b[i], c[i], value); };
  if (is_integer(computed)) {
    std::vector<std::int64_t> y(a.size());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int64_t>(result(i));
    return tensor_of(y, target);
  }
  std::vector<float> y(a.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = from_vector_unit(static_cast<float>(result(i)), float32);
  return tensor_of(y, target);
}

}  // namespace

std::span<const TernaryFunction> ternary_functions() { return kFunctions; }

const TernaryFunction& ternary_function(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &TernaryFunction::name);
  check(found != kFunctions.end(), Code::not_found, "no function of three operands is called '{}'", name);
  return *found;
}

DeviceTensor ternary(const TernaryFunction& f, const DeviceTensor& a, const TensorOrNumber& b, const TensorOrNumber& c,
                     const TernaryOptions& options) {
  const Operands operands = {Operand{&a}, operand_of(b), operand_of(c)};
  Shape shape = a.spec().logical_shape();
  for (const Operand& x : operands) {
    if (x.tensor == nullptr) continue;
    x.tensor->check_allocated();
    check(x.tensor->device() == a.device(), Code::invalid_argument, "{}: the tensors are on different devices", f.name);
    shape = broadcast_shape(f.name, shape, x.shape());
  }
  const Operand& chosen = operands[1].tensor != nullptr   ? operands[1]
                          : operands[2].tensor != nullptr ? operands[2]
                                                          : operands[0];
  const DType dtype = (f.result == TernaryResult::first ? operands[0] : chosen).spec()->dtype();
  for (const Operand& x : operands) {
    const bool predicate = f.result == TernaryResult::chosen && x.tensor == &a;
    if (x.tensor == nullptr) continue;
    check(takes(f.operands, x.spec()->dtype()), Code::unsupported, Hint{"use typecast"},
          "{}: operands of {} are not supported", f.name, name(x.spec()->dtype()));
    // A choice between a tensor and a number is a program of two operands, which do not mix.
    const bool lone =
        f.result == TernaryResult::chosen && (operands[1].tensor == nullptr) != (operands[2].tensor == nullptr);
    const bool converts = is_integer(a.spec().dtype()) && is_floating(dtype);
    check(!predicate || !lone || converts || a.spec().dtype() == dtype, Code::unsupported, Hint{"use typecast"},
          "{}: mixed dtypes {} and {} are not supported together", f.name, name(a.spec().dtype()), name(dtype));
    check(predicate || is_floating(x.spec()->dtype()) == is_floating(dtype), Code::unsupported, Hint{"use typecast"},
          "{}: mixed dtypes {} and {} are not supported together", f.name, name(dtype), name(x.spec()->dtype()));
  }

  // Predicates become fractions where the values are; rows become tiles.
  if (is_integer(a.spec().dtype()) && is_floating(dtype))
    return ternary(f, typecast(a, is_block_float(dtype) ? DType::bfloat16 : dtype), b, c, options);
  if (std::ranges::any_of(operands, [](const Operand& x) { return x.tensor != nullptr && is_rows(*x.tensor); })) {
    check(!options.output, Code::unsupported, Hint{"convert to TILE layout first"},
          "{}: a given output tensor and ROW_MAJOR inputs do not go together", f.name);
    const auto in_tiles = [](const TensorOrNumber& x) {
      const auto* tensor = std::get_if<DeviceTensor>(&x);
      return tensor != nullptr ? TensorOrNumber(tiled(*tensor)) : x;
    };
    const DeviceTensor y = ternary(f, tiled(a), in_tiles(b), in_tiles(c), options);
    return is_rows(a) ? to_layout(y, Layout::row_major) : y;
  }

  const TensorSpec& from = a.spec();
  MemoryConfig place = options.memory_config ? placement_like(options.memory_config, from, a.device()->grid())
                       : from.logical_shape() == shape || !from.memory_config().shard_spec()
                           ? from.memory_config()
                           : inherited_placement(from, shape);
  if (options.output) check_output(f.name, *options.output, shape, a);
  DeviceTensor y = options.output
                       ? *options.output
                       : DeviceTensor::allocate(a.device(), TensorSpec(shape, dtype, Layout::tile, place, from.tile()));
  const CoreRangeSet cores = options.cores.value_or(all_cores(*a.device()));
  std::vector<CircularBuffer> buffers;
  TraceRecord record{ProgramKind::ternary, shape.to_string(), {}, nullptr, std::string(f.name)};
  std::vector<const DeviceTensor*> inputs;
  std::vector<OperandFacts> facts;
  for (const Operand& x : operands) {
    if (x.tensor == nullptr) continue;
    buffers.push_back({"in", cores, 2 * tile_bytes(x.spec()->dtype())});
    record.transfers.push_back(stream_transfers(*x.tensor, y).front());
    inputs.push_back(x.tensor);
    facts.push_back(facts_of(*x.spec()));
  }
  buffers.push_back({"out", cores, 2 * tile_bytes(y.spec().dtype())});
  check_program_fits(*a.device(), buffers);
  record.transfers.push_back(stream_transfers(y, y).back());
  facts.push_back(facts_of(y.spec()));
  record.work = counted(ProgramKind::ternary, std::move(facts), options.cores);
  write_values(y, [&] { return ternary_tensor(f, operands, y.spec(), dtype, options.value); });
  finish_program(std::move(record), inputs, y);
  return y;
}

namespace {
// Every tile of every operand once through the vector unit.
void count_ternary(TensorWork& w) { w.element_wise(w.inputs(), false); }
}  // namespace

const CardOp card_op_ternary = {.kind = ProgramKind::ternary, .count = count_ternary};

}  // namespace tessera::tensix
