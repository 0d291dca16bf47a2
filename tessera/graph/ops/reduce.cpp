#include "tessera/graph/ops/reduce.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"
#include "tessera/graph/ops/internal/walk.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

using internal::narrow;
using internal::wide;
using Kind = Reduce::Kind;

// Which dimensions go.
std::vector<bool> reduced_dims(const Reduce& op, const std::vector<std::int64_t>& axes, int rank,
                               std::string_view name) {
  std::vector<bool> gone(static_cast<std::size_t>(rank), axes.empty() && !op.no_axes_means_none);
  for (const std::int64_t axis : axes) gone[static_cast<std::size_t>(normalized_axis(axis, rank, name))] = true;
  return gone;
}

std::vector<std::int64_t> reduced_shape(const std::vector<std::int64_t>& dims, const std::vector<bool>& gone,
                                        bool keep_dims) {
  std::vector<std::int64_t> out;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!gone[d])
      out.push_back(dims[d]);
    else if (keep_dims)
      out.push_back(1);
  }
  return out;
}

template <class T>
T lowest() {
  if constexpr (is_floating_v<T>)
    return narrow<T>(-std::numeric_limits<double>::infinity());
  else
    return std::numeric_limits<T>::lowest();
}
template <class T>
T highest() {
  if constexpr (is_floating_v<T>)
    return narrow<T>(std::numeric_limits<double>::infinity());
  else
    return std::numeric_limits<T>::max();
}

// What the walk of a reduction needs: for each element the position of its result.
struct Plan {
  const Array& x;
  std::vector<std::int64_t> strides;  // of the result, 0 along what is reduced
  std::size_t results = 0;
  std::int64_t reduced = 1;  // elements for each result
};

// fold(result, element) for every element.
template <class T, class Fold>
void for_each_element(const Plan& plan, Fold&& fold) {
  const auto xs = plan.x.as<T>();
  std::size_t at = 0;
  internal::walk<1>(plan.x.shape().dims(), {plan.strides},
                    [&](const auto& offsets) { fold(static_cast<std::size_t>(offsets[0]), xs[at++]); });
}

template <class T>
std::vector<T> extremes(const Plan& plan, bool largest) {
  std::vector<T> out(plan.results, largest ? lowest<T>() : highest<T>());
  for_each_element<T>(plan, [&](std::size_t i, T v) {
    if (internal::is_nan(v) || (!internal::is_nan(out[i]) && (largest ? v > out[i] : v < out[i]))) out[i] = v;
  });
  return out;
}

// log(sum(exp(x))) around the largest x, so that it neither overflows nor vanishes.
template <class T>
std::vector<double> log_sum_exp(const Plan& plan) {
  std::vector<double> most(plan.results, -std::numeric_limits<double>::infinity());
  for_each_element<T>(plan, [&](std::size_t i, T v) { most[i] = std::fmax(most[i], wide(v)); });
  // Infinities are no place to count from: inf - inf says nothing.
  for (double& m : most)
    if (std::isinf(m)) m = 0;
  std::vector<double> out(plan.results, 0.0);
  for_each_element<T>(plan, [&](std::size_t i, T v) { out[i] += std::exp(wide(v) - most[i]); });
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = most[i] + std::log(out[i]);
  return out;
}

// Kinds whose result is a function of one sum; every element adds term(v).
template <class T, class Term>
std::vector<internal::Accumulator<T>> sums(const Plan& plan, Term&& term) {
  std::vector<internal::Accumulator<T>> out(plan.results, 0);
  for_each_element<T>(plan, [&](std::size_t i, T v) { out[i] += term(internal::accumulated(v)); });
  return out;
}

template <class T>
internal::Accumulator<T> magnitude(internal::Accumulator<T> v) {
  if constexpr (is_floating_v<T>)
    return std::abs(v);
  else
    return std::is_signed_v<T> && static_cast<std::int64_t>(v) < 0 ? 0 - v : v;
}

template <class T>
T mean_of(internal::Accumulator<T> sum, std::int64_t count) {
  if constexpr (is_floating_v<T>)
    return narrow<T>(sum / static_cast<double>(count));
  else if (count == 0)
    return 0;
  else if constexpr (std::is_signed_v<T>)
    return static_cast<T>(static_cast<std::int64_t>(sum) / count);
  else
    return static_cast<T>(sum / static_cast<std::uint64_t>(count));
}

template <class T>
double real(internal::Accumulator<T> sum) {
  if constexpr (is_floating_v<T> || !std::is_signed_v<T>)
    return static_cast<double>(sum);
  else
    return static_cast<double>(static_cast<std::int64_t>(sum));
}

template <class T>
void reduce(Kind kind, const Plan& plan, std::span<T> ys) {
  using A = internal::Accumulator<T>;
  const auto store = [&](const auto& results, auto&& finish) {
    for (std::size_t i = 0; i < ys.size(); ++i) ys[i] = finish(results[i]);
  };
  const auto as_is = [](A v) { return internal::finished<T>(v); };
  switch (kind) {
    case Kind::max:
    case Kind::min: return store(extremes<T>(plan, kind == Kind::max), [](T v) { return v; });
    case Kind::sum: return store(sums<T>(plan, [](A v) { return v; }), as_is);
    case Kind::mean:
      return store(sums<T>(plan, [](A v) { return v; }), [&](A v) { return mean_of<T>(v, plan.reduced); });
    case Kind::l1: return store(sums<T>(plan, [](A v) { return magnitude<T>(v); }), as_is);
    case Kind::sum_square: return store(sums<T>(plan, [](A v) { return v * v; }), as_is);
    case Kind::l2:
      return store(sums<T>(plan, [](A v) { return v * v; }), [](A v) { return narrow<T>(std::sqrt(real<T>(v))); });
    case Kind::log_sum:
      return store(sums<T>(plan, [](A v) { return v; }), [](A v) { return narrow<T>(std::log(real<T>(v))); });
    case Kind::log_sum_exp: return store(log_sum_exp<T>(plan), [](double v) { return narrow<T>(v); });
    case Kind::prod: {
      std::vector<A> products(plan.results, 1);
      for_each_element<T>(plan, [&](std::size_t i, T v) { products[i] *= internal::accumulated(v); });
      return store(products, as_is);
    }
  }
}

}  // namespace

std::vector<TensorType> infer(const Reduce& op, const Knowns& inputs) {
  inputs.expect_count(1, 2);
  const TensorType& x = inputs[0];
  const bool picks = op.kind == Kind::max || op.kind == Kind::min;
  if (!(picks && x.type == ElementType::boolean)) internal::expect_number(inputs, 0, inputs.op());
  std::vector<std::int64_t> axes = op.axes;
  if (axes.empty() && inputs.has(1)) {
    inputs.expect_rank(1, 0, 1);
    if (!internal::is_integer(inputs[1].type))
      fail(Code::invalid_argument, "{}: the axes are {}, whole numbers are needed", inputs.op(), name(inputs[1].type));
    if (inputs.constant(1) == nullptr) {
      if (!x.dims || !op.keep_dims) return {TensorType(x.type, std::nullopt)};
      std::vector<std::int64_t> dims = *x.dims;
      for (std::int64_t& d : dims)
        if (d != 1) d = TensorType::kUnknown;
      return {TensorType(x.type, dims)};
    }
    axes = inputs.constant(1)->to_int64();
  }
  if (!x.dims) return {TensorType(x.type, std::nullopt)};
  return {TensorType(x.type, reduced_shape(*x.dims, reduced_dims(op, axes, x.rank(), inputs.op()), op.keep_dims))};
}

Work work(const Reduce&, const Types& inputs, const Types& outputs) {
  Work work = streaming_work(inputs, outputs);
  if (inputs[0].is_static()) work.flops = static_cast<double>(inputs[0].shape().volume());
  return work;
}

std::vector<Array> reference(const Reduce& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const std::vector<std::int64_t> axes = op.axes.empty() && inputs.has(1) ? inputs[1].to_int64() : op.axes;
  const std::vector<bool> gone = reduced_dims(op, axes, x.shape().rank(), inputs.op());
  const std::vector<std::int64_t>& dims = x.shape().dims();
  Plan plan{x, internal::strides_of(reduced_shape(dims, gone, true))};
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (gone[d]) {
      plan.strides[d] = 0;
      plan.reduced *= dims[d];
    }
  Array y(x.type(), Shape(reduced_shape(dims, gone, op.keep_dims)));
  plan.results = static_cast<std::size_t>(y.count());
  visit_element_type(x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) {
      // One by one: the vector of bools that reduce() would make has no bools in it.
      const bool largest = op.kind == Kind::max;
      const auto ys = y.as<bool>();
      std::ranges::fill(ys, !largest);
      for_each_element<bool>(plan, [&](std::size_t i, bool v) { ys[i] = largest ? ys[i] || v : ys[i] && v; });
    } else {
      reduce<T>(op.kind, plan, y.as<T>());
    }
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const ArgReduce& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  internal::expect_number(inputs, 0, inputs.op());
  const TensorType& x = inputs[0];
  if (!x.dims) return {TensorType(ElementType::int64, std::nullopt)};
  std::vector<bool> gone(x.dims->size(), false);
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, x.rank(), inputs.op()));
  gone[axis] = true;
  check((*x.dims)[axis] != 0, Code::invalid_argument, "{}: axis {} of {} has no elements to choose from", inputs.op(),
        axis, x.to_string());
  return {TensorType(ElementType::int64, reduced_shape(*x.dims, gone, op.keep_dims))};
}

Work work(const ArgReduce&, const Types& inputs, const Types& outputs) {
  Work work = streaming_work(inputs, outputs);
  if (inputs[0].is_static()) work.flops = static_cast<double>(inputs[0].shape().volume());
  return work;
}

std::vector<Array> reference(const ArgReduce& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const std::vector<std::int64_t>& dims = x.shape().dims();
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, x.shape().rank(), inputs.op()));
  std::vector<bool> gone(dims.size(), false);
  gone[axis] = true;
  Array y(ElementType::int64, Shape(reduced_shape(dims, gone, op.keep_dims)));
  if (y.count() == 0) return {std::move(y)};
  const auto length = static_cast<std::size_t>(dims[axis]);
  std::size_t inner = 1;
  for (std::size_t d = axis + 1; d < dims.size(); ++d) inner *= static_cast<std::size_t>(dims[d]);
  const auto ys = y.as<std::int64_t>();
  visit_element_type(x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto xs = x.as<T>();
    // NaN counts as beyond everything, as in NumPy.
    const auto beats = [&](T a, T b) {
      if (internal::is_nan(a) || internal::is_nan(b))
        return internal::is_nan(a) && (op.last_index || !internal::is_nan(b));
      return op.last_index ? (op.min ? a <= b : a >= b) : (op.min ? a < b : a > b);
    };
    for (std::size_t i = 0; i < ys.size(); ++i) {
      const std::size_t first = i / inner * length * inner + i % inner;
      std::size_t best = 0;
      for (std::size_t k = 1; k < length; ++k)
        if (beats(xs[first + k * inner], xs[first + best * inner])) best = k;
      ys[i] = static_cast<std::int64_t>(best);
    }
  });
  return {std::move(y)};
}

}  // namespace tessera
