#include "tessera/graph/ops/select.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace tessera {

using namespace moving;

namespace {

// One whole number given as a scalar or as a list of one.
std::optional<std::int64_t> constant_number(const Knowns& inputs, std::size_t i, std::string_view what) {
  const std::optional<Dims> values = constant_integers(inputs, i, what);
  const std::int64_t length = inputs.has(i) ? list_length(inputs, i) : 1;
  check(length == 1 || length == TensorType::kUnknown, Code::invalid_argument, "{}: {} must be one number, not {}",
        inputs.op(), what, length);
  if (!values) return std::nullopt;
  return values->front();
}

// A tensor as lines along one axis: line (o, i) starts at (o * extent) * inner + i and steps by inner.
struct Lines {
  std::int64_t outer = 1, extent = 1, inner = 1;
};

Lines lines_of(const Shape& shape, std::size_t axis) {
  const std::span<const std::int64_t> dims = shape.dims();
  return {product(dims.first(axis)), dims[axis], product(dims.subspan(axis + 1))};
}

template <class T>
bool is_nan(T value) {
  if constexpr (is_floating_v<T>)
    return std::isnan(static_cast<double>(value));
  else
    return false;
}

// NaN counts as the greatest number.
template <class T>
bool less(T a, T b) {
  if (is_nan(a) || is_nan(b)) return !is_nan(a);
  return a < b;
}

}  // namespace

std::vector<TensorType> infer(const TopK& op, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  const TensorType& x = inputs[0];
  check(x.type != ElementType::boolean, Code::invalid_argument, "{}: there is no order among bool", inputs.op());
  const std::optional<std::int64_t> k = constant_number(inputs, 1, "k");
  check(!k || *k >= 0, Code::invalid_argument, "{}: k is {}", inputs.op(), k.value_or(0));
  if (!x.dims) return {TensorType(x.type, std::nullopt), TensorType(ElementType::int64, std::nullopt)};
  Dims dims = *x.dims;
  std::int64_t& extent = dims[static_cast<std::size_t>(normalized_axis(op.axis, x.rank(), inputs.op()))];
  check(!k || extent == TensorType::kUnknown || *k <= extent, Code::invalid_argument,
        "{}: k is {}, but {} has only {} elements there", inputs.op(), k.value_or(0), x.to_string(), extent);
  extent = k.value_or(TensorType::kUnknown);
  return {output_type(x.type, dims, inputs.op()), output_type(ElementType::int64, dims, inputs.op())};
}

Work work(const TopK&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

// Unsorted results may come in any order: they come sorted.
std::vector<Array> reference(const TopK& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const std::vector<TensorType> types = infer_from(op, inputs);
  Array values = make_array(types[0], inputs.op()), indices = make_array(types[1], inputs.op());
  if (values.count() == 0) return {std::move(values), std::move(indices)};
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, x.shape().rank(), inputs.op()));
  const Lines lines = lines_of(x.shape(), axis);
  const std::int64_t k = values.shape().dims()[axis];
  visit_element_type(x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<std::int64_t> order(static_cast<std::size_t>(lines.extent));
    for (std::int64_t o = 0; o < lines.outer; ++o)
      for (std::int64_t i = 0; i < lines.inner; ++i) {
        const T* line = x.as<T>().data() + o * lines.extent * lines.inner + i;
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t a, std::int64_t b) {
          const T p = line[a * lines.inner], q = line[b * lines.inner];
          if (op.largest ? less(q, p) : less(p, q)) return true;
          if (op.largest ? less(p, q) : less(q, p)) return false;
          return a < b;
        });
        for (std::int64_t j = 0; j < k; ++j) {
          const auto to = static_cast<std::size_t>((o * k + j) * lines.inner + i);
          const std::int64_t from = order[static_cast<std::size_t>(j)];
          values.as<T>()[to] = line[from * lines.inner];
          indices.as<std::int64_t>()[to] = from;
        }
      }
  });
  return {std::move(values), std::move(indices)};
}

std::vector<TensorType> infer(const CumSum&, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  const TensorType& x = inputs[0];
  check(x.type != ElementType::boolean, Code::invalid_argument, "{}: bool cannot be summed", inputs.op());
  const std::optional<std::int64_t> axis = constant_number(inputs, 1, "the axis");
  if (axis && x.dims) normalized_axis(*axis, x.rank(), inputs.op());
  return {x};
}

Work work(const CumSum&, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs.first(1), outputs, 1);
}

std::vector<Array> reference(const CumSum& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  const int axis = normalized_axis(inputs[1].to_int64().front(), x.shape().rank(), inputs.op());
  const Lines lines = lines_of(x.shape(), static_cast<std::size_t>(axis));
  visit_element_type(x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Whole numbers wrap around as their type does.
    using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
    for (std::int64_t o = 0; o < lines.outer; ++o)
      for (std::int64_t i = 0; i < lines.inner; ++i) {
        Sum sum = op.product ? 1 : 0;
        for (std::int64_t j = 0; j < lines.extent; ++j) {
          const std::int64_t step = op.reverse ? lines.extent - 1 - j : j;
          const auto at = static_cast<std::size_t>((o * lines.extent + step) * lines.inner + i);
          const Sum before = sum;
          if (op.product)
            sum *= static_cast<Sum>(x.as<T>()[at]);
          else
            sum += static_cast<Sum>(x.as<T>()[at]);
          y.as<T>()[at] = static_cast<T>(op.exclusive ? before : sum);
        }
      }
  });
  return {std::move(y)};
}

namespace {

// A number of any type as a whole number, truncated; numbers beyond int64 become its ends, NaN is an Error.
std::vector<std::int64_t> whole_numbers(const Array& array, std::string_view op) {
  return visit_element_type(array.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<std::int64_t> out;
    out.reserve(static_cast<std::size_t>(array.count()));
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                           kMost = std::numeric_limits<std::int64_t>::max();
    for (const T value : array.as<T>()) {
      if constexpr (std::is_same_v<T, std::uint64_t>) {
        out.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(value, static_cast<std::uint64_t>(kMost))));
      } else if constexpr (std::is_integral_v<T>) {
        out.push_back(static_cast<std::int64_t>(value));
      } else {
        const double number = static_cast<double>(value);
        check(!std::isnan(number), Code::invalid_argument, "{}: NaN is not an index", op);
        out.push_back(number >= 0x1p63 ? kMost : number < -0x1p63 ? kLeast : static_cast<std::int64_t>(number));
      }
    }
    return out;
  });
}

}  // namespace

std::vector<TensorType> infer(const OneHot& op, const Knowns& inputs) {
  inputs.expect_count(3, 3);
  const TensorType &indices = inputs[0], &depth = inputs[1], &values = inputs[2];
  check(!depth.is_static() || depth.shape().volume() == 1, Code::invalid_argument,
        "{}: the depth must be one number, not {}", inputs.op(), depth.to_string());
  check(!values.is_static() || values.shape() == Shape{2}, Code::invalid_argument,
        "{}: the values must be [off, on], not {}", inputs.op(), values.to_string());
  if (!indices.dims) return {TensorType(values.type, std::nullopt)};
  Dims dims = *indices.dims;
  const int axis = normalized_axis(op.axis, indices.rank() + 1, inputs.op());
  std::int64_t extent = TensorType::kUnknown;
  if (inputs.constant(1)) {
    extent = whole_numbers(*inputs.constant(1), inputs.op()).front();
    check(extent >= 1, Code::invalid_argument, "{}: the depth is {}", inputs.op(), extent);
  }
  dims.insert(dims.begin() + axis, extent);
  return {output_type(values.type, std::move(dims), inputs.op())};
}

Work work(const OneHot&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const OneHot& op, const Arrays& inputs) {
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, y.shape().rank(), inputs.op()));
  const Lines lines = lines_of(y.shape(), axis);
  const std::vector<std::int64_t> indices = whole_numbers(inputs[0], inputs.op());
  const std::int64_t bytes_each = element_bytes(y.type());
  const auto put = [&](std::int64_t at, std::int64_t which) {
    std::memcpy(y.bytes().data() + at * bytes_each, inputs[2].bytes().data() + which * bytes_each,
                static_cast<std::size_t>(bytes_each));
  };
  for (std::int64_t at = 0; at < y.count(); ++at) put(at, 0);
  for (std::int64_t o = 0; o < lines.outer; ++o)
    for (std::int64_t i = 0; i < lines.inner; ++i) {
      const std::int64_t index = indices[static_cast<std::size_t>(o * lines.inner + i)];
      if (index < -lines.extent || index >= lines.extent) continue;  // marks nothing
      put((o * lines.extent + (index < 0 ? index + lines.extent : index)) * lines.inner + i, 1);
    }
  return {std::move(y)};
}

std::vector<TensorType> infer(const Trilu&, const Knowns& inputs) {
  inputs.expect_count(1, 2);
  inputs.expect_rank(0, 2, Shape::kMaxRank);
  if (inputs.has(1)) constant_number(inputs, 1, "the diagonal");
  return {inputs[0]};
}

Work work(const Trilu&, const Types& inputs, const Types& outputs) { return streaming_work(inputs.first(1), outputs); }

std::vector<Array> reference(const Trilu& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y = make_array(infer_from(op, inputs).front(), inputs.op());
  if (y.count() == 0) return {std::move(y)};
  const std::int64_t diagonal = inputs.has(1) ? inputs[1].to_int64().front() : 0;
  const std::int64_t height = x.shape()[-2], width = x.shape()[-1], bytes_each = element_bytes(x.type());
  for (std::int64_t row = 0; row < x.count() / width; ++row) {
    // The diagonal's column in this row, kept within the matrix: the upper part is [column, width), the lower [0,
    // column].
    const std::int64_t in_matrix = row % height;
    const std::int64_t column = in_matrix + std::clamp(diagonal, -in_matrix - 1, width - in_matrix);
    const std::int64_t first = op.upper ? std::max<std::int64_t>(column, 0) : 0;
    const std::int64_t last = op.upper ? width : std::min(column + 1, width);
    if (last > first)
      std::memcpy(y.bytes().data() + (row * width + first) * bytes_each,
                  x.bytes().data() + (row * width + first) * bytes_each,
                  static_cast<std::size_t>((last - first) * bytes_each));
  }
  return {std::move(y)};
}

std::vector<TensorType> infer(const NonZero&, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  const std::int64_t rank = inputs[0].dims ? inputs[0].rank() : TensorType::kUnknown;
  return {TensorType(ElementType::int64, Dims{rank, TensorType::kUnknown})};
}

Work work(const NonZero&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const NonZero& op, const Arrays& inputs) {
  infer_from(op, inputs);
  const Array& x = inputs[0];
  std::vector<std::int64_t> found;
  visit_element_type(x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::int64_t at = 0;
    for (const T value : x.as<T>()) {
      if (value != static_cast<T>(0)) found.push_back(at);
      ++at;
    }
  });
  const auto count = static_cast<std::int64_t>(found.size());
  Array y = make_array(output_type(ElementType::int64, Dims{x.shape().rank(), count}, inputs.op()), inputs.op());
  const Dims& dims = x.shape().dims();
  for (std::int64_t i = 0; i < count; ++i)
    for (std::size_t d = dims.size(); d-- > 0; found[static_cast<std::size_t>(i)] /= dims[d])
      y.as<std::int64_t>()[d * found.size() + static_cast<std::size_t>(i)] =
          found[static_cast<std::size_t>(i)] % dims[d];
  return {std::move(y)};
}

}  // namespace tessera
