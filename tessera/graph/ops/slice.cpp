#include "tessera/graph/ops/slice.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tessera {

using namespace moving;

namespace {

// Elements start, start + step, ...: `count` of them.
struct Steps {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

Steps steps_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  if (extent == 0) return {};
  // Adding an extent to a negative position cannot overflow, and INT64_MIN stays far below zero.
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, extent);
    end = std::clamp<std::int64_t>(end, 0, extent);
    // A step beyond the extent takes one element at most, and its product with a position must not overflow.
    step = std::min(step, extent);
    return {start, step, end > start ? (end - start - 1) / step + 1 : 0};
  }
  start = std::clamp<std::int64_t>(start, 0, extent - 1);
  end = std::clamp<std::int64_t>(end, -1, extent - 1);
  step = std::max(step, -extent);
  return {start, step, start > end ? (start - end - 1) / -step + 1 : 0};
}

struct Range1d {
  std::int64_t start, end, step;
};

// The lists of a slice with everything known, by axis; axes that it leaves alone have no entry.
struct Lists {
  std::vector<int> axes;
  std::vector<Range1d> ranges;
};

std::optional<Lists> lists_of(const Knowns& inputs, int rank) {
  const std::optional<Dims> starts = constant_integers(inputs, 1, "starts"),
                            ends = constant_integers(inputs, 2, "ends");
  const std::optional<Dims> axes = constant_integers(inputs, 3, "axes"), steps = constant_integers(inputs, 4, "steps");
  if (steps)
    for (std::int64_t step : *steps) check(step != 0, Code::invalid_argument, "{}: a step cannot be 0", inputs.op());
  if (!starts || !ends || (inputs.has(3) && !axes) || (inputs.has(4) && !steps)) return std::nullopt;
  const std::size_t count = starts->size();
  check(ends->size() == count && (!axes || axes->size() == count) && (!steps || steps->size() == count),
        Code::invalid_argument, "{}: {} starts, {} ends, {} axes and {} steps must be as many", inputs.op(), count,
        ends->size(), axes ? axes->size() : count, steps ? steps->size() : count);
  check(count <= static_cast<std::size_t>(rank), Code::invalid_argument,
        "{}: {} starts are given for a tensor of rank {}", inputs.op(), count, rank);
  Dims numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  Lists lists{normalized_axes(axes ? *axes : numbers, rank, inputs.op()), {}};
  for (std::size_t i = 0; i < count; ++i) lists.ranges.push_back({(*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1});
  return lists;
}

// Extents when starts, ends or steps are not known: only the axes they name change, if those are known.
Dims undecided(const Knowns& inputs, const Dims& x) {
  const int rank = static_cast<int>(x.size());
  Dims dims = x;
  const std::optional<Dims> axes = constant_integers(inputs, 3, "axes");
  if (axes) {
    for (int axis : normalized_axes(*axes, rank, inputs.op()))
      dims[static_cast<std::size_t>(axis)] = TensorType::kUnknown;
    return dims;
  }
  std::int64_t touched = rank;
  if (!inputs.has(3) && list_length(inputs, 1) != TensorType::kUnknown)
    touched = std::min<std::int64_t>(rank, list_length(inputs, 1));
  std::fill_n(dims.begin(), touched, TensorType::kUnknown);
  return dims;
}

}  // namespace

std::vector<TensorType> infer(const Slice&, const Knowns& inputs) {
  inputs.expect_count(3, 5);
  const TensorType& x = inputs[0];
  if (!x.dims) return {TensorType(x.type, std::nullopt)};
  const std::optional<Lists> lists = lists_of(inputs, x.rank());
  if (!lists) return {TensorType(x.type, undecided(inputs, *x.dims))};
  Dims dims = *x.dims;
  for (std::size_t i = 0; i < lists->axes.size(); ++i) {
    std::int64_t& extent = dims[static_cast<std::size_t>(lists->axes[i])];
    const Range1d& r = lists->ranges[i];
    if (extent != TensorType::kUnknown) extent = steps_of(r.start, r.end, r.step, extent).count;
  }
  return {output_type(x.type, std::move(dims), inputs.op())};
}

Work work(const Slice&, const Types&, const Types& outputs) { return streaming_work(outputs, outputs); }

std::vector<Array> reference(const Slice& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  if (y.count() == 0) return {std::move(y)};
  const Dims starts = inputs[1].to_int64(), ends = inputs[2].to_int64();
  View from{0, row_major_strides(x.shape().dims())};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t axis = inputs.has(3) ? inputs[3].to_int64()[i] : static_cast<std::int64_t>(i);
    const auto at = static_cast<std::size_t>(normalized_axis(axis, x.shape().rank(), inputs.op()));
    const Steps steps = steps_of(starts[i], ends[i], inputs.has(4) ? inputs[4].to_int64()[i] : 1, x.shape().dims()[at]);
    from.offset += steps.start * from.strides[at];
    from.strides[at] *= steps.step;
  }
  copy_strided(x.bytes(), from, y.bytes(), {0, row_major_strides(y.shape().dims())}, y.shape().dims(),
               element_bytes(x.type()));
  return {std::move(y)};
}

}  // namespace tessera
