#include "tessera/targets/tensix/ops/elementwise/elementwise.h"

#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"
#include "tessera/targets/tensix/card/operand_facts.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/card/shard_inheritance.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_plan.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_values.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include <algorithm>
#include <cstring>

namespace tessera::tensix {
namespace {

// Elements of a tensor as 64-bit integers.
std::vector<std::int64_t> integers_of(const Tensor& x) {
  const Bytes bytes = x.to_elements(x.dtype());
  const auto read = [&](auto zero) {
    std::vector<std::int64_t> out(bytes.size() / sizeof(zero));
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::memcpy(&zero, bytes.data() + i * sizeof(zero), sizeof(zero));
      out[i] = static_cast<std::int64_t>(zero);
    }
    return out;
  };
  switch (x.dtype()) {
    case DType::uint8: return read(std::uint8_t{});
    case DType::uint16: return read(std::uint16_t{});
    case DType::uint32: return read(std::uint32_t{});
    default: return read(std::int32_t{});
  }
}

// The low 32 bits: integers wrap around.
Tensor tensor_of(const std::vector<std::int64_t>& values, const TensorSpec& spec) {
  std::vector<std::int32_t> low(values.size());
  std::transform(values.begin(), values.end(), low.begin(),
                 [](std::int64_t v) { return static_cast<std::int32_t>(static_cast<std::uint64_t>(v)); });
  const DType element = spec.dtype() == DType::uint32 ? DType::uint32 : DType::int32;
  return Tensor::from_elements(std::as_bytes(std::span(low)), element, spec.logical_shape(), spec.dtype(),
                               spec.layout(), spec.tile(), Rounding::packer);
}

Tensor tensor_of(const std::vector<float>& values, const TensorSpec& spec) {
  return Tensor::from_float32(values, spec.logical_shape(), spec.dtype(), spec.layout(), spec.tile(), Rounding::packer);
}

void check_output(std::string_view op, const DeviceTensor& output, const Shape& shape, const DeviceTensor& x) {
  output.check_allocated();
  check(output.device() == x.device(), Code::invalid_argument, "{}: the output tensor is on another device", op);
  check(output.spec().logical_shape() == shape, Code::invalid_argument,
        "{}: the output tensor has shape {}, the result {}", op, output.spec().logical_shape().to_string(),
        shape.to_string());
}

// Elements of `from`, repeated as `shape` wants them.
template <class Value>
std::vector<Value> broadcast(std::vector<Value> x, const Shape& from, const Shape& shape) {
  if (from == shape || x.empty() || shape.volume() == 0) return x;
  if (x.size() == 1) return std::vector<Value>(static_cast<std::size_t>(shape.volume()), x[0]);
  const int rank = shape.rank(), missing = rank - from.rank();
  std::vector<std::int64_t> stride(static_cast<std::size_t>(rank), 0), index(static_cast<std::size_t>(rank), 0);
  std::int64_t step = 1;
  for (int d = from.rank() - 1; d >= 0; --d) {
    if (from[d] != 1) stride[static_cast<std::size_t>(d + missing)] = step;
    step *= from[d];
  }
  std::vector<Value> y;
  y.reserve(static_cast<std::size_t>(shape.volume()));
  const std::int64_t width = shape[-1], inner = stride.back();
  for (std::int64_t row = 0, rows = shape.volume() / width; row < rows; ++row) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d + 1 < index.size(); ++d) at += index[d] * stride[d];
    for (std::int64_t c = 0; c < width; ++c) y.push_back(x[static_cast<std::size_t>(at + c * inner)]);
    for (std::size_t d = index.size() - 1; d-- > 0;) {
      if (++index[d] < shape[static_cast<int>(d)]) break;
      index[d] = 0;
    }
  }
  return y;
}

bool is_rows(const DeviceTensor& x) { return x.spec().layout() == Layout::row_major; }

// One operand of a binary operator: a tensor, or a number that stands for one.
struct Operand {
  const DeviceTensor* tensor = nullptr;
  double number = 0;

  const TensorSpec* spec() const { return tensor != nullptr ? &tensor->spec() : nullptr; }
  Shape shape() const { return tensor != nullptr ? tensor->spec().logical_shape() : Shape{1}; }
};

bool wants_fractions(Binary::Kind kind) { return kind == Binary::Kind::mul || kind == Binary::Kind::div; }

// Which dtype an integer operand is converted to before it meets a fraction: TTNN does so for products and quotients
// only.
std::optional<DType> converted(Binary::Kind kind, DType integer, DType other) {
  if (!wants_fractions(kind) || (integer != DType::int32 && integer != DType::uint32)) return std::nullopt;
  return is_block_float(other) ? DType::bfloat16 : other;
}

void check_mixed(Binary::Kind kind, DType a, DType b) {
  const bool same = a == b || (is_floating(a) && is_floating(b));
  const bool convertible =
      is_floating(a) != is_floating(b) && converted(kind, is_floating(a) ? b : a, is_floating(a) ? a : b).has_value();
  check(same || convertible, Code::unsupported, Hint{"use typecast"},
        "{}: mixed dtypes {} and {} are not supported together", op_name(kind), name(a), name(b));
}

// The result's own dtype: a's, or that of the fraction which an integer meets; quotients of integers are fractions.
DType result_dtype(Binary::Kind kind, DType a, DType b) {
  if (is_floating(a)) return a;
  if (is_floating(b)) return is_block_float(b) ? DType::bfloat16 : b;
  return kind == Binary::Kind::div ? DType::float32 : a;
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

std::int64_t integer_result(Binary::Kind kind, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  switch (kind) {
    case Binary::Kind::add: return static_cast<std::int64_t>(ua + ub);
    case Binary::Kind::sub: return static_cast<std::int64_t>(ua - ub);
    case Binary::Kind::mul: return static_cast<std::int64_t>(ua * ub);
    case Binary::Kind::min: return std::min(a, b);
    default: return std::max(a, b);
  }
}

std::vector<float> fractions_of(const Operand& x, const Shape& shape, DType number_dtype) {
  if (x.tensor != nullptr)
    return broadcast(read_pages(*x.tensor).to_float32(), x.tensor->spec().logical_shape(), shape);
  const float number = static_cast<float>(x.number);  // as the host packs it
  const float packed = number_dtype == DType::float32 ? number : float_from_bfloat16(bfloat16_from_float_host(number));
  return std::vector<float>(static_cast<std::size_t>(shape.volume()), packed);
}

// On the way in: the function's result is packed to a buffer of bfloat16 (float32 where Dst is) before it is read.
void apply_before(std::span<const VectorFunction> functions, std::vector<float>& values, bool float32) {
  if (functions.empty()) return;
  for (float& v : values) v = into_dst(float32 ? v : widen(v), float32);
  for (const VectorFunction& f : functions) apply(f, values, float32);
}

Tensor binary_tensor(Binary::Kind kind, const Operand& a, const Operand& b, const TensorSpec& target,
                     const BinaryOptions& options) {
  const Shape& shape = target.logical_shape();
  const TensorSpec& any = a.spec() != nullptr ? *a.spec() : *b.spec();
  const DType da = a.spec() != nullptr ? a.spec()->dtype() : any.dtype(),
              db = b.spec() != nullptr ? b.spec()->dtype() : any.dtype();
  if (is_integer(da) && is_integer(db) && kind != Binary::Kind::div) {
    const auto integers = [&](const Operand& x) {
      if (x.tensor == nullptr)
        return std::vector<std::int64_t>(static_cast<std::size_t>(shape.volume()), static_cast<std::int64_t>(x.number));
      return broadcast(integers_of(read_pages(*x.tensor)), x.tensor->spec().logical_shape(), shape);
    };
    std::vector<std::int64_t> y = integers(a);
    const std::vector<std::int64_t> right = integers(b);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = integer_result(kind, y[i], right[i]);
    return tensor_of(y, target);
  }
  const bool float32 = target.dtype() == DType::float32 || (da == DType::float32 && db == DType::float32);
  const ComputeConfig compute{.fp32_dest_acc_en = float32};
  std::vector<float> left = fractions_of(a, shape, any.dtype()), right = fractions_of(b, shape, any.dtype());
  apply_before(options.a_activations, left, float32);
  apply_before(options.b_activations, right, float32);
  std::vector<float> y = binary_values(kind, left, is_integer(da) ? DType::float32 : da, right,
                                       is_integer(db) ? DType::float32 : db, compute);
  for (const VectorFunction& f : options.activations) apply(f, y, float32);
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
  for (float& v : values) v = into_dst(float32 ? v : widen(v), float32);
  for (const VectorFunction& f : functions) apply(f, values, float32);
  return tensor_of(values, target);
}

DeviceTensor tiled(const DeviceTensor& x) { return is_rows(x) ? to_layout(x, Layout::tile) : x; }

DeviceTensor run(Binary::Kind kind, const Operand& a, const Operand& b, const BinaryOptions& options) {
  const std::string_view op = op_name(kind);
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
  check_mixed(kind, da, db);
  check(is_floating(da) || is_floating(db) || kind == Binary::Kind::div ||
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
    const DeviceTensor y = run(kind, {ta ? &*ta : nullptr, a.number}, {tb ? &*tb : nullptr, b.number}, inner);
    return all_rows ? to_layout(y, Layout::row_major, std::nullopt, place) : y;
  }
  if (a.tensor != nullptr && b.tensor != nullptr && is_floating(da) != is_floating(db)) {
    const bool first = is_integer(da);
    const DeviceTensor cast =
        typecast(first ? *a.tensor : *b.tensor, *converted(kind, first ? da : db, first ? db : da));
    BinaryOptions inner = options;
    inner.memory_config = place;
    if (!inner.dtype) inner.dtype = result_dtype(kind, da, db);
    return run(kind, first ? Operand{&cast} : a, first ? b : Operand{&cast}, inner);
  }

  const TensorSpec target(shape, options.dtype.value_or(result_dtype(kind, da, db)), any.spec().layout(), place,
                          any.spec().tile());
  if (options.output) check_output(op, *options.output, shape, any);
  DeviceTensor y = options.output ? *options.output : DeviceTensor::allocate(any.device(), target);
  check_program_fits(*any.device(), plan_binary({a.spec(), b.spec(), &y.spec(), !options.a_activations.empty(),
                                                 !options.b_activations.empty()},
                                                all_cores(*any.device())));
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
  record.work = work_on(ProgramKind::binary, std::move(operands));
  write_values(y, [&] { return binary_tensor(kind, a, b, y.spec(), options); });
  finish_program(std::move(record), inputs, y);
  return y;
}

}  // namespace

std::string_view op_name(Binary::Kind kind) {
  switch (kind) {
    case Binary::Kind::add: return "add";
    case Binary::Kind::sub: return "subtract";
    case Binary::Kind::mul: return "multiply";
    case Binary::Kind::div: return "divide";
    case Binary::Kind::min: return "minimum";
    case Binary::Kind::max: return "maximum";
    default: fail(Code::unsupported, "the card's element-wise operators are add, sub, mul, div, min and max");
  }
}

Shape broadcast_shape(std::string_view op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> dims(static_cast<std::size_t>(rank));
  for (int d = 1; d <= rank; ++d) {
    const std::int64_t x = d <= a.rank() ? a[a.rank() - d] : 1, y = d <= b.rank() ? b[b.rank() - d] : 1;
    check(x == y || x == 1 || y == 1, Code::invalid_argument,
          "{}: shapes {} and {} cannot be broadcast: at dimension index -{} (output rank {}) they have {} and {}", op,
          a.to_string(), b.to_string(), d, rank, x, y);
    dims[static_cast<std::size_t>(rank - d)] = x == 1 ? y : x;
  }
  return Shape(std::move(dims));
}

DeviceTensor unary(std::string_view op, std::span<const VectorFunction> functions, const DeviceTensor& x,
                   const UnaryOptions& options) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  for (const VectorFunction& f : functions)
    check(is_floating(from.dtype()) || takes_integers(f), Code::unsupported, Hint{"use typecast"},
          "{}: {} does not support the integer dtype {}", op, f.name, name(from.dtype()));
  const MemoryConfig place = placement_like(options.memory_config, from, x.device()->grid());
  if (options.output) check_output(op, *options.output, from.logical_shape(), x);
  DeviceTensor y =
      options.output ? *options.output : DeviceTensor::allocate(x.device(), from.with_memory_config(place));
  check_program_fits(*x.device(), plan_unary(from, y.spec(), all_cores(*x.device())));
  std::vector<Transfer> moved = stream_transfers(x, y);
  write_values(y, [&] { return unary_tensor(functions, read_pages(x), y.spec()); });
  finish_program({ProgramKind::unary, from.logical_shape().to_string(), std::move(moved), nullptr, std::string(op)},
                 {&x}, y);
  return y;
}

DeviceTensor binary(Binary::Kind kind, const DeviceTensor& a, const DeviceTensor& b, const BinaryOptions& options) {
  return run(kind, {&a}, {&b}, options);
}

DeviceTensor binary(Binary::Kind kind, const DeviceTensor& a, double b, const BinaryOptions& options) {
  return run(kind, {&a}, {nullptr, b}, options);
}

DeviceTensor binary(Binary::Kind kind, double a, const DeviceTensor& b, const BinaryOptions& options) {
  return run(kind, {nullptr, a}, {&b}, options);
}

}  // namespace tessera::tensix
