#pragma once

// Maximum, average and p-norm over a window.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"
#include "tessera/graph/ops/window.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct MaxPool {
  static constexpr std::string_view kName = "MaxPool";

  Window window = {};
  bool ceil_mode = false;
  bool column_major_indices = false;  // storage_order of the indices
  bool with_indices = false;          // a second output: positions in the flattened input

  bool operator==(const MaxPool&) const = default;
};

TSR_API std::vector<TensorType> infer(const MaxPool& op, const Knowns& inputs);
TSR_API Work work(const MaxPool& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const MaxPool& op, const Arrays& inputs);

struct AveragePool {
  static constexpr std::string_view kName = "AveragePool";

  Window window = {};
  bool ceil_mode = false;
  bool count_include_pad = false;

  bool operator==(const AveragePool&) const = default;
};

TSR_API std::vector<TensorType> infer(const AveragePool& op, const Knowns& inputs);
TSR_API Work work(const AveragePool& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const AveragePool& op, const Arrays& inputs);

struct LpPool {
  static constexpr std::string_view kName = "LpPool";

  Window window = {};
  bool ceil_mode = false;
  std::int64_t p = 2;

  bool operator==(const LpPool&) const = default;
};

TSR_API std::vector<TensorType> infer(const LpPool& op, const Knowns& inputs);
TSR_API Work work(const LpPool& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const LpPool& op, const Arrays& inputs);

}  // namespace tessera
