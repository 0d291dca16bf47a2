#pragma once

// Losses of a layer's outputs, with their gradients.

#include "tessera/core/export.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera::ncp {

enum class Loss {
  mean_squared_error,     // over all outputs of all rows
  softmax_cross_entropy,  // outputs are logits of classes; a target is one number, the class
  binary_cross_entropy,   // outputs are logits, targets from 0 to 1
};
TSR_API std::string_view name(Loss loss);
TSR_API std::optional<Loss> parse_loss(std::string_view text);

// Targets of a row: one for softmax_cross_entropy, else as many as outputs.
TSR_API int targets_per_row(Loss loss, int outputs);

struct LossSums {
  double loss = 0;  // summed over rows; the mean over outputs where there are several
  std::int64_t rows = 0;
  double correct = 0;  // rows whose class is right: of the two kinds of cross entropy; a row of several binary outputs
                       // counts the share of them that is right
  double mean_loss() const { return rows == 0 ? 0 : loss / static_cast<double>(rows); }
  double accuracy() const { return rows == 0 ? 0 : correct / static_cast<double>(rows); }
};

// One row: adds to the sums, and writes the gradient of the row's loss times `scale` unless `d_output` is empty.
TSR_API void add_loss(Loss loss, std::span<const float> output, std::span<const float> target, float scale,
                      LossSums& sums, std::span<float> d_output);

}  // namespace tessera::ncp
