#include "tessera/targets/tensix/ops/elementwise/elementwise.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/operand_facts.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/card/shard_inheritance.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_plan.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_values.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include <algorithm>
#include <cmath>

namespace tessera::tensix {
namespace {

// Which dtype an integer operand is converted to before it meets a fraction: TTNN does so for products and quotients
// only.
std::optional<DType> converted(const BinaryFunction& f, DType integer, DType other) {
  const bool wants_fractions = f.arithmetic == Binary::Kind::mul || f.arithmetic == Binary::Kind::div;
  if (!wants_fractions || (integer != DType::int32 && integer != DType::uint32)) return std::nullopt;
  return other == DType::float32 ? DType::float32 : DType::bfloat16;
}

void check_dtypes(const BinaryFunction& f, std::string_view op, DType a, DType b) {
  for (const DType dtype : {a, b})
    check(takes(f.operands, dtype), Code::unsupported, Hint{"use typecast"},
          "{}: {} is not supported for binary operation", op, name(dtype));
  const bool mixes = is_floating(a) && is_floating(b) && f.mixed == MixedFractions::taken;
  check(a == b || mixes, Code::unsupported, Hint{"use typecast"},
        "{}: Mixed dtype is not supported for binary operation: {} and {}", op, name(a), name(b));
}

// The result's own dtype: a's, or that of the fraction which an integer meets; quotients of integers are fractions.
DType result_dtype(const BinaryFunction& f, DType a, DType b) {
  if (is_floating(a)) return a;
  if (is_floating(b)) return is_block_float(b) ? DType::bfloat16 : b;
  return f.arithmetic == Binary::Kind::div ? DType::float32 : a;
}

// As TTNN chooses: sharded before interleaved, of two shardings the one on more cores, except that a result of a
// tensor interleaved in L1 stays interleaved there. Another shape is dealt anew over the same cores.
MemoryConfig result_place(const Operand& a, const Operand& b, const Shape& shape) {
  const TensorSpec* from = a.spec() != nullptr ? a.spec() : b.spec();
  if (a.spec() != nullptr && b.spec() != nullptr) {
    const MemoryConfig &ca = a.spec()->memory_config(), &cb = b.spec()->memory_config();
    const bool more =
        ca.shard_spec() && cb.shard_spec() && ca.is_l1() && cb.shard_spec()->num_cores() > ca.shard_spec()->num_cores();
    if (cb.is_sharded() && ((!ca.is_sharded() && ca.is_dram()) || more)) from = b.spec();
  }
  return from->logical_shape() == shape || !from->memory_config().shard_spec() ? from->memory_config()
                                                                               : inherited_placement(*from, shape);
}

std::int64_t integer_result(const BinaryFunction& f, std::int64_t a, std::int64_t b) {
  if (f.integers != nullptr) return f.integers(a, b);
  const double y = f.value(static_cast<double>(a), static_cast<double>(b));
  return std::isfinite(y) ? static_cast<std::int64_t>(y) : 0;
}

// On the way in: the function's result is packed to a buffer of bfloat16 (float32 where Dst is) before it is read.
void apply_before(std::span<const VectorFunction> functions, std::vector<float>& values, bool float32) {
  if (functions.empty()) return;
  for (float& v : values) v = into_dst(float32 ? v : widen(v), float32);
  for (const VectorFunction& f : functions) apply(f, values, float32);
}

// Of two numbers of the given types; what the matrix engine does not do is the vector unit's.
std::vector<float> fraction_results(const BinaryFunction& f, std::span<const float> a, DType da,
                                    std::span<const float> b, DType db, const ComputeConfig& compute,
                                    Multiplier multiplier) {
  if (f.arithmetic) return binary_values(*f.arithmetic, a, da, b, db, compute, {}, multiplier);
  std::vector<float> y(a.size());
  const auto seen = [&](float v) { return static_cast<double>(compute.fp32_dest_acc_en ? v : widen(v)); };
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = worked_out(static_cast<float>(f.value(seen(a[i]), seen(b[i]))), compute.fp32_dest_acc_en);
  return y;
}

Tensor binary_tensor(const BinaryFunction& f, const Operand& a, const Operand& b, const TensorSpec& target,
                     const BinaryOptions& options) {
  const Shape& shape = target.logical_shape();
  const TensorSpec& any = a.spec() != nullptr ? *a.spec() : *b.spec();
  const DType da = a.spec() != nullptr ? a.spec()->dtype() : any.dtype(),
              db = b.spec() != nullptr ? b.spec()->dtype() : any.dtype();
  if (is_integer(da) && is_integer(db) && f.arithmetic != Binary::Kind::div) {
    std::vector<std::int64_t> y = integers_of(a, shape);
    const std::vector<std::int64_t> right = integers_of(b, shape);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = integer_result(f, y[i], right[i]);
    return tensor_of(y, target);
  }
  const bool float32 = target.dtype() == DType::float32 || (da == DType::float32 && db == DType::float32);
  const ComputeConfig compute{.fp32_dest_acc_en = float32};
  std::vector<float> left = fractions_of(a, shape, any.dtype()), right = fractions_of(b, shape, any.dtype());
  apply_before(options.a_activations, left, float32);
  apply_before(options.b_activations, right, float32);
  std::vector<float> y = fraction_results(f, left, is_integer(da) ? DType::float32 : da, right,
                                          is_integer(db) ? DType::float32 : db, compute, options.multiplier);
  for (const VectorFunction& g : options.activations) apply(g, y, float32);
  return tensor_of(y, target);
}

Tensor unary_tensor(std::span<const VectorFunction> functions, const Tensor& x, const TensorSpec& target) {
  if (is_integer(x.dtype())) {
    std::vector<std::int64_t> values = integers_of(x);
    for (const VectorFunction& f : functions)
      for (std::int64_t& v : values) v = apply(f, v);
    return tensor_of(values, target);
  }
  const bool float32 = x.dtype() == DType::float32 || target.dtype() == DType::float32;
  std::vector<float> values = x.to_float32();
  for (float& v : values) v = from_vector_unit(float32 ? v : widen(v), float32);
  for (const VectorFunction& f : functions) apply(f, values, float32);
  return tensor_of(values, target);
}

DeviceTensor run(const BinaryFunction& f, const Operand& a, const Operand& b, const BinaryOptions& options) {
  const std::string_view op = f.name;
  const DeviceTensor& any = a.tensor != nullptr ? *a.tensor : *b.tensor;
  for (const Operand* x : {&a, &b})
    if (x->tensor != nullptr) {
      x->tensor->check_allocated();
      check(x->tensor->device() == any.device(), Code::invalid_argument, "{}: the tensors are on different devices",
            op);
    }
  const auto each = [&](auto test) {
    return (a.tensor == nullptr || test(*a.tensor)) && (b.tensor == nullptr || test(*b.tensor));
  };
  const bool all_rows = each(is_rows), no_rows = each([](const DeviceTensor& x) { return !is_rows(x); });
  check(!options.output || no_rows, Code::unsupported, Hint{"convert to TILE layout first"},
        "{}: a given output tensor and ROW_MAJOR inputs do not go together", op);
  const Shape shape = broadcast_shape(op, a.shape(), b.shape());
  const DType da = (a.spec() != nullptr ? a : b).spec()->dtype(), db = (b.spec() != nullptr ? b : a).spec()->dtype();
  const auto cast_first = [&](const Operand& x, DType dtype) {
    return x.tensor != nullptr && x.spec()->dtype() != dtype ? std::optional(typecast(*x.tensor, dtype)) : std::nullopt;
  };
  const bool narrow = f.operands == OperandTypes::all && (da == DType::uint8 || db == DType::uint8);
  const std::optional<DType> meets = is_floating(da) == is_floating(db) ? std::nullopt
                                     : is_integer(da)                   ? converted(f, da, db)
                                                                        : converted(f, db, da);
  if (!narrow && !meets) check_dtypes(f, op, da, db);
  check(is_floating(da) || is_floating(db) || f.arithmetic == Binary::Kind::div ||
            (options.activations.empty() && options.a_activations.empty() && options.b_activations.empty()),
        Code::unsupported, "{}: activations of {} tensors are not supported", op, name(da));
  const MemoryConfig natural = result_place(a, b, shape);
  const CoreGrid grid = any.device()->grid();
  MemoryConfig place = options.memory_config.value_or(natural);
  if (place.is_sharded() && !place.shard_spec() && !place.nd_shard_spec())
    place = natural.is_sharded() ? natural
                                 : shards_for(place.layout(), place.buffer_type(),
                                              TensorSpec(shape, da, any.spec().layout(), kDramMemoryConfig), grid);

  const bool interleaved = each([](const DeviceTensor& x) { return !x.spec().memory_config().is_sharded(); });
  if (!no_rows && !(all_rows && interleaved)) {
    const std::optional<DeviceTensor> ta = a.tensor != nullptr ? std::optional(tiled(*a.tensor)) : std::nullopt;
    const std::optional<DeviceTensor> tb = b.tensor != nullptr ? std::optional(tiled(*b.tensor)) : std::nullopt;
    BinaryOptions inner = options;
    inner.memory_config = place;
    const DeviceTensor y = run(f, {ta ? &*ta : nullptr, a.number}, {tb ? &*tb : nullptr, b.number}, inner);
    return all_rows ? to_layout(y, Layout::row_major, std::nullopt, place) : y;
  }
  if (narrow || meets) {
    const auto wanted = [&](DType dtype) {
      return narrow ? (dtype == DType::uint8 ? DType::uint16 : dtype) : is_integer(dtype) ? *meets : dtype;
    };
    const std::optional<DeviceTensor> ca = cast_first(a, wanted(da)), cb = cast_first(b, wanted(db));
    BinaryOptions inner = options;
    inner.memory_config = place;
    if (meets && !inner.dtype) inner.dtype = result_dtype(f, da, db);
    return run(f, ca ? Operand{&*ca} : a, cb ? Operand{&*cb} : b, inner);
  }

  const bool divides_integers = f.arithmetic == Binary::Kind::div && is_integer(da) && is_integer(db);
  const std::optional<DType> wished = options.output ? std::optional(options.output->spec().dtype()) : options.dtype;
  check(!divides_integers || wished.value_or(DType::float32) == DType::float32, Code::unsupported,
        "{}: quotients of integers are float32, not {}", op, name(wished.value_or(DType::float32)));
  check(!options.output || !options.dtype || *options.dtype == *wished, Code::invalid_argument,
        "{}: the output tensor is {}, the dtype asked for {}", op, name(wished.value_or(da)),
        name(options.dtype.value_or(da)));
  const TensorSpec target(shape, options.dtype.value_or(result_dtype(f, da, db)), any.spec().layout(), place,
                          any.spec().tile());
  if (options.output) check_output(op, *options.output, shape, any);
  DeviceTensor y = options.output ? *options.output : DeviceTensor::allocate(any.device(), target);
  check_program_fits(*any.device(), plan_binary({a.spec(), b.spec(), &y.spec(), !options.a_activations.empty(),
                                                 !options.b_activations.empty()},
                                                options.cores.value_or(all_cores(*any.device()))));
  TraceRecord record{ProgramKind::binary, shape.to_string(), {}, nullptr, std::string(op)};
  std::vector<const DeviceTensor*> inputs;
  for (const Operand* x : {&a, &b})
    if (x->tensor != nullptr) {
      record.transfers.push_back(stream_transfers(*x->tensor, y).front());
      inputs.push_back(x->tensor);
    }
  record.transfers.push_back(stream_transfers(y, y).back());
  std::vector<OperandFacts> operands;
  for (const DeviceTensor* x : inputs) operands.push_back(facts_of(x->spec()));
  operands.push_back(facts_of(y.spec()));
  record.work = counted(ProgramKind::binary, std::move(operands), options.cores);
  write_values(y, [&] { return binary_tensor(f, a, b, y.spec(), options); });
  finish_program(std::move(record), inputs, y);
  return y;
}

}  // namespace

std::string_view op_name(Binary::Kind kind) { return binary_function(kind).name; }

Shape broadcast_shape(std::string_view op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> dims(static_cast<std::size_t>(rank));
  for (int d = 1; d <= rank; ++d) {
    const std::int64_t x = d <= a.rank() ? a[a.rank() - d] : 1, y = d <= b.rank() ? b[b.rank() - d] : 1;
    check(x == y || x == 1 || y == 1, Code::invalid_argument,
          "{}: shapes {} and {} cannot be broadcast (Broadcasting rule violation): at dimension index -{} (output rank "
          "{}) they have {} and {}",
          op, a.to_string(), b.to_string(), d, rank, x, y);
    dims[static_cast<std::size_t>(rank - d)] = x == 1 ? y : x;
  }
  return Shape(std::move(dims));
}

DeviceTensor unary(std::string_view op, std::span<const VectorFunction> functions, const DeviceTensor& x,
                   const UnaryOptions& options) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  for (const VectorFunction& f : functions)
    check(takes(f, from.dtype()), Code::unsupported, Hint{"use typecast"}, "{}: {} does not support the dtype {}", op,
          f.name, name(from.dtype()));
  const MemoryConfig place = placement_like(options.memory_config, from, x.device()->grid());
  if (options.output) check_output(op, *options.output, from.logical_shape(), x);
  DeviceTensor y =
      options.output ? *options.output : DeviceTensor::allocate(x.device(), from.with_memory_config(place));
  check_program_fits(*x.device(), plan_unary(from, y.spec(), options.cores.value_or(all_cores(*x.device()))));
  std::vector<Transfer> moved = stream_transfers(x, y);
  auto work = counted(ProgramKind::unary, {facts_of(from), facts_of(y.spec())}, options.cores);
  write_values(y, [&] { return unary_tensor(functions, read_pages(x), y.spec()); });
  finish_program(
      {ProgramKind::unary, from.logical_shape().to_string(), std::move(moved), std::move(work), std::string(op)}, {&x},
      y);
  return y;
}

DeviceTensor binary(const BinaryFunction& f, const DeviceTensor& a, const DeviceTensor& b,
                    const BinaryOptions& options) {
  return run(f, {&a}, {&b}, options);
}

DeviceTensor binary(const BinaryFunction& f, const DeviceTensor& a, double b, const BinaryOptions& options) {
  return run(f, {&a}, {nullptr, b}, options);
}

DeviceTensor binary(const BinaryFunction& f, double a, const DeviceTensor& b, const BinaryOptions& options) {
  return run(f, {nullptr, a}, {&b}, options);
}

DeviceTensor binary(Binary::Kind kind, const DeviceTensor& a, const DeviceTensor& b, const BinaryOptions& options) {
  return binary(binary_function(kind), a, b, options);
}

DeviceTensor binary(Binary::Kind kind, const DeviceTensor& a, double b, const BinaryOptions& options) {
  return binary(binary_function(kind), a, b, options);
}

DeviceTensor binary(Binary::Kind kind, double a, const DeviceTensor& b, const BinaryOptions& options) {
  return binary(binary_function(kind), a, b, options);
}

}  // namespace tessera::tensix
