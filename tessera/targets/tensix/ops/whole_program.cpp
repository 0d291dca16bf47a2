#include "tessera/targets/tensix/ops/whole_program.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/card/shard_inheritance.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"

#include <algorithm>
#include <string>

namespace tessera::tensix {

std::vector<double> numbers_of(const DeviceTensor& x) {
  const Tensor values = read_pages(x);
  if (is_floating(x.spec().dtype())) {
    const std::vector<float> fractions = values.to_float32();
    return {fractions.begin(), fractions.end()};
  }
  const std::vector<std::int64_t> integers = integers_of(values);
  return {integers.begin(), integers.end()};
}

Tensor tensor_of(std::span<const double> values, const TensorSpec& spec) {
  if (is_floating(spec.dtype())) {
    std::vector<float> fractions(values.size());
    std::ranges::transform(values, fractions.begin(), [](double v) { return static_cast<float>(v); });
    return tensor_of(fractions, spec);
  }
  std::vector<std::int64_t> integers(values.size());
  std::ranges::transform(values, integers.begin(), [](double v) { return static_cast<std::int64_t>(v); });
  return tensor_of(integers, spec);
}

AlongDim::AlongDim(const Shape& shape, int dim) : length(shape[dim]) {
  for (int d = 0; d < dim; ++d) outer *= shape[d];
  for (int d = dim + 1; d < shape.rank(); ++d) inner *= shape[d];
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.dims().size(), 1);
  for (std::size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * shape.dims()[d];
  return strides;
}

MemoryConfig place_of_result(const std::optional<MemoryConfig>& wish, const DeviceTensor& x, const Shape& shape) {
  if (wish) return placement_like(wish, x.spec(), x.device()->grid());
  return shape == x.spec().logical_shape() ? x.spec().memory_config() : inherited_placement(x.spec(), shape);
}

void check_whole_program_fits(const DeviceTensors& inputs, const DeviceTensors& results) {
  const Device& device = *inputs.front()->device();
  const CoreRangeSet cores = all_cores(device);
  std::vector<CircularBuffer> buffers;
  for (const auto& [name, tensors] : {std::pair{"in", &inputs}, std::pair{"out", &results}})
    for (const DeviceTensor* x : *tensors) {
      const bool tiles = x->spec().layout() == Layout::tile;
      buffers.push_back({name, cores, 2 * (tiles ? tile_bytes(x->spec().dtype()) : x->aligned_page_bytes())});
    }
  check_program_fits(device, buffers);
}

void finish_whole_program(ProgramKind kind, std::string_view op, const DeviceTensors& inputs, const DeviceTensor& y) {
  TraceRecord record{kind, y.spec().logical_shape().to_string(), {}, nullptr, std::string(op)};
  for (const DeviceTensor* x : inputs) record.transfers.push_back(stream_transfers(*x, y).front());
  record.transfers.push_back(stream_transfers(y, y).back());
  finish_program(std::move(record), inputs, y);
}

void check_together(std::string_view op, const DeviceTensors& inputs) {
  for (const DeviceTensor* x : inputs) {
    x->check_allocated();
    check(x->device() == inputs.front()->device(), Code::invalid_argument, "{}: the tensors are on different devices",
          op);
  }
}

}  // namespace tessera::tensix
