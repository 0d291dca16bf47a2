#include "tessera/targets/tensix/ops/sort/sort.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"
#include "tessera/targets/tensix/ops/shape_ops/shape_ops.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera::tensix {
namespace {

constexpr int kCoordinates = 4, kCountColumns = 8;  // of nonzero
constexpr std::int64_t kMostUint16 = std::numeric_limits<std::uint16_t>::max();

// Whether a comes before b; NaN counts as largest.
bool before(double a, double b, bool descending) {
  if (std::isnan(a) || std::isnan(b)) return descending ? std::isnan(a) && !std::isnan(b) : !std::isnan(a);
  return descending ? a > b : a < b;
}

// The first `count` of every line, in order, and where each was.
std::pair<std::vector<double>, std::vector<double>> first_of_lines(const DeviceTensor& x, int dim, std::int64_t count,
                                                                   bool descending) {
  const std::vector<double> values = numbers_of(x);
  const AlongDim from(x.spec().logical_shape(), dim);
  std::vector<std::int64_t> dims = x.spec().logical_shape().dims();
  dims[static_cast<std::size_t>(dim)] = count;
  const AlongDim to(Shape(dims), dim);
  std::vector<double> best(static_cast<std::size_t>(to.lines() * count)), places(best.size());
  std::vector<std::int64_t> order(static_cast<std::size_t>(from.length));
  for (std::int64_t line = 0; line < from.lines(); ++line) {
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      return before(values[from.at(line, a)], values[from.at(line, b)], descending);
    });
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t place = order[static_cast<std::size_t>(i)];
      best[to.at(line, i)] = values[from.at(line, place)];
      places[to.at(line, i)] = static_cast<double>(place);
    }
  }
  return {std::move(best), std::move(places)};
}

ValuesAndIndices run(ProgramKind kind, const DeviceTensor& x, ValuesAndIndices y, int dim, bool descending,
                     const std::optional<DeviceTensor>& names) {
  DeviceTensors inputs{&x};
  if (names) inputs.push_back(&*names);
  check_whole_program_fits(inputs, {&y.first, &y.second});
  if (x.device()->options().values) {
    auto [values, places] = first_of_lines(x, dim, y.first.spec().logical_shape()[dim], descending);
    if (names) {
      const std::vector<double> called = numbers_of(*names);
      const AlongDim from(x.spec().logical_shape(), dim), to(y.first.spec().logical_shape(), dim);
      for (std::int64_t line = 0; line < to.lines(); ++line)
        for (std::int64_t i = 0; i < to.length; ++i)
          places[to.at(line, i)] = called[from.at(line, static_cast<std::int64_t>(places[to.at(line, i)]))];
    }
    write_values(y.first, [&] { return tensor_of(values, y.first.spec()); });
    write_values(y.second, [&] { return tensor_of(places, y.second.spec()); });
  }
  finish_whole_program(kind, name(kind), inputs, y.first);
  return y;
}

void check_outputs(std::string_view op, const std::optional<ValuesAndIndices>& outputs, const Shape& shape,
                   const DeviceTensor& x) {
  if (!outputs) return;
  check_output(op, outputs->first, shape, x);
  check_output(op, outputs->second, shape, x);
  check(outputs->first.spec().dtype() == x.spec().dtype(), Code::invalid_argument,
        "{}: the given values are {}, the input {}", op, name(outputs->first.spec().dtype()), name(x.spec().dtype()));
  const DType dtype = outputs->second.spec().dtype();
  check(dtype == DType::uint16 || dtype == DType::uint32, Code::invalid_argument,
        "{}: the given indices must be UINT16 or UINT32, they are {}", op, name(dtype));
}

// Several passes over every tile: as many as halvings of the row.
void count_sort(TensorWork& w) {
  w.element_wise(1, false);
  const double tiles = std::max(1.0, static_cast<double>(ceil_div(w.in().columns, kTile)));
  w.work.vector_tiles *= 1 + std::ceil(std::log2(tiles + 1));
}

}  // namespace

ValuesAndIndices sort(const DeviceTensor& x, int dim, bool descending, const std::optional<MemoryConfig>& config,
                      const std::optional<ValuesAndIndices>& outputs) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const int d = checked_dim("sort", dim, from.logical_shape().rank());
  check(from.dtype() == DType::bfloat16 || from.dtype() == DType::uint16 || from.dtype() == DType::float32,
        Code::unsupported, Hint{"use typecast"}, "sort: the input must be BFLOAT16, UINT16 or FLOAT32, it is {}",
        name(from.dtype()));
  check_outputs("sort", outputs, from.logical_shape(), x);
  const MemoryConfig place = place_of_result(config, x, from.logical_shape());
  const bool narrow = from.dtype() == DType::bfloat16 && from.logical_shape()[d] < kMostUint16;
  const auto empty = [&](DType dtype) {
    return DeviceTensor::allocate(x.device(), TensorSpec(from.logical_shape(), dtype, from.layout(), place));
  };
  return run(ProgramKind::sort, x,
             outputs ? *outputs : ValuesAndIndices{empty(from.dtype()), empty(narrow ? DType::uint16 : DType::uint32)},
             d, descending, {});
}

ValuesAndIndices topk(const DeviceTensor& x, std::int64_t k, int dim, const TopkOptions& options) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const int d = checked_dim("topk", dim, from.logical_shape().rank());
  check(k >= 0 && k <= from.logical_shape()[d], Code::invalid_argument,
        "topk: K={} elements of a dimension of size {} are not possible", k, from.logical_shape()[d]);
  check(from.layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
        "topk: the input must be in TILE layout, it is in {}", name(from.layout()));
  check(from.dtype() == DType::bfloat16 || from.dtype() == DType::bfloat8_b || from.dtype() == DType::float32,
        Code::unsupported, Hint{"use typecast"}, "topk: the input must be BFLOAT16, BFLOAT8_B or FLOAT32, it is {}",
        name(from.dtype()));
  check(!options.memory_config || !options.memory_config->is_sharded(), Code::unsupported, Hint{"use to_memory_config"},
        "topk: a result in shards is not supported");
  if (options.indices) {
    check_output("topk", *options.indices, from.logical_shape(), x);
    check(is_integer(options.indices->spec().dtype()), Code::invalid_argument,
          "topk: given indices must be integers, they are {}", name(options.indices->spec().dtype()));
  }
  std::vector<std::int64_t> dims = from.logical_shape().dims();
  dims[static_cast<std::size_t>(d)] = k;
  const Shape shape(dims);
  check_outputs("topk", options.outputs, shape, x);
  const MemoryConfig place =
      options.memory_config.value_or(from.memory_config().is_sharded() ? kDramMemoryConfig : from.memory_config());
  const DType index = k == 0 ? from.dtype()  // TTNN makes two empty tensors alike
                      : from.dtype() == DType::float32 || from.padded_shape()[-1] > kMostUint16 ? DType::uint32
                                                                                                : DType::uint16;
  const auto empty = [&](DType dtype) {
    return DeviceTensor::allocate(x.device(), TensorSpec(shape, dtype, Layout::tile, place));
  };
  return run(ProgramKind::topk, x,
             options.outputs ? *options.outputs : ValuesAndIndices{empty(from.dtype()), empty(index)}, d,
             options.largest, options.indices);
}

ValuesAndIndices nonzero(const DeviceTensor& x, const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& shape = from.logical_shape();
  check(shape.rank() == kCoordinates, Code::unsupported, Hint{"use unsqueeze_to_4D"},
        "nonzero: the input must have {} dimensions, it has {}", kCoordinates, shape.rank());
  const MemoryConfig place = config.value_or(kDramMemoryConfig);
  const auto empty = [&](std::int64_t columns) {
    return DeviceTensor::allocate(x.device(),
                                  TensorSpec(Shape{1, 1, 1, columns}, DType::uint32, Layout::row_major, place));
  };
  ValuesAndIndices y{empty(kCountColumns), empty(kCoordinates * shape.volume())};
  check_whole_program_fits({&x}, {&y.first, &y.second});
  if (x.device()->options().values) {
    const std::vector<double> values = numbers_of(x);
    std::vector<double> count(kCountColumns), places;
    Coordinates here(shape);
    for (const double v : values) {
      if (v != 0) {
        places.insert(places.end(), here.at().begin(), here.at().end());
        ++count[0];
      }
      here.next();
    }
    places.resize(kCoordinates * values.size());
    write_values(y.first, [&] { return tensor_of(count, y.first.spec()); });
    write_values(y.second, [&] { return tensor_of(places, y.second.spec()); });
  }
  finish_whole_program(ProgramKind::nonzero, "nonzero", {&x}, y.second);
  return y;
}

const CardOp card_op_nonzero = {.kind = ProgramKind::nonzero, .count = count_streamed_rows};
const CardOp card_op_sort = {.kind = ProgramKind::sort, .count = count_sort};
const CardOp card_op_topk = {.kind = ProgramKind::topk, .count = count_sort};

}  // namespace tessera::tensix
