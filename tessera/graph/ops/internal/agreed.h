#pragma once

#include "tessera/core/error.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// One extent that several operands must agree on.
class Agreed {
 public:
  explicit Agreed(std::string_view what, std::int64_t value = TensorType::kUnknown) : what_(what), value_(value) {}

  void see(const Knowns& inputs, std::size_t i, int axis, std::int64_t times = 1) {
    if (!inputs.has(i) || !inputs[i].dims) return;
    const std::int64_t extent = (*inputs[i].dims)[static_cast<std::size_t>(axis)];
    if (extent == TensorType::kUnknown) return;
    if (value_ == TensorType::kUnknown && extent % times == 0) value_ = extent / times;
    if (extent % times != 0 || extent / times != value_)
      fail(Code::invalid_argument, "{}: input {} is {}: dimension {} must be {} x {} of {}", inputs.op(), i,
           inputs[i].to_string(), axis, times, what_, value_ == TensorType::kUnknown ? "any" : std::to_string(value_));
  }
  std::int64_t value() const { return value_; }

 private:
  std::string_view what_;
  std::int64_t value_;
};

}  // namespace tessera
