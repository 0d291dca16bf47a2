#pragma once

// What element-wise operators come to on the card. Results are what Dst holds, before packing (Rounding::packer).

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/graph/ops/binary.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/numerics.h"

#include <optional>
#include <span>
#include <vector>

namespace tessera::tensix {

// Who multiplies: the vector unit, which rounds to nearest even, or the matrix engine (TTNN's fast and approximate
// mode).
enum class Multiplier : std::uint8_t { vector_unit, matrix_engine };

// Operands of equal length, broadcast by the caller, that hold values of their types; a and b may be the same. The
// matrix engine adds, subtracts, and multiplies block floats, or what it is told to (in phases: the first operand is
// sliced as weights are); it is the vector unit that works on two float32 operands, and on everything else: in float32,
// put back into Dst.
TSR_API std::vector<float> binary_values(Binary::Kind kind, std::span<const float> a, DType a_dtype,
                                         std::span<const float> b, DType b_dtype, const ComputeConfig& compute,
                                         const std::optional<DstActivation>& activation = {},
                                         Multiplier multiplier = Multiplier::vector_unit);

// On the vector unit, from and to Dst. float32 passes through SrcA unless Dst is float32.
TSR_API std::vector<float> unary_values(const DstActivation& function, std::span<const float> x,
                                        const ComputeConfig& compute);

// Along rows, as a kernel that works with block after block does it: maximum, difference, exponential, sum, reciprocal
// and product, each packed to bfloat16 on the way (float32 when Dst is). Rows that hold NaN, or +infinity, are NaN.
TSR_API std::vector<float> softmax_values(std::span<const float> x, std::int64_t rows, std::int64_t columns,
                                          const ComputeConfig& compute);

}  // namespace tessera::tensix
