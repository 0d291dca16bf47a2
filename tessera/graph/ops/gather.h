#pragma once

// Taking elements by index; negative indices count from the end.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Gather {
  static constexpr std::string_view kName = "Gather";

  std::int64_t axis = 0;

  bool operator==(const Gather&) const = default;
};

TSR_API std::vector<TensorType> infer(const Gather& op, const Knowns& inputs);
TSR_API Work work(const Gather& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Gather& op, const Arrays& inputs);

struct GatherElements {
  static constexpr std::string_view kName = "GatherElements";

  std::int64_t axis = 0;

  bool operator==(const GatherElements&) const = default;
};

TSR_API std::vector<TensorType> infer(const GatherElements& op, const Knowns& inputs);
TSR_API Work work(const GatherElements& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const GatherElements& op, const Arrays& inputs);

struct GatherND {
  static constexpr std::string_view kName = "GatherND";

  std::int64_t batch_dims = 0;

  bool operator==(const GatherND&) const = default;
};

TSR_API std::vector<TensorType> infer(const GatherND& op, const Knowns& inputs);
TSR_API Work work(const GatherND& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const GatherND& op, const Arrays& inputs);

}  // namespace tessera
