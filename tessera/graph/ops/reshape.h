#pragma once

// Operators that keep the elements in order and change the shape.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Second input: extents, -1 for the rest, 0 for "as it was" unless allow_zero.
struct Reshape {
  static constexpr std::string_view kName = "Reshape";

  bool allow_zero = false;

  bool operator==(const Reshape&) const = default;
};

TSR_API std::vector<TensorType> infer(const Reshape& op, const Knowns& inputs);
TSR_API Work work(const Reshape& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Reshape& op, const Arrays& inputs);

struct Flatten {
  static constexpr std::string_view kName = "Flatten";

  std::int64_t axis = 1;

  bool operator==(const Flatten&) const = default;
};

TSR_API std::vector<TensorType> infer(const Flatten& op, const Knowns& inputs);
TSR_API Work work(const Flatten& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Flatten& op, const Arrays& inputs);

// Axes: attribute or second input; none: all extents of 1.
struct Squeeze {
  static constexpr std::string_view kName = "Squeeze";

  std::vector<std::int64_t> axes;

  bool operator==(const Squeeze&) const = default;
};

TSR_API std::vector<TensorType> infer(const Squeeze& op, const Knowns& inputs);
TSR_API Work work(const Squeeze& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Squeeze& op, const Arrays& inputs);

// Axes: attribute or second input.
struct Unsqueeze {
  static constexpr std::string_view kName = "Unsqueeze";

  std::vector<std::int64_t> axes;

  bool operator==(const Unsqueeze&) const = default;
};

TSR_API std::vector<TensorType> infer(const Unsqueeze& op, const Knowns& inputs);
TSR_API Work work(const Unsqueeze& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Unsqueeze& op, const Arrays& inputs);

}  // namespace tessera
