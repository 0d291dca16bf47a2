#include "tessera/graph/ops/shape_of.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera {

using namespace moving;

namespace {

// Positions [first, last) of the extents that ShapeOf gives.
struct Part {
  std::size_t first, last;
};

Part part_of(const ShapeOf& op, std::int64_t rank) {
  const auto clamped = [&](std::int64_t at) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank));
  };
  const std::size_t first = clamped(op.start), last = op.end ? clamped(*op.end) : static_cast<std::size_t>(rank);
  return {first, std::max(first, last)};
}

constexpr std::int64_t kMaxRange = std::int64_t{1} << 31;

// How many numbers lie from start to limit, the limit excluded.
template <class T>
std::int64_t range_count(T start, T limit, T step, std::string_view op) {
  double count = 0;
  if constexpr (std::is_integral_v<T>) {
    check(step != 0, Code::invalid_argument, "{}: the step is 0", op);
    __extension__ using Wide = __int128;
    const Wide distance = static_cast<Wide>(limit) - static_cast<Wide>(start), each = static_cast<Wide>(step);
    const Wide steps = distance / each + ((distance % each != 0) && ((distance < 0) == (each < 0)) ? 1 : 0);
    count = static_cast<double>(steps);
  } else {
    const double each = static_cast<double>(step);
    check(each != 0, Code::invalid_argument, "{}: the step is 0", op);
    count = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / each);
  }
  if (!(count <= static_cast<double>(kMaxRange)))
    fail(Code::invalid_argument, "{}: from {} to {} by {} is not a range of at most {} numbers", op,
         static_cast<double>(start), static_cast<double>(limit), static_cast<double>(step), kMaxRange);
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::max(count, -1.0)));
}

}  // namespace

std::vector<TensorType> infer(const ShapeOf& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  if (!inputs[0].dims) return {TensorType(ElementType::int64, Dims{TensorType::kUnknown})};
  const Part part = part_of(op, inputs[0].rank());
  return {TensorType(ElementType::int64, Dims{static_cast<std::int64_t>(part.last - part.first)})};
}

Work work(const ShapeOf&, const Types&, const Types& outputs) { return streaming_work({}, outputs); }

std::vector<Array> reference(const ShapeOf& op, const Arrays& inputs) {
  const std::span<const std::int64_t> dims = inputs[0].shape().dims();
  const Part part = part_of(op, inputs[0].shape().rank());
  const auto taken = dims.subspan(part.first, part.last - part.first);
  return {Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(taken.size())}, taken)};
}

std::vector<TensorType> infer(const SizeOf&, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  return {TensorType(ElementType::int64, Dims{})};
}

Work work(const SizeOf&, const Types&, const Types& outputs) { return streaming_work({}, outputs); }

std::vector<Array> reference(const SizeOf&, const Arrays& inputs) {
  return {Array::scalar<std::int64_t>(inputs[0].count())};
}

std::vector<TensorType> infer(const ConstantOfShape& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  check(op.value.count() == 1, Code::invalid_argument, "{}: the value must be one element, not {}", inputs.op(),
        op.value.to_string());
  const std::optional<Dims> dims = constant_integers(inputs, 0, "the shape");
  if (dims) {
    for (std::int64_t d : *dims)
      check(d >= 0, Code::invalid_argument, "{}: the shape has a negative extent {}", inputs.op(), d);
    return {output_type(op.value.type(), *dims, inputs.op())};
  }
  const std::int64_t rank = list_length(inputs, 0);
  if (rank == TensorType::kUnknown) return {TensorType(op.value.type(), std::nullopt)};
  check(rank <= Shape::kMaxRank, Code::invalid_argument, "{}: a shape of rank {} is given, at most {} is supported",
        inputs.op(), rank, Shape::kMaxRank);
  return {TensorType(op.value.type(), Dims(static_cast<std::size_t>(rank), TensorType::kUnknown))};
}

Work work(const ConstantOfShape&, const Types&, const Types& outputs) { return streaming_work({}, outputs); }

std::vector<Array> reference(const ConstantOfShape& op, const Arrays& inputs) {
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  const std::span<const std::byte> value = op.value.bytes();
  const bool zero = std::all_of(value.begin(), value.end(), [](std::byte b) { return b == std::byte{0}; });
  if (!zero)
    for (std::size_t at = 0; at < y.bytes().size(); at += value.size())
      std::memcpy(y.bytes().data() + at, value.data(), value.size());
  return {std::move(y)};
}

std::vector<TensorType> infer(const Range&, const Knowns& inputs) {
  inputs.expect_count(3, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    inputs.expect_same_type(0, i);
    check(!inputs[i].is_static() || inputs[i].shape().volume() == 1, Code::invalid_argument,
          "{}: input {} must be one number, not {}", inputs.op(), i, inputs[i].to_string());
  }
  check(inputs[0].type != ElementType::boolean, Code::invalid_argument, "{}: there is no range of bool", inputs.op());
  std::int64_t count = TensorType::kUnknown;
  if (inputs.constant(0) && inputs.constant(1) && inputs.constant(2))
    count = visit_element_type(inputs[0].type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      return range_count(inputs.constant(0)->as<T>()[0], inputs.constant(1)->as<T>()[0], inputs.constant(2)->as<T>()[0],
                         inputs.op());
    });
  return {output_type(inputs[0].type, Dims{count}, inputs.op())};
}

Work work(const Range&, const Types&, const Types& outputs) { return streaming_work({}, outputs, 2); }

std::vector<Array> reference(const Range& op, const Arrays& inputs) {
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  visit_element_type(y.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T start = inputs[0].as<T>()[0], step = inputs[2].as<T>()[0];
    const std::span<T> ys = y.as<T>();
    for (std::size_t i = 0; i < ys.size(); ++i) {
      // Whole numbers in two's complement of 64 bits: no intermediate can overflow, and the results fit.
      if constexpr (std::is_integral_v<T>)
        ys[i] = static_cast<T>(static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(step));
      else
        ys[i] = static_cast<T>(static_cast<double>(start) + static_cast<double>(i) * static_cast<double>(step));
    }
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const EyeLike& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_rank(0, 2, 2);
  const ElementType type = op.type.value_or(inputs[0].type);
  check(!is_narrow(type), Code::unsupported, "{}: nothing is computed in {}", inputs.op(), name(type));
  if (!inputs[0].dims) return {TensorType(type, Dims(2, TensorType::kUnknown))};
  return {output_type(type, *inputs[0].dims, inputs.op())};
}

Work work(const EyeLike&, const Types&, const Types& outputs) { return streaming_work({}, outputs); }

std::vector<Array> reference(const EyeLike& op, const Arrays& inputs) {
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  const std::int64_t height = y.shape()[0], width = y.shape()[1];
  // A diagonal outside the matrix marks nothing.
  if (op.diagonal >= width || op.diagonal <= -height) return {std::move(y)};
  visit_element_type(y.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t row = 0; row < height; ++row)
      if (row + op.diagonal >= 0 && row + op.diagonal < width)
        y.as<T>()[static_cast<std::size_t>(row * width + row + op.diagonal)] = static_cast<T>(1);
  });
  return {std::move(y)};
}

}  // namespace tessera
