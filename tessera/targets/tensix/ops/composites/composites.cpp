#include "tessera/targets/tensix/ops/composites/composites.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"
#include "tessera/targets/tensix/ops/reduction/reduction.h"
#include "tessera/targets/tensix/ops/repeat/repeat.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/shape_ops/shape_ops.h"
#include "tessera/targets/tensix/ops/slice/slice.h"
#include "tessera/targets/tensix/ops/ternary/ternary.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <cmath>
#include <vector>

namespace tessera::tensix {
namespace {

using Place = std::optional<MemoryConfig>;

DeviceTensor apply_named(std::string_view name, const DeviceTensor& x, const Place& config,
                         std::span<const float> parameters = {}) {
  const VectorFunction f = vector_function(name, parameters);
  return unary(name, std::span(&f, 1), x, {.memory_config = config});
}

DeviceTensor combined(std::string_view name, const DeviceTensor& a, const DeviceTensor& b, const Place& config) {
  return binary(binary_function(name), a, b, {.memory_config = config});
}
DeviceTensor combined(std::string_view name, const DeviceTensor& a, double b, const Place& config) {
  return binary(binary_function(name), a, b, {.memory_config = config});
}

DeviceTensor over_matrix(std::string_view name, const DeviceTensor& x, const Place& config) {
  return reduce(reduction(name), x,
                {.dims = std::vector<int>{2, 3}, .keep_dims = true, .memory_config = config, .correction = false});
}

}  // namespace

DeviceTensor gated(std::string_view op, std::string_view gate, const DeviceTensor& x, int dim, const Place& config) {
  x.check_allocated();
  const Shape& shape = x.spec().logical_shape();
  check(dim == -1 || dim == 3, Code::unsupported, "{}: only the last dimension is supported, not {}", op, dim);
  check(shape.rank() == 4, Code::unsupported, Hint{"use unsqueeze_to_4D"}, "{}: the input must have rank 4, it has {}",
        op, shape.rank());
  check(shape[3] % (2 * kTile) == 0, Code::unsupported, "{}: half of {} columns must be whole tiles", op, shape[3]);
  const std::vector<DeviceTensor> halves = split(x, shape[3] / 2, 3, config);
  return combined("multiply", halves[0], apply_named(gate, halves[1], config), config);
}

DeviceTensor var_hw(const DeviceTensor& x, const Place& config) { return over_matrix("var", x, config); }
DeviceTensor std_hw(const DeviceTensor& x, const Place& config) { return over_matrix("std", x, config); }

DeviceTensor normalize_hw(const DeviceTensor& x, const Place& config) {
  const DeviceTensor centered = combined("subtract", x, over_matrix("mean", x, config), config);
  return combined("divide", centered, std_hw(x, config), config);
}

DeviceTensor normalize_global(const DeviceTensor& x, const Place& config) {
  const Shape& shape = x.spec().logical_shape();
  check(shape.rank() == 4, Code::unsupported, Hint{"use unsqueeze_to_4D"},
        "normalize_global: the input must have rank 4, it has {}", shape.rank());
  check(x.spec().dtype() == DType::bfloat16 || x.spec().dtype() == DType::float32, Code::unsupported,
        Hint{"use typecast"}, "normalize_global: the input must be BFLOAT16 or FLOAT32, it is {}",
        name(x.spec().dtype()));
  const DeviceTensor flat = reshape(x, Shape{1, 1, shape[0] * shape[1] * shape[2], shape[3]});
  return reshape(normalize_hw(flat, config), shape, config);
}

DeviceTensor triangle(std::string_view op, const DeviceTensor& x, std::int64_t diagonal, const Place& config) {
  x.check_allocated();
  const Shape& shape = x.spec().logical_shape();
  check(shape.rank() >= 2, Code::invalid_argument, "{}: a tensor of shape {} has no matrices", op, shape.to_string());
  const bool lower = op == "tril";
  const TensorSpec result = x.spec().with_memory_config(place_of_result(config, x, shape));
  return whole_program(ProgramKind::binary, op, {&x}, result, [&] {
    std::vector<double> y = numbers_of(x);
    const std::int64_t rows = shape[-2], columns = shape[-1];
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t right = at % columns - at / columns % rows;
      if (lower ? right > diagonal : right < diagonal) y[i] = 0;
    }
    return y;
  });
}

DeviceTensor polyval(const DeviceTensor& x, std::span<const float> coefficients, const Place& config) {
  check(!coefficients.empty(), Code::invalid_argument, "polyval: the list of coefficients is empty");
  const auto full = [&](float value) { return apply_named("fill", x, config, std::span(&value, 1)); };
  if (coefficients.size() == 1) return full(coefficients[0]);
  const bool whole = x.spec().dtype() == DType::int32 || x.spec().dtype() == DType::uint32;
  const DeviceTensor base = whole ? typecast(x, DType::float32) : x;
  DeviceTensor y = combined("multiply", base, static_cast<double>(coefficients[0]), config);
  for (std::size_t i = 1; i + 1 < coefficients.size(); ++i)
    y = combined("multiply", combined("add", y, static_cast<double>(coefficients[i]), config), base, config);
  return combined("add", y, static_cast<double>(coefficients.back()), config);
}

DeviceTensor isclose(const DeviceTensor& a, const DeviceTensor& b, float relative, float absolute, bool equal_nan,
                     const Place& config) {
  constexpr std::string_view op = "isclose";
  check_together(op, {&a, &b});
  for (const DeviceTensor* x : {&a, &b}) {
    check(takes(OperandTypes::fractions_int32, x->spec().dtype()), Code::unsupported, Hint{"use typecast"},
          "{}: {} is not supported for binary operation", op, name(x->spec().dtype()));
    check(x->spec().layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
          "{}: operands must be in TILE layout", op);
  }
  const Shape shape = broadcast_shape(op, a.spec().logical_shape(), b.spec().logical_shape());
  const DType dtype = is_integer(a.spec().dtype()) ? DType::float32 : a.spec().dtype();
  const TensorSpec result(shape, dtype, Layout::tile, place_of_result(config, a, shape));
  return whole_program(ProgramKind::binary, op, {&a, &b}, result, [&] {
    const auto values = [&](const DeviceTensor& x) {
      const Operand operand{&x};
      if (!is_integer(x.spec().dtype())) {
        const std::vector<float> fractions = fractions_of(operand, shape, dtype);
        return std::vector<double>(fractions.begin(), fractions.end());
      }
      const std::vector<std::int64_t> integers = integers_of(operand, shape);
      return std::vector<double>(integers.begin(), integers.end());
    };
    const std::vector<double> left = values(a), right = values(b);
    std::vector<double> y(left.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const bool both = std::isnan(left[i]) && std::isnan(right[i]);
      const double bound = static_cast<double>(absolute) + static_cast<double>(relative) * std::fabs(right[i]);
      y[i] = (both && equal_nan) || left[i] == right[i] || std::fabs(left[i] - right[i]) <= bound ? 1 : 0;
    }
    return y;
  });
}

DeviceTensor outer(const DeviceTensor& a, const DeviceTensor& b, const Place& config) {
  for (const DeviceTensor* x : {&a, &b}) {
    x->check_allocated();
    check(takes(OperandTypes::fractions_int32_uint32, x->spec().dtype()), Code::unsupported, Hint{"use typecast"},
          "outer: operands of {} and {} are not supported", name(a.spec().dtype()), name(b.spec().dtype()));
  }
  return combined("multiply", unsqueeze(a, -1), unsqueeze(b, -2), config);
}

DeviceTensor prelu(const DeviceTensor& x, const std::variant<DeviceTensor, double>& slope, const Place& config) {
  x.check_allocated();
  check(is_floating(x.spec().dtype()), Code::unsupported, Hint{"use typecast"}, "prelu: {} is not supported",
        name(x.spec().dtype()));
  if (const auto* number = std::get_if<double>(&slope)) {
    const auto parameter = static_cast<float>(*number);
    return apply_named("leaky_relu", x, config, std::span(&parameter, 1));
  }
  const Shape& shape = x.spec().logical_shape();
  const auto* weight = &std::get<DeviceTensor>(slope);
  weight->check_allocated();
  const std::int64_t count = weight->spec().logical_shape().volume(), channels = shape.rank() > 1 ? shape[1] : 1;
  check(count == channels, Code::invalid_argument,
        "prelu: {} slopes do not go with {} channels; there must be one for each", count, channels);
  std::vector<std::int64_t> dims(static_cast<std::size_t>(shape.rank()), 1);
  if (dims.size() > 1) dims[1] = channels;
  const DeviceTensor each = reshape(*weight, Shape(dims));
  const DeviceTensor scaled = combined("multiply", x, each, config);
  return ternary(ternary_function("where"), apply_named("ltz", x, config), scaled, x, {.memory_config = config});
}

DeviceTensor loss(std::string_view op, const DeviceTensor& reference, const DeviceTensor& prediction,
                  LossReduction mode, const Place& config, const std::optional<DeviceTensor>& output) {
  const bool squares = op == "mse_loss", whole = mode == LossReduction::none;
  BinaryOptions options;
  options.memory_config = config;
  options.activations = {vector_function(squares ? "square" : "abs")};
  if (whole) options.output = output;
  const DeviceTensor each = binary(binary_function("subtract"), reference, prediction, options);
  if (whole) return each;
  check(!output, Code::unsupported, "{}: a reduced loss cannot be written to a given tensor", op);
  return reduce(reduction(mode == LossReduction::sum ? "sum" : "mean"), each, {.memory_config = config});
}

DeviceTensor addmm(const DeviceTensor& x, const DeviceTensor& a, const DeviceTensor& b, float alpha, float beta,
                   const MatmulOptions& options, const std::optional<DeviceTensor>& output) {
  DeviceTensor product = matmul(a, b, options);
  const Place config = options.memory_config;
  if (alpha != 1) product = combined("multiply", product, static_cast<double>(alpha), config);
  BinaryOptions last;
  last.memory_config = config;
  last.dtype = options.dtype;
  last.output = output;
  if (beta == 0) {
    const VectorFunction same = vector_function("identity");
    return output ? unary("identity", std::span(&same, 1), product, {.memory_config = config, .output = output})
                  : product;
  }
  const DeviceTensor scaled = beta == 1 ? x : combined("multiply", x, static_cast<double>(beta), config);
  return binary(binary_function("add"), product, scaled, last);
}

DeviceTensor bcast(std::string_view function, const DeviceTensor& a, const DeviceTensor& b, BcastDim dim,
                   const Place& config, const std::optional<DeviceTensor>& output) {
  check_together("bcast", {&a, &b});
  const Shape& shape = b.spec().padded_shape();
  check(a.spec().layout() == Layout::tile && b.spec().layout() == Layout::tile, Code::unsupported,
        Hint{"use to_layout"}, "bcast: both tensors must be in TILE layout");
  check(dim == BcastDim::w || shape[-2] == kTile, Code::invalid_argument,
        "bcast: the second tensor is {} rows high, it must be one tile ({})", shape[-2], kTile);
  check(dim == BcastDim::h || shape[-1] == kTile, Code::invalid_argument,
        "bcast: the second tensor is {} columns wide, it must be one tile ({})", shape[-1], kTile);
  BinaryOptions options;
  options.memory_config = config;
  options.output = output;
  return binary(binary_function(function), a, b, options);
}

DeviceTensor narrow(const DeviceTensor& x, int dim, std::int64_t start, std::int64_t length) {
  x.check_allocated();
  const Shape& shape = x.spec().logical_shape();
  const auto d = static_cast<std::size_t>(checked_dim("narrow", dim, shape.rank()));
  const std::int64_t extent = shape.dims()[d], first = start < 0 ? start + extent : start;
  check(first >= 0 && length > 0 && first + length <= extent, Code::invalid_argument,
        "narrow: length {} is out of bounds for dimension {} with start index {} and size {}", length, d, start,
        extent);
  std::vector<std::int64_t> begins(shape.dims().size(), 0), ends = shape.dims();
  begins[d] = first;
  ends[d] = first + length;
  return slice(x, begins, ends, std::vector<std::int64_t>(begins.size(), 1));
}

DeviceTensor broadcast_to(const DeviceTensor& x, const Shape& shape, const Place& config,
                          const std::optional<DeviceTensor>& output) {
  x.check_allocated();
  const Shape& from = x.spec().logical_shape();
  check(shape.rank() >= from.rank(), Code::invalid_argument,
        "broadcast_to: a tensor {} of rank {} cannot become {}, of rank {}", from.to_string(), from.rank(),
        shape.to_string(), shape.rank());
  const DeviceTensor wide = expand(unsqueeze_to(x, shape.rank()), shape.dims(), config);
  if (!output) return wide;
  const VectorFunction same = vector_function("identity");
  return unary("identity", std::span(&same, 1), wide, {.output = output});
}

DeviceTensor situ_glu(const DeviceTensor& gate, const DeviceTensor& up, float beta1, float beta2, const Place& config) {
  check(beta1 != 0 && beta2 != 0, Code::invalid_argument, "situ_glu: neither beta can be 0, they are {} and {}", beta1,
        beta2);
  const auto bounded = [&](const DeviceTensor& x, float beta) {
    const DeviceTensor inside = combined("multiply", x, 1 / static_cast<double>(beta), config);
    return combined("multiply", apply_named("tanh", inside, config), static_cast<double>(beta), config);
  };
  const DeviceTensor open = combined("multiply", bounded(gate, beta1), apply_named("sigmoid", gate, config), config);
  return combined("multiply", open, bounded(up, beta2), config);
}

}  // namespace tessera::tensix
