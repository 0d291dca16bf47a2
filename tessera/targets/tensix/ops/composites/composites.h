#pragma once

// Operators that are made of others, as TTNN makes them: none has a program of its own.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/matmul/matmul.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace tessera::tensix {

// Half of the last dimension times a function, `gate`, of the other half.
TSR_API DeviceTensor gated(std::string_view op, std::string_view gate, const DeviceTensor& x, int dim,
                           const std::optional<MemoryConfig>& config = std::nullopt);

// Of each matrix; "normalize_global" of the whole tensor.
TSR_API DeviceTensor var_hw(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt);
TSR_API DeviceTensor std_hw(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt);
TSR_API DeviceTensor normalize_hw(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt);
TSR_API DeviceTensor normalize_global(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt);

// The parts of matrices on and below, or on and above, a diagonal.
TSR_API DeviceTensor triangle(std::string_view op, const DeviceTensor& x, std::int64_t diagonal,
                              const std::optional<MemoryConfig>& config = std::nullopt);

// c[0] x^n + ... + c[n].
TSR_API DeviceTensor polyval(const DeviceTensor& x, std::span<const float> coefficients,
                             const std::optional<MemoryConfig>& config = std::nullopt);

// 1 where |a - b| <= absolute + relative |b|.
TSR_API DeviceTensor isclose(const DeviceTensor& a, const DeviceTensor& b, float relative, float absolute,
                             bool equal_nan, const std::optional<MemoryConfig>& config = std::nullopt);

// Each element of a times each of b: dimensions of both, b's last one behind a's.
TSR_API DeviceTensor outer(const DeviceTensor& a, const DeviceTensor& b,
                           const std::optional<MemoryConfig>& config = std::nullopt);

// x where it is positive, else times a number, or one for each channel (dimension 1).
TSR_API DeviceTensor prelu(const DeviceTensor& x, const std::variant<DeviceTensor, double>& slope,
                           const std::optional<MemoryConfig>& config = std::nullopt);

enum class LossReduction : std::uint8_t { none, sum, mean };
// Squares ("mse_loss") or magnitudes ("l1_loss") of differences.
TSR_API DeviceTensor loss(std::string_view op, const DeviceTensor& reference, const DeviceTensor& prediction,
                          LossReduction reduction, const std::optional<MemoryConfig>& config = std::nullopt,
                          const std::optional<DeviceTensor>& output = std::nullopt);

// beta x + alpha a b.
TSR_API DeviceTensor addmm(const DeviceTensor& x, const DeviceTensor& a, const DeviceTensor& b, float alpha, float beta,
                           const MatmulOptions& options = {}, const std::optional<DeviceTensor>& output = std::nullopt);

// The extents that b repeats along: rows ("h"), columns ("w") or both.
enum class BcastDim : std::uint8_t { h, w, hw };
// "add", "subtract" or "multiply".
TSR_API DeviceTensor bcast(std::string_view function, const DeviceTensor& a, const DeviceTensor& b, BcastDim dim,
                           const std::optional<MemoryConfig>& config = std::nullopt,
                           const std::optional<DeviceTensor>& output = std::nullopt);

// `length` slices along a dimension from `start`: a copy, where TTNN makes a view.
TSR_API DeviceTensor narrow(const DeviceTensor& x, int dim, std::int64_t start, std::int64_t length);

// Repeated to a shape of the same or a higher rank.
TSR_API DeviceTensor broadcast_to(const DeviceTensor& x, const Shape& shape,
                                  const std::optional<MemoryConfig>& config = std::nullopt,
                                  const std::optional<DeviceTensor>& output = std::nullopt);

// beta1 tanh(g / beta1) sigmoid(g) beta2 tanh(u / beta2).
TSR_API DeviceTensor situ_glu(const DeviceTensor& gate, const DeviceTensor& up, float beta1, float beta2,
                              const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
