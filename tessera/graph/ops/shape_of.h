#pragma once

// Facts about shapes as int64 tensors, and tensors made from shapes.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// The extents [start, end) of the input.
struct ShapeOf {
  static constexpr std::string_view kName = "ShapeOf";

  std::int64_t start = 0;
  std::optional<std::int64_t> end;

  bool operator==(const ShapeOf&) const = default;
};

TSR_API std::vector<TensorType> infer(const ShapeOf& op, const Knowns& inputs);
TSR_API Work work(const ShapeOf& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const ShapeOf& op, const Arrays& inputs);

struct SizeOf {
  static constexpr std::string_view kName = "SizeOf";

  bool operator==(const SizeOf&) const = default;
};

TSR_API std::vector<TensorType> infer(const SizeOf& op, const Knowns& inputs);
TSR_API Work work(const SizeOf& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const SizeOf& op, const Arrays& inputs);

// First input: the shape.
struct ConstantOfShape {
  static constexpr std::string_view kName = "ConstantOfShape";

  Array value = Array(ElementType::float32, Shape{1});

  bool operator==(const ConstantOfShape&) const = default;
};

TSR_API std::vector<TensorType> infer(const ConstantOfShape& op, const Knowns& inputs);
TSR_API Work work(const ConstantOfShape& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const ConstantOfShape& op, const Arrays& inputs);

// Inputs start, limit, step.
struct Range {
  static constexpr std::string_view kName = "Range";

  bool operator==(const Range&) const = default;
};

TSR_API std::vector<TensorType> infer(const Range& op, const Knowns& inputs);
TSR_API Work work(const Range& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Range& op, const Arrays& inputs);

struct EyeLike {
  static constexpr std::string_view kName = "EyeLike";

  std::optional<ElementType> type;
  std::int64_t diagonal = 0;

  bool operator==(const EyeLike&) const = default;
};

TSR_API std::vector<TensorType> infer(const EyeLike& op, const Knowns& inputs);
TSR_API Work work(const EyeLike& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const EyeLike& op, const Arrays& inputs);

}  // namespace tessera
