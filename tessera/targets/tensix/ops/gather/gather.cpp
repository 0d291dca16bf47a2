#include "tessera/targets/tensix/ops/gather/gather.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"
#include "tessera/targets/tensix/ops/shape_ops/shape_ops.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <algorithm>
#include <vector>

namespace tessera::tensix {
namespace {

// Where along the dimension; an index beyond its end names no element.
std::int64_t checked_place(std::string_view op, double index, std::int64_t length) {
  const auto place = static_cast<std::int64_t>(index);
  check(place >= 0 && place < length, Code::invalid_argument, "{}: index {} is not below {}", op, place, length);
  return place;
}

// For every element of the index: its offset in the indexed tensor, by strides of that.
template <class Visit>
void for_each_indexed(std::string_view op, std::span<const double> index, const Shape& index_shape, const Shape& shape,
                      int dim, Visit&& visit) {
  const std::vector<std::int64_t> strides = strides_of(shape);
  Coordinates here(index_shape);
  for (std::size_t i = 0; i < index.size(); ++i, here.next()) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < strides.size(); ++d)
      offset += strides[d] * (static_cast<int>(d) == dim ? checked_place(op, index[i], shape.dims()[d]) : here.at()[d]);
    visit(i, static_cast<std::size_t>(offset));
  }
}

void check_index_type(std::string_view op, const DeviceTensor& index) {
  const DType dtype = index.spec().dtype();
  check(dtype == DType::uint32 || dtype == DType::uint16, Code::unsupported, Hint{"use typecast"},
        "{}: the index must be UINT32 or UINT16, it is {}", op, name(dtype));
}

double combined(ScatterRule rule, double before, double source) {
  switch (rule) {
    case ScatterRule::add: return before + source;
    case ScatterRule::multiply: return before * source;
    case ScatterRule::least: return std::min(before, source);
    case ScatterRule::largest: return std::max(before, source);
    default: return source;
  }
}

}  // namespace

DeviceTensor gather(const DeviceTensor& x, int dim, const DeviceTensor& index,
                    const std::optional<MemoryConfig>& config, const std::optional<DeviceTensor>& output) {
  check_together("gather", {&x, &index});
  const Shape &from = x.spec().logical_shape(), &shape = index.spec().logical_shape();
  const int d = checked_dim("gather", dim, from.rank());
  check(from.rank() == shape.rank(), Code::invalid_argument,
        "gather: the tensor has {} dimensions, the index {}; both must have the same number", from.rank(),
        shape.rank());
  check_index_type("gather", index);
  for (int i = 0; i < from.rank(); ++i)
    check(i == d || shape[i] <= from[i], Code::invalid_argument,
          "gather: dimension {} of the index {} is larger than that of the tensor {}", i, shape.to_string(),
          from.to_string());
  check(x.spec().layout() == index.spec().layout(), Code::unsupported, Hint{"use to_layout"},
        "gather: the tensor is in {}, the index in {}; both must have the same layout", name(x.spec().layout()),
        name(index.spec().layout()));
  if (output) check_output("gather", *output, shape, x);
  const auto compute = [&] {
    const std::vector<double> values = numbers_of(x), places = numbers_of(index);
    std::vector<double> y(places.size());
    for_each_indexed("gather", places, shape, from, d, [&](std::size_t i, std::size_t at) { y[i] = values[at]; });
    return y;
  };
  if (output) return whole_program(ProgramKind::gather, "gather", {&x, &index}, *output, compute);
  const TensorSpec result(shape, x.spec().dtype(), x.spec().layout(), place_of_result(config, x, shape));
  return whole_program(ProgramKind::gather, "gather", {&x, &index}, result, compute);
}

DeviceTensor tosa_gather(const DeviceTensor& x, const DeviceTensor& index, const std::optional<MemoryConfig>& config) {
  check_together("tosa_gather", {&x, &index});
  const Shape &from = x.spec().logical_shape(), &places = index.spec().logical_shape();
  check(from.rank() == 3, Code::invalid_argument, "tosa_gather: the tensor must have rank 3, it has {}", from.rank());
  check(places.rank() == 2, Code::invalid_argument, "tosa_gather: the index must have rank 2, it has {}",
        places.rank());
  check(from[0] == places[0], Code::invalid_argument,
        "tosa_gather: the tensor {} and the index {} differ in their "
        "first dimension",
        from.to_string(), places.to_string());
  const Shape shape{places[0], places[1], from[2]};
  const TensorSpec result(shape, x.spec().dtype(), x.spec().layout(), place_of_result(config, x, shape));
  return whole_program(ProgramKind::gather, "tosa_gather", {&x, &index}, result, [&] {
    const std::vector<double> values = numbers_of(x), rows = numbers_of(index);
    std::vector<double> y;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t matrix = static_cast<std::int64_t>(i) / places[1];
      const auto first = values.begin() + (matrix * from[1] + checked_place("tosa_gather", rows[i], from[1])) * from[2];
      y.insert(y.end(), first, first + from[2]);
    }
    return y;
  });
}

DeviceTensor scatter(const DeviceTensor& x, int dim, const DeviceTensor& index, const DeviceTensor& source,
                     ScatterRule rule, const std::optional<MemoryConfig>& config) {
  check_together("scatter", {&x, &index, &source});
  const TensorSpec &to = x.spec(), &from = source.spec(), &where = index.spec();
  const Shape &shape = to.logical_shape(), &places = where.logical_shape();
  const int d = checked_dim("scatter", dim, shape.rank());
  check(places.rank() == shape.rank() && from.logical_shape().rank() == shape.rank(), Code::invalid_argument,
        "scatter: the tensor has {} dimensions, the index {} and the source {}; all must have the same number",
        shape.rank(), places.rank(), from.logical_shape().rank());
  for (int i = 0; i < shape.rank(); ++i) {
    check(i == d || places[i] <= shape[i], Code::invalid_argument,
          "scatter: dimension {} of the index {} is larger than that of the tensor {}", i, places.to_string(),
          shape.to_string());
    check(places[i] <= from.logical_shape()[i], Code::invalid_argument,
          "scatter: dimension {} of the index {} is larger than that of the source {}", i, places.to_string(),
          from.logical_shape().to_string());
  }
  check(to.dtype() == from.dtype(), Code::unsupported, Hint{"use typecast"},
        "scatter: the tensor is {}, the source {}; both must have the same dtype", name(to.dtype()),
        name(from.dtype()));
  check(is_integer(where.dtype()), Code::unsupported, Hint{"use typecast"},
        "scatter: the index must be of an integer type, it is {}", name(where.dtype()));
  for (const DeviceTensor* t : {&x, &index, &source})
    check(!t->spec().memory_config().is_sharded(), Code::unsupported, Hint{"use to_memory_config"},
          "scatter: tensors in shards are not supported");
  check(to.dtype() != DType::float32 || to.layout() == Layout::row_major, Code::unsupported, Hint{"use to_layout"},
        "scatter: FLOAT32 tensors in TILE layout are not supported");
  // Rows are written, so that block floats come out as bfloat16.
  const DType dtype = is_block_float(to.dtype()) ? DType::bfloat16 : to.dtype();
  const TensorSpec result(shape, dtype, to.layout(), place_of_result(config, x, shape), to.tile());
  return whole_program(ProgramKind::scatter, "scatter", {&x, &index, &source}, result, [&] {
    std::vector<double> y = numbers_of(x);
    const std::vector<double> sources = numbers_of(source);
    const std::vector<std::int64_t> strides = strides_of(from.logical_shape());
    Coordinates here(places);
    for_each_indexed("scatter", numbers_of(index), places, shape, d, [&](std::size_t, std::size_t at) {
      std::int64_t offset = 0;
      for (std::size_t k = 0; k < strides.size(); ++k) offset += strides[k] * here.at()[k];
      y[at] = combined(rule, y[at], sources[static_cast<std::size_t>(offset)]);
      here.next();
    });
    return y;
  });
}

DeviceTensor tosa_scatter(const DeviceTensor& x, const DeviceTensor& index, const DeviceTensor& source,
                          const std::optional<MemoryConfig>& config) {
  check_together("tosa_scatter", {&x, &index, &source});
  const Shape &shape = x.spec().logical_shape(), &places = index.spec().logical_shape(),
              &from = source.spec().logical_shape();
  check(shape.rank() == 3 && places.rank() == 2 && from.rank() == 3, Code::invalid_argument,
        "tosa_scatter: the tensor and the source must have rank 3 and the index 2, they have {}, {} and {}",
        shape.rank(), from.rank(), places.rank());
  check(shape[0] == places[0] && from[0] == places[0] && from[1] == places[1] && from[2] == shape[2],
        Code::invalid_argument, "tosa_scatter: a source {} does not go into {} at an index {}", from.to_string(),
        shape.to_string(), places.to_string());
  const TensorSpec result = x.spec().with_memory_config(place_of_result(config, x, shape));
  return whole_program(ProgramKind::scatter, "tosa_scatter", {&x, &index, &source}, result, [&] {
    std::vector<double> y = numbers_of(x);
    const std::vector<double> values = numbers_of(source), rows = numbers_of(index);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t matrix = static_cast<std::int64_t>(i) / places[1];
      const std::int64_t row = matrix * shape[1] + checked_place("tosa_scatter", rows[i], shape[1]);
      std::copy_n(values.begin() + static_cast<std::int64_t>(i) * from[2], from[2], y.begin() + row * shape[2]);
    }
    return y;
  });
}

DeviceTensor index_fill(const DeviceTensor& x, int dim, const DeviceTensor& index, double value,
                        const std::optional<MemoryConfig>& config) {
  check_together("index_fill", {&x, &index});
  const Shape& shape = x.spec().logical_shape();
  const int d = checked_dim("index_fill", dim, shape.rank());
  check(index.spec().logical_shape().rank() == 1, Code::invalid_argument,
        "index_fill: the index must have 1 dimension, it has {}", index.spec().logical_shape().rank());
  const TensorSpec result = x.spec().with_memory_config(place_of_result(config, x, shape));
  return whole_program(ProgramKind::scatter, "index_fill", {&x, &index}, result, [&] {
    std::vector<double> y = numbers_of(x);
    const AlongDim along(shape, d);
    for (const double i : numbers_of(index))
      for (std::int64_t line = 0; line < along.lines(); ++line)
        y[along.at(line, checked_place("index_fill", i, along.length))] = value;
    return y;
  });
}

DeviceTensor indexed_fill(const DeviceTensor& ids, const DeviceTensor& a, const DeviceTensor& b, int dim,
                          const std::optional<MemoryConfig>& config) {
  check_together("indexed_fill", {&a, &ids, &b});
  const Shape &shape = a.spec().logical_shape(), &from = b.spec().logical_shape();
  const int d = checked_dim("indexed_fill", dim, shape.rank());
  check(from.rank() == shape.rank(), Code::invalid_argument, "indexed_fill: the tensors have {} and {} dimensions",
        shape.rank(), from.rank());
  for (int i = 0; i < shape.rank(); ++i)
    check(i == d || from[i] == shape[i], Code::invalid_argument,
          "indexed_fill: shapes {} and {} differ in dimension {}", shape.to_string(), from.to_string(), i);
  check(ids.spec().logical_shape().volume() == from[d], Code::invalid_argument,
        "indexed_fill: {} indices do not name the {} slices of the second tensor", ids.spec().logical_shape().volume(),
        from[d]);
  check(a.spec().dtype() == b.spec().dtype(), Code::unsupported, Hint{"use typecast"},
        "indexed_fill: the tensors are {} and {}", name(a.spec().dtype()), name(b.spec().dtype()));
  const TensorSpec result = a.spec().with_memory_config(place_of_result(config, a, shape));
  return whole_program(ProgramKind::scatter, "indexed_fill", {&a, &b, &ids}, result, [&] {
    std::vector<double> y = numbers_of(a);
    const std::vector<double> values = numbers_of(b), where = numbers_of(ids);
    const AlongDim to(shape, d), along(from, d);
    for (std::int64_t i = 0; i < along.length; ++i) {
      const std::int64_t place = checked_place("indexed_fill", where[static_cast<std::size_t>(i)], to.length);
      for (std::int64_t line = 0; line < along.lines(); ++line) y[to.at(line, place)] = values[along.at(line, i)];
    }
    return y;
  });
}

const CardOp card_op_gather = {.kind = ProgramKind::gather, .count = count_rearranged, .role = CallRole::converts};
const CardOp card_op_scatter = {.kind = ProgramKind::scatter, .count = count_rearranged, .role = CallRole::converts};

}  // namespace tessera::tensix
