#pragma once

// What the bindings of convolutions share: arguments as TTNN words them, results as it returns them.

#include "any_tensor.h"
#include "compute_config.h"
#include "ttnn_conv2d_config.h"

#include "tessera/targets/tensix/ops/conv2d/conv2d.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_request.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::python {

using DevicePointer = std::shared_ptr<tensix::Device>;
using OptionalDevice = std::optional<DevicePointer>;
using OptionalConfig = std::optional<tensix::MemoryConfig>;
using OptionalType = std::optional<DataType>;
using OptionalSize = std::optional<std::int64_t>;
using OptionalSlice = std::optional<tensix::Conv2dSliceConfig>;
using Sizes = std::variant<std::int64_t, std::vector<std::int64_t>>;  // one number stands for both extents

std::vector<std::int64_t> extents(const Sizes& sizes);

// What convolutions compute with where nothing is said.
tensix::ComputeConfig conv2d_compute(const std::optional<KernelConfig>& given);

// Weights on a card that have not been prepared come back to the host.
bool is_prepared(const AnyTensor& x);
tensix::Conv2dOperand conv2d_operand(const AnyTensor& x);
std::optional<tensix::Conv2dOperand> conv2d_operand(const std::optional<AnyTensor>& x);

// The input on the card, in the type that the config wants.
tensix::DeviceTensor conv2d_input(std::string_view op, const AnyTensor& x, const OptionalDevice& device,
                                  const TtnnConv2dConfig& config);

// The problem of a call: `weight` and `x` are its tensors, `input` is x where it was before it came to the card. Guides
// open devices without an L1_SMALL region, where lists of indices would go: calls in their short form keep them in
// DRAM.
tensix::Conv2dProblem conv2d_problem(const tensix::Conv2dRequest& request, const AnyTensor& input,
                                     const AnyTensor& weight, const tensix::DeviceTensor& x,
                                     const TtnnConv2dConfig& config, const std::optional<KernelConfig>& compute,
                                     const OptionalType& dtype);

// The output, then its height and width, then the prepared weights and bias.
nanobind::object conv2d_result(const tensix::Conv2dResult& result, bool with_size, bool with_weights);

}  // namespace tessera::python
