#pragma once

//

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera {

// softmax(scale Q K^T + bias) V of every head. Tokens are rows, heads lie side by side in them:
//
//   q: N, T, heads * D;  k: N, S, heads * D;  v: N, S, heads * E;  the result: N, T, heads * E
//
// k and v left out: q is N, T, 3 * heads * D and has all three side by side. The bias, input 3, is optional and of rank
// 4: B, H, T', S', where B divides N (the n-th of the batch takes the one at n % B) and the others are 1 or what the
// scores have.
struct Attention {
  static constexpr std::string_view kName = "Attention";

  std::int64_t heads = 1;
  float scale = 1;

  bool operator==(const Attention&) const = default;
};

TSR_API std::vector<TensorType> infer(const Attention& op, const Knowns& inputs);
TSR_API Work work(const Attention& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Attention& op, const Arrays& inputs);

}  // namespace tessera
