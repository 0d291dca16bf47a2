#pragma once

// Linear quantisation: scale and zero point per tensor, per axis or per block.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"
#include "tessera/graph/ops/window.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Inputs x, scale, optional zero point.
struct QuantizeLinear {
  static constexpr std::string_view kName = "QuantizeLinear";

  std::int64_t axis = 1;
  std::int64_t block = 0;
  bool saturate = true;
  std::optional<ElementType> type = {};       // without a zero point
  std::optional<ElementType> precision = {};  // of the division; without: that of the scale

  bool operator==(const QuantizeLinear&) const = default;
};

TSR_API std::vector<TensorType> infer(const QuantizeLinear& op, const Knowns& inputs);
TSR_API Work work(const QuantizeLinear& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const QuantizeLinear& op, const Arrays& inputs);

struct DequantizeLinear {
  static constexpr std::string_view kName = "DequantizeLinear";

  std::int64_t axis = 1;
  std::int64_t block = 0;
  std::optional<ElementType> type = {};

  bool operator==(const DequantizeLinear&) const = default;
};

TSR_API std::vector<TensorType> infer(const DequantizeLinear& op, const Knowns& inputs);
TSR_API Work work(const DequantizeLinear& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const DequantizeLinear& op, const Arrays& inputs);

// Outputs y (uint8), scale, zero point.
struct DynamicQuantizeLinear {
  static constexpr std::string_view kName = "DynamicQuantizeLinear";

  bool operator==(const DynamicQuantizeLinear&) const = default;
};

TSR_API std::vector<TensorType> infer(const DynamicQuantizeLinear& op, const Knowns& inputs);
TSR_API Work work(const DynamicQuantizeLinear& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const DynamicQuantizeLinear& op, const Arrays& inputs);

// Inputs x, x scale, x zero, w, w scale, w zero, y scale, y zero, optional bias (int32).
struct QLinearConv {
  static constexpr std::string_view kName = "QLinearConv";

  Window window = {};
  std::int64_t groups = 1;

  bool operator==(const QLinearConv&) const = default;
};

TSR_API std::vector<TensorType> infer(const QLinearConv& op, const Knowns& inputs);
TSR_API Work work(const QLinearConv& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const QLinearConv& op, const Arrays& inputs);

// Inputs a, a scale, a zero, b, b scale, b zero, y scale, y zero.
struct QLinearMatMul {
  static constexpr std::string_view kName = "QLinearMatMul";

  bool operator==(const QLinearMatMul&) const = default;
};

TSR_API std::vector<TensorType> infer(const QLinearMatMul& op, const Knowns& inputs);
TSR_API Work work(const QLinearMatMul& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const QLinearMatMul& op, const Arrays& inputs);

// Inputs x, w, optional zero points; int32 out.
struct ConvInteger {
  static constexpr std::string_view kName = "ConvInteger";

  Window window = {};
  std::int64_t groups = 1;

  bool operator==(const ConvInteger&) const = default;
};

TSR_API std::vector<TensorType> infer(const ConvInteger& op, const Knowns& inputs);
TSR_API Work work(const ConvInteger& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const ConvInteger& op, const Arrays& inputs);

// Inputs a, b, optional zero points; int32 out.
struct MatMulInteger {
  static constexpr std::string_view kName = "MatMulInteger";

  bool operator==(const MatMulInteger&) const = default;
};

TSR_API std::vector<TensorType> infer(const MatMulInteger& op, const Knowns& inputs);
TSR_API Work work(const MatMulInteger& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const MatMulInteger& op, const Arrays& inputs);

// Sum of two quantised tensors of one shape. Inputs a, a scale, a zero, b, b scale, b zero, y scale, y zero:
// what DequantizeLinear of both, Add and QuantizeLinear make of them, each step rounded to float.
struct QLinearAdd {
  static constexpr std::string_view kName = "QLinearAdd";

  bool operator==(const QLinearAdd&) const = default;
};

TSR_API std::vector<TensorType> infer(const QLinearAdd& op, const Knowns& inputs);
TSR_API Work work(const QLinearAdd& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const QLinearAdd& op, const Arrays& inputs);

// Inputs x, x scale, x zero, y scale, y zero: y = round(sum of (x - x zero) * (x scale / (count * y scale))) + y zero,
// the sum in integers and the rest in float.
struct QLinearGlobalAveragePool {
  static constexpr std::string_view kName = "QLinearGlobalAveragePool";

  bool operator==(const QLinearGlobalAveragePool&) const = default;
};

TSR_API std::vector<TensorType> infer(const QLinearGlobalAveragePool& op, const Knowns& inputs);
TSR_API Work work(const QLinearGlobalAveragePool& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const QLinearGlobalAveragePool& op, const Arrays& inputs);

// Any function of a byte. Inputs x, table (256 bytes): y = table[the bits of x, without sign].
struct ByteLookup {
  static constexpr std::string_view kName = "ByteLookup";

  bool operator==(const ByteLookup&) const = default;
};

TSR_API std::vector<TensorType> infer(const ByteLookup& op, const Knowns& inputs);
TSR_API Work work(const ByteLookup& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const ByteLookup& op, const Arrays& inputs);

}  // namespace tessera
