#include "tessera/core/shape.h"
#include "tessera/targets/cpu/kernels/recurrent/recurrent.h"

#include <algorithm>
#include <cstring>

namespace tessera::cpu {

PackedWeights packed_gates(const Array& matrix, const RecurrentSizes& s, std::int64_t first, std::int64_t last,
                           Flush flush) {
  const std::int64_t depth = matrix.shape()[2], groups = last - first;
  PackedWeights out(static_cast<std::size_t>(std::max<std::int64_t>(1, s.directions * s.padded() * groups * depth)) *
                    sizeof(float));
  std::memset(out.data(), 0, out.bytes());
  float* to = reinterpret_cast<float*>(out.data());
  const float* from = matrix.as<float>().data();
  for (std::int64_t d = 0; d < s.directions; ++d)
    for (std::int64_t gate = first; gate < last; ++gate)
      for (std::int64_t unit = 0; unit < s.hidden; ++unit) {
        const float* row = from + ((d * s.gates + gate) * s.hidden + unit) * depth;
        float* column =
            to + (d * s.blocks() + unit / kUnits) * depth * groups * kUnits + (gate - first) * kUnits + unit % kUnits;
        for (std::int64_t k = 0; k < depth; ++k) column[k * groups * kUnits] = flush(row[k]);
      }
  return out;
}

RecurrentBiases recurrent_biases(const Array* bias, const RecurrentSizes& s, bool linear_before_reset) {
  const auto count = static_cast<std::size_t>(s.directions * s.columns());
  RecurrentBiases out{std::vector<float>(count), std::vector<float>(count)};
  if (bias == nullptr) return out;
  const float* b = bias->as<float>().data();
  for (std::int64_t d = 0; d < s.directions; ++d)
    for (std::int64_t gate = 0; gate < s.gates; ++gate)
      for (std::int64_t unit = 0; unit < s.hidden; ++unit) {
        const std::int64_t from = 2 * d * s.gates * s.hidden + gate * s.hidden + unit;
        const float of_x = b[from], of_h = b[from + s.gates * s.hidden];
        const auto to =
            static_cast<std::size_t>(((d * s.blocks() + unit / kUnits) * s.gates + gate) * kUnits + unit % kUnits);
        const bool apart = linear_before_reset && gate == 2;
        out.x[to] = apart ? of_x : of_x + of_h;
        out.h[to] = apart ? of_h : 0;
      }
  return out;
}

std::vector<float> recurrent_peepholes(const Array& p, const RecurrentSizes& s) {
  std::vector<float> out(static_cast<std::size_t>(s.directions * 3 * s.padded()));
  const float* from = p.as<float>().data();
  for (std::int64_t row = 0; row < s.directions * 3; ++row)
    std::copy_n(from + row * s.hidden, s.hidden, out.begin() + row * s.padded());
  return out;
}

}  // namespace tessera::cpu
