#include "tessera/targets/tensix/ops/shape_ops/shape_ops.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/concat/concat.h"
#include "tessera/targets/tensix/ops/permute/permute.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/slice/slice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tessera::tensix {

int checked_dim(std::string_view op, int dim, int rank) {
  check(dim >= -rank && dim < rank, Code::invalid_argument,
        "{}: dimension {} is out of bounds: it should be between 0 and {} (or -{} and -1, from the end)", op, dim,
        rank - 1, rank);
  return dim < 0 ? dim + rank : dim;
}

DeviceTensor transpose(const DeviceTensor& x, int dim0, int dim1, const std::optional<MemoryConfig>& config) {
  const int rank = x.spec().logical_shape().rank();
  const int a = checked_dim("transpose", dim0, rank), b = checked_dim("transpose", dim1, rank);
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
  return permute(x, order, config);
}

DeviceTensor squeeze(const DeviceTensor& x, const std::optional<std::vector<int>>& dims) {
  x.check_allocated();
  const Shape& shape = x.spec().logical_shape();
  std::vector<bool> drop(static_cast<std::size_t>(shape.rank()), !dims.has_value());
  for (const int dim : dims.value_or(std::vector<int>{})) {
    const auto d = static_cast<std::size_t>(checked_dim("squeeze", dim, shape.rank()));
    check(!drop[d], Code::invalid_argument, "squeeze: dim {} appears multiple times in the list of dims", d);
    drop[d] = true;
  }
  std::vector<std::int64_t> kept;
  for (std::size_t d = 0; d < drop.size(); ++d)
    if (!drop[d] || shape.dims()[d] != 1) kept.push_back(shape.dims()[d]);
  return reshape(x, Shape(std::move(kept)));
}

DeviceTensor unsqueeze(const DeviceTensor& x, int dim) {
  x.check_allocated();
  std::vector<std::int64_t> dims = x.spec().logical_shape().dims();
  const int rank = x.spec().logical_shape().rank();
  check(dim >= -rank - 1 && dim <= rank, Code::invalid_argument,
        "unsqueeze: dimension out of range (expected to be in range of [{}, {}], but got {})", -rank - 1, rank, dim);
  dims.insert(dims.begin() + (dim < 0 ? dim + rank + 1 : dim), 1);
  return reshape(x, Shape(std::move(dims)));
}

DeviceTensor unsqueeze_to(const DeviceTensor& x, int rank) {
  x.check_allocated();
  std::vector<std::int64_t> dims = x.spec().logical_shape().dims();
  check(static_cast<int>(dims.size()) <= rank, Code::invalid_argument,
        "a tensor of rank {} has more than {} dimensions", dims.size(), rank);
  dims.insert(dims.begin(), static_cast<std::size_t>(rank) - dims.size(), 1);
  return reshape(x, Shape(std::move(dims)));
}

std::vector<DeviceTensor> split(const DeviceTensor& x, std::span<const std::int64_t> sizes, int dim,
                                const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const Shape& shape = x.spec().logical_shape();
  const auto d = static_cast<std::size_t>(checked_dim("split", dim, shape.rank()));
  check(!sizes.empty() && std::ranges::all_of(sizes, [](std::int64_t s) { return s >= 0; }) &&
            std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == shape.dims()[d],
        Code::invalid_argument,
        "split: sizes [{}] must sum exactly to the size of dimension {} ({}), they miss it by {}",
        fmt::join(sizes, ", "), d, shape.dims()[d],
        std::abs(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) - shape.dims()[d]));
  std::vector<std::int64_t> begins(shape.dims().size(), 0), ends = shape.dims();
  const std::vector<std::int64_t> steps(shape.dims().size(), 1);
  std::vector<DeviceTensor> out;
  ends[d] = 0;
  for (const std::int64_t size : sizes) {
    ends[d] += size;
    out.push_back(slice(x, begins, ends, steps, config));
    begins[d] += size;
  }
  return out;
}

std::vector<DeviceTensor> split(const DeviceTensor& x, std::int64_t size, int dim,
                                const std::optional<MemoryConfig>& config) {
  check(size > 0, Code::invalid_argument, "split: pieces of size {} are not possible", size);
  const Shape& shape = x.spec().logical_shape();
  const std::int64_t whole = shape[checked_dim("split", dim, shape.rank())];
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(whole / size), size);
  if (whole % size != 0) sizes.push_back(whole % size);
  return split(x, sizes, dim, config);
}

std::vector<DeviceTensor> chunk(const DeviceTensor& x, std::int64_t count, int dim) {
  check(count > 0, Code::invalid_argument, "chunk: the number of chunks must be greater than zero, it is {}", count);
  const Shape& shape = x.spec().logical_shape();
  return split(x, ceil_div(shape[checked_dim("chunk", dim, shape.rank())], count), dim);
}

DeviceTensor stack(std::span<const DeviceTensor> inputs, int dim) {
  check(!inputs.empty(), Code::invalid_argument, "stack: the list of tensors is empty");
  std::vector<DeviceTensor> wide;
  for (const DeviceTensor& x : inputs) wide.push_back(unsqueeze(x, dim));
  return concat(wide, dim);
}

}  // namespace tessera::tensix
