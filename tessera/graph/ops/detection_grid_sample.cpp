#include "tessera/core/error.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/detection.h"
#include "tessera/graph/ops/grid_taps.h"
#include "tessera/graph/ops/internal/saturate.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// The weighted sum over every combination of taps, from dimension d on.
template <class T>
double blend(const T* plane, const std::vector<GridTaps>& taps, const std::vector<std::int64_t>& extents, std::size_t d,
             std::int64_t at) {
  if (d == taps.size()) return static_cast<double>(plane[at]);
  double sum = 0;
  for (int i = 0; i < taps[d].count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (taps[d].at[k] >= 0)
      sum += taps[d].weight[k] * blend(plane, taps, extents, d + 1, at * extents[d] + taps[d].at[k]);
  }
  return sum;
}

// The one element that every dimension's only tap names; null if there is none.
template <class T>
const T* pick(const T* plane, const std::vector<GridTaps>& taps, const std::vector<std::int64_t>& extents) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < taps.size(); ++d) {
    if (taps[d].at[0] < 0) return nullptr;
    at = at * extents[d] + taps[d].at[0];
  }
  return plane + at;
}

}  // namespace

std::vector<TensorType> infer(const GridSample&, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_rank(0, 3, Shape::kMaxRank);
  inputs.expect_rank(1, 3, Shape::kMaxRank);
  const TensorType &x = inputs[0], &grid = inputs[1];
  visit_element_type(x.type, [](auto) {});
  visit_floating_type(grid.type, inputs.op(), [](auto) {});
  if (!x.dims && !grid.dims) return {TensorType(x.type, std::nullopt)};
  if (x.dims) inputs.expect_rank(1, x.rank(), x.rank());
  const std::size_t rank = x.dims ? x.dims->size() : grid.dims->size();
  std::vector<std::int64_t> dims(rank, TensorType::kUnknown);
  if (grid.dims) {
    const std::int64_t last = grid.dims->back();
    check(last == TensorType::kUnknown || last == static_cast<std::int64_t>(rank) - 2, Code::invalid_argument,
          "GridSample: the grid gives {} coordinates, {} dimensions need as many", last, rank - 2);
    dims[0] = (*grid.dims)[0];
    std::copy(grid.dims->begin() + 1, grid.dims->end() - 1, dims.begin() + 2);
  }
  if (x.dims) {
    check((*x.dims)[0] == dims[0] || (*x.dims)[0] == TensorType::kUnknown || dims[0] == TensorType::kUnknown,
          Code::invalid_argument, "GridSample: a batch of {} with grids for {}", (*x.dims)[0], dims[0]);
    if (dims[0] == TensorType::kUnknown) dims[0] = (*x.dims)[0];
    dims[1] = (*x.dims)[1];
    check(std::count(x.dims->begin() + 2, x.dims->end(), 0) == 0, Code::invalid_argument,
          "GridSample: {} has nothing to sample", x.to_string());
  }
  return {TensorType(x.type, dims)};
}

Work work(const GridSample& op, const Types& inputs, const Types& outputs) {
  const double taps = op.mode == GridSample::Mode::nearest ? 0 : op.mode == GridSample::Mode::linear ? 2 : 4;
  return streaming_work(inputs, outputs, inputs[0].dims ? 2.0 * std::pow(taps, inputs[0].rank() - 2) : 0);
}

std::vector<Array> reference(const GridSample& op, const Arrays& inputs) {
  const Array &x = inputs[0], &grid = inputs[1];
  const std::vector<std::int64_t> extents(x.shape().begin() + 2, x.shape().end());
  std::vector<std::int64_t> dims{x.shape()[0], x.shape()[1]};
  dims.insert(dims.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  Array y(x.type(), Shape(dims));
  std::vector<GridAxis> axes;
  std::int64_t in_area = 1, out_area = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    axes.emplace_back(op, extents[d]);
    in_area *= extents[d];
    out_area *= dims[d + 2];
  }
  const std::vector<double> places = grid.to_double();
  visit_element_type(x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* xs = x.as<T>().data();
    T* ys = y.as<T>().data();
    std::vector<GridTaps> taps(extents.size());
    for (std::int64_t n = 0; n < dims[0]; ++n)
      for (std::int64_t o = 0; o < out_area; ++o) {
        // The grid names the last dimension first.
        const double* place = places.data() + (n * out_area + o) * static_cast<std::int64_t>(taps.size());
        for (std::size_t d = 0; d < taps.size(); ++d) {
          const double at = place[taps.size() - 1 - d];
          taps[d] = grid.type() == ElementType::float64 ? axes[d].taps(at) : axes[d].taps(static_cast<float>(at));
        }
        for (std::int64_t c = 0; c < dims[1]; ++c) {
          const T* plane = xs + (n * dims[1] + c) * in_area;
          T& out = ys[(n * dims[1] + c) * out_area + o];
          if (op.mode != GridSample::Mode::nearest)
            out = internal::saturated<T>(blend(plane, taps, extents, 0, 0));
          else if (const T* only = pick(plane, taps, extents))
            out = *only;
          else
            out = T{};
        }
      }
  });
  return {std::move(y)};
}

}  // namespace tessera
