#pragma once

// Random numbers. The card's generator is not known: these have its distributions, not its values.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace tessera::tensix {

enum class Distribution : std::uint8_t { uniform, normal };

// Between `first` and `second`, or with that mean and deviation. Equal seeds give equal numbers; 0: none twice.
TSR_API DeviceTensor random(const std::shared_ptr<Device>& device, const TensorSpec& spec, Distribution distribution,
                            double first, double second, std::uint32_t seed);

// Over x, evenly from `from` up to `to`.
TSR_API DeviceTensor uniform(const DeviceTensor& x, double from, double to, std::uint32_t seed);

// 1 with the probability that x says, else 0.
TSR_API DeviceTensor bernoulli(const DeviceTensor& x, std::uint32_t seed, std::optional<DType> dtype,
                               const std::optional<DeviceTensor>& output,
                               const std::optional<MemoryConfig>& config = std::nullopt);

// Elements are dropped with a probability, the others multiplied by a number.
TSR_API DeviceTensor dropout(const DeviceTensor& x, double probability, double scale, std::uint32_t seed,
                             const std::optional<MemoryConfig>& config = std::nullopt,
                             const std::optional<DeviceTensor>& output = std::nullopt);

}  // namespace tessera::tensix
