#pragma once

// One value per channel.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct GlobalPool {
  static constexpr std::string_view kName = "GlobalPool";

  enum class Kind : std::uint8_t { max, average, lp };
  Kind kind = Kind::average;
  std::int64_t p = 2;

  bool operator==(const GlobalPool&) const = default;
};

TSR_API std::vector<TensorType> infer(const GlobalPool& op, const Knowns& inputs);
TSR_API Work work(const GlobalPool& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const GlobalPool& op, const Arrays& inputs);

}  // namespace tessera
