#pragma once

// Ordering, counting and marking.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Second input: k. Outputs values and int64 indices.
struct TopK {
  static constexpr std::string_view kName = "TopK";

  std::int64_t axis = -1;
  bool largest = true;
  bool sorted = true;

  bool operator==(const TopK&) const = default;
};

TSR_API std::vector<TensorType> infer(const TopK& op, const Knowns& inputs);
TSR_API Work work(const TopK& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const TopK& op, const Arrays& inputs);

// Second input: the axis.
struct CumSum {
  static constexpr std::string_view kName = "CumSum";

  bool exclusive = false;
  bool reverse = false;
  bool product = false;  // multiplies instead

  bool operator==(const CumSum&) const = default;
};

TSR_API std::vector<TensorType> infer(const CumSum& op, const Knowns& inputs);
TSR_API Work work(const CumSum& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const CumSum& op, const Arrays& inputs);

// Inputs indices, depth, values (off, on).
struct OneHot {
  static constexpr std::string_view kName = "OneHot";

  std::int64_t axis = -1;

  bool operator==(const OneHot&) const = default;
};

TSR_API std::vector<TensorType> infer(const OneHot& op, const Knowns& inputs);
TSR_API Work work(const OneHot& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const OneHot& op, const Arrays& inputs);

// Optional second input: the diagonal.
struct Trilu {
  static constexpr std::string_view kName = "Trilu";

  bool upper = true;

  bool operator==(const Trilu&) const = default;
};

TSR_API std::vector<TensorType> infer(const Trilu& op, const Knowns& inputs);
TSR_API Work work(const Trilu& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Trilu& op, const Arrays& inputs);

struct NonZero {
  static constexpr std::string_view kName = "NonZero";

  bool operator==(const NonZero&) const = default;
};

TSR_API std::vector<TensorType> infer(const NonZero& op, const Knowns& inputs);
TSR_API Work work(const NonZero& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const NonZero& op, const Arrays& inputs);

}  // namespace tessera
