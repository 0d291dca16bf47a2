#include "tessera/graph/ops/unique.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera {

using namespace moving;

std::vector<TensorType> infer(const Unique& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  const TensorType& x = inputs[0];
  TensorType y(x.type, Dims{TensorType::kUnknown});
  if (op.axis) {
    y.dims = x.dims;
    if (y.dims) (*y.dims)[static_cast<std::size_t>(normalized_axis(*op.axis, x.rank(), inputs.op()))] = -1;
  }
  const TensorType list(ElementType::int64, Dims{TensorType::kUnknown});
  return {std::move(y), list, list, list};
}

Work work(const Unique&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const Unique& op, const Arrays& inputs) {
  infer_from(op, inputs);
  const Array& x = inputs[0];
  Dims dims = op.axis ? x.shape().dims() : Dims{x.count()};
  const std::size_t axis =
      op.axis ? static_cast<std::size_t>(normalized_axis(*op.axis, x.shape().rank(), inputs.op())) : 0;
  const std::int64_t extent = dims[axis], outer = product(std::span(dims).first(axis)),
                     inner = product(std::span(dims).subspan(axis + 1));

  return visit_element_type(x.type(), [&](auto tag) -> std::vector<Array> {
    using T = typename decltype(tag)::type;
    const auto xs = x.as<T>();
    const auto element = [&](std::int64_t slice, std::int64_t at) {
      return xs[static_cast<std::size_t>((at / inner * extent + slice) * inner + at % inner)];
    };
    // Negative, zero or positive as slice a is less, equal or greater. NaN is greater than numbers.
    const auto compared = [&](std::int64_t a, std::int64_t b) {
      for (std::int64_t at = 0; at < outer * inner; ++at) {
        const T p = element(a, at), q = element(b, at);
        bool p_nan = false, q_nan = false;
        if constexpr (is_floating_v<T>) {
          p_nan = std::isnan(static_cast<double>(p));
          q_nan = std::isnan(static_cast<double>(q));
        }
        if (p_nan != q_nan) return p_nan ? 1 : -1;
        if (p_nan) continue;
        if (p < q) return -1;
        if (q < p) return 1;
      }
      return 0;
    };
    const auto has_nan = [&](std::int64_t a) {
      if constexpr (is_floating_v<T>)
        for (std::int64_t at = 0; at < outer * inner; ++at)
          if (std::isnan(static_cast<double>(element(a, at)))) return true;
      return (void)a, false;
    };

    std::vector<std::int64_t> order(static_cast<std::size_t>(extent));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return compared(a, b) < 0; });
    std::vector<std::int64_t> first, count, group(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || compared(order[i - 1], order[i]) != 0 || has_nan(order[i])) {
        first.push_back(order[i]);
        count.push_back(0);
      }
      ++count.back();
      group[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(first.size()) - 1;
    }
    const auto found = static_cast<std::int64_t>(first.size());
    std::vector<std::int64_t> rank(first.size());  // which group comes where
    std::iota(rank.begin(), rank.end(), 0);
    if (!op.sorted)
      std::sort(rank.begin(), rank.end(), [&](std::int64_t a, std::int64_t b) {
        return first[static_cast<std::size_t>(a)] < first[static_cast<std::size_t>(b)];
      });

    dims[axis] = found;
    Array y = make_array(output_type(x.type(), dims, inputs.op()), inputs.op());
    Array indices(ElementType::int64, Shape{found}), counts(ElementType::int64, Shape{found}),
        inverse(ElementType::int64, Shape{extent});
    std::vector<std::int64_t> place(first.size());
    for (std::int64_t r = 0; r < found; ++r) {
      const auto g = static_cast<std::size_t>(rank[static_cast<std::size_t>(r)]);
      place[g] = r;
      indices.as<std::int64_t>()[static_cast<std::size_t>(r)] = first[g];
      counts.as<std::int64_t>()[static_cast<std::size_t>(r)] = count[g];
      for (std::int64_t at = 0; at < outer * inner; ++at)
        y.as<T>()[static_cast<std::size_t>((at / inner * found + r) * inner + at % inner)] = element(first[g], at);
    }
    for (std::size_t i = 0; i < group.size(); ++i)
      inverse.as<std::int64_t>()[i] = place[static_cast<std::size_t>(group[i])];
    return {std::move(y), std::move(indices), std::move(inverse), std::move(counts)};
  });
}

}  // namespace tessera
