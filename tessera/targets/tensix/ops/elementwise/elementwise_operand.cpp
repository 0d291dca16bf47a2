#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"

#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"
#include "tessera/targets/tensix/card/operand_facts.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tessera::tensix {
namespace {

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

}  // namespace

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

std::vector<std::int64_t> integers_of(const Operand& x, const Shape& shape) {
  if (x.tensor == nullptr)
    return std::vector<std::int64_t>(static_cast<std::size_t>(shape.volume()), static_cast<std::int64_t>(x.number));
  return broadcast(integers_of(read_pages(*x.tensor)), x.tensor->spec().logical_shape(), shape);
}

std::vector<float> fractions_of(const Operand& x, const Shape& shape, DType number_dtype) {
  if (x.tensor != nullptr)
    return broadcast(read_pages(*x.tensor).to_float32(), x.tensor->spec().logical_shape(), shape);
  const float number = static_cast<float>(x.number);  // as the host packs it
  const float packed = number_dtype == DType::float32 ? number : float_from_bfloat16(bfloat16_from_float_host(number));
  return std::vector<float>(static_cast<std::size_t>(shape.volume()), packed);
}

DeviceTensor tiled(const DeviceTensor& x) { return is_rows(x) ? to_layout(x, Layout::tile) : x; }

std::shared_ptr<const ProgramWork> counted(ProgramKind kind, std::vector<OperandFacts> operands,
                                           const std::optional<CoreRangeSet>& cores) {
  if (!cores) return work_on(kind, std::move(operands));
  return std::make_shared<const ProgramWork>(tensor_work(kind, operands, cores->num_cores()));
}

}  // namespace tessera::tensix
