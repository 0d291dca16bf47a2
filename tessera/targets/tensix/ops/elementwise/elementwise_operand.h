#pragma once

// What element-wise operators of one, two and three operands share: tensors and numbers as operands, repeated to the
// shape of the result, and results as tensors.

#include "tessera/core/tensor.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/program_work.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera::tensix {

// A tensor, or a number that stands for one.
struct Operand {
  const DeviceTensor* tensor = nullptr;
  double number = 0;

  const TensorSpec* spec() const { return tensor != nullptr ? &tensor->spec() : nullptr; }
  Shape shape() const { return tensor != nullptr ? tensor->spec().logical_shape() : Shape{1}; }
};

// Elements as 64-bit integers; of an operand, repeated as `shape` wants them.
std::vector<std::int64_t> integers_of(const Tensor& x);
std::vector<std::int64_t> integers_of(const Operand& x, const Shape& shape);
// As float32. A number comes as the host packs it for tensors of `number_dtype`.
std::vector<float> fractions_of(const Operand& x, const Shape& shape, DType number_dtype);

// Integers wrap around: the low 32 bits.
Tensor tensor_of(const std::vector<std::int64_t>& values, const TensorSpec& spec);
Tensor tensor_of(const std::vector<float>& values, const TensorSpec& spec);

// Refuses a given output tensor that is elsewhere or has another shape.
void check_output(std::string_view op, const DeviceTensor& output, const Shape& shape, const DeviceTensor& x);

inline bool is_rows(const DeviceTensor& x) { return x.spec().layout() == Layout::row_major; }
DeviceTensor tiled(const DeviceTensor& x);

// The program's counts; where only some cores work, they are counted for those.
std::shared_ptr<const ProgramWork> counted(ProgramKind kind, std::vector<OperandFacts> operands,
                                           const std::optional<CoreRangeSet>& cores);

}  // namespace tessera::tensix
