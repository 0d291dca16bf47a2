#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"
#include "tessera/targets/tensix/ops/reduction/reduced_rows.h"
#include "tessera/targets/tensix/ops/reduction/reduction.h"
#include "tessera/targets/tensix/ops/shape_ops/shape_ops.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

namespace tessera::tensix {
namespace {

// In the order of elements: every one is reached from the one before it along the dimension.
template <class Value, class Combine>
void run_along(std::vector<Value>& values, const Shape& shape, int dim, bool backwards, Combine&& combine) {
  std::int64_t inner = 1;
  for (int d = dim + 1; d < shape.rank(); ++d) inner *= shape[d];
  const std::int64_t length = shape[dim], count = static_cast<std::int64_t>(values.size());
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t i = backwards ? count - 1 - k : k;
    const std::int64_t position = i / inner % length;
    if (position == (backwards ? length - 1 : 0)) continue;
    const std::int64_t before = backwards ? i + inner : i - inner;
    Value& v = values[static_cast<std::size_t>(i)];
    v = combine(values[static_cast<std::size_t>(before)], v);
  }
}

void count_accumulation(TensorWork& w) { w.element_wise(1, false); }

}  // namespace

DeviceTensor accumulate(Accumulation accumulation, const DeviceTensor& x, int dim, const AccumulateOptions& options) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const bool adds = accumulation == Accumulation::sum;
  const std::string_view op = adds ? "cumsum" : "cumprod";
  const int d = checked_dim(op, dim, from.logical_shape().rank());
  if (options.dtype && *options.dtype != from.dtype()) {
    AccumulateOptions inner = options;
    inner.dtype.reset();
    return accumulate(accumulation, typecast(x, *options.dtype), d, inner);
  }
  if (is_rows(x)) {
    AccumulateOptions inner = options;
    inner.output.reset();
    check(!options.output, Code::unsupported, Hint{"convert to TILE layout first"},
          "{}: a given output tensor and a ROW_MAJOR input do not go together", op);
    return to_layout(accumulate(accumulation, tiled(x), d, inner), Layout::row_major);
  }
  const MemoryConfig place = placement_like(options.memory_config, from, x.device()->grid());
  if (options.output) check_output(op, *options.output, from.logical_shape(), x);
  DeviceTensor y =
      options.output ? *options.output : DeviceTensor::allocate(x.device(), from.with_memory_config(place));
  write_values(y, [&] {
    const Tensor in = read_pages(x);
    if (is_integer(from.dtype())) {
      std::vector<std::int64_t> values = integers_of(in);
      run_along(values, from.logical_shape(), d, options.backwards,
                [&](std::int64_t a, std::int64_t b) { return adds ? a + b : a * b; });
      return tensor_of(values, y.spec());
    }
    std::vector<float> values = in.to_float32();
    run_along(values, from.logical_shape(), d, options.backwards,
              [&](float a, float b) { return from_vector_unit(adds ? a + b : a * b, true); });
    return tensor_of(values, y.spec());
  });
  finish_program({ProgramKind::accumulation, fmt::format("{} along {}", from.logical_shape().to_string(), d),
                  stream_transfers(x, y), nullptr, std::string(op)},
                 {&x}, y);
  return y;
}

DeviceTensor argmax(const DeviceTensor& x, std::optional<int> dim, bool keep_dim,
                    const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& shape = from.logical_shape();
  check(!is_block_float(from.dtype()) && from.dtype() != DType::uint8, Code::unsupported, Hint{"use typecast"},
        "argmax: {} is not supported, only bfloat16, float32, int32, uint32 and uint16", name(from.dtype()));
  std::vector<bool> reduced(static_cast<std::size_t>(shape.rank()), !dim.has_value());
  if (dim) reduced[static_cast<std::size_t>(checked_dim("argmax", *dim, shape.rank()))] = true;
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < reduced.size(); ++d)
    if (!reduced[d] || keep_dim) dims.push_back(reduced[d] ? 1 : shape.dims()[d]);
  const MemoryConfig place =
      config.value_or(from.memory_config().is_sharded() ? kDramMemoryConfig : from.memory_config());
  DeviceTensor y = DeviceTensor::allocate(x.device(), TensorSpec(Shape(dims), DType::uint32, Layout::row_major, place));
  write_values(y, [&] {
    std::vector<double> values;
    if (is_integer(from.dtype())) {
      const std::vector<std::int64_t> integers = integers_of(read_pages(x));
      values.assign(integers.begin(), integers.end());
    } else {
      const std::vector<float> fractions = read_pages(x).to_float32();
      values.assign(fractions.begin(), fractions.end());
    }
    const ReducedRows rows(shape, reduced, std::move(values));
    std::vector<std::int64_t> where;
    for (std::int64_t r = 0; r < rows.count(); ++r) {
      const auto row = rows.row(r);
      std::size_t best = 0;
      for (std::size_t i = 1; i < row.size(); ++i)
        if (row[i] > row[best]) best = i;
      where.push_back(static_cast<std::int64_t>(best));
    }
    return tensor_of(where, y.spec());
  });
  finish_program({ProgramKind::argmax, shape.to_string(), stream_transfers(x, y)}, {&x}, y);
  return y;
}

const CardOp card_op_accumulation = {.kind = ProgramKind::accumulation, .count = count_accumulation};
// Each row is read into the core and searched there.
const CardOp card_op_argmax = {.kind = ProgramKind::argmax, .count = count_rearranged};

}  // namespace tessera::tensix
