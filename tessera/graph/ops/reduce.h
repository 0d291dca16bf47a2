#pragma once

// Reductions over axes, which are an attribute or (if empty and given) the second input.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Reduce {
  static constexpr std::string_view kName = "Reduce";

  enum class Kind : std::uint8_t { sum, mean, max, min, prod, l1, l2, sum_square, log_sum, log_sum_exp };
  Kind kind = Kind::sum;
  std::vector<std::int64_t> axes;
  bool keep_dims = true;
  bool no_axes_means_none = false;  // otherwise no axes means all

  bool operator==(const Reduce&) const = default;
};

TSR_API std::vector<TensorType> infer(const Reduce& op, const Knowns& inputs);
TSR_API Work work(const Reduce& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Reduce& op, const Arrays& inputs);

struct ArgReduce {
  static constexpr std::string_view kName = "ArgReduce";

  bool min = false;
  std::int64_t axis = 0;
  bool keep_dims = true;
  bool last_index = false;  // of equal values take the last

  bool operator==(const ArgReduce&) const = default;
};

TSR_API std::vector<TensorType> infer(const ArgReduce& op, const Knowns& inputs);
TSR_API Work work(const ArgReduce& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const ArgReduce& op, const Arrays& inputs);

}  // namespace tessera
