#pragma once

// conv_transpose2d on a simulated card: a convolution with stride 1 and a turned kernel over the image with zeros
// between its pixels. The halo puts the zeros in; the image itself never has them in memory.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d.h"

#include <optional>

namespace tessera::tensix {

struct ConvTranspose2dProblem {
  // Window, strides and padding are those of the transposed convolution: padding takes rows and columns off the output.
  Conv2dProblem conv;
  std::int64_t output_padding_h = 0, output_padding_w = 0;

  std::int64_t out_h() const;
  std::int64_t out_w() const;
  Conv2dProblem as_convolution() const;  // over the image with its zeros
};

// weights on the host: in_channels x out_channels / groups x kernel_h x kernel_w.
TSR_API Conv2dResult conv_transpose2d(DeviceTensor input, const Conv2dOperand& weights,
                                      const std::optional<Conv2dOperand>& bias, const ConvTranspose2dProblem& problem,
                                      const Conv2dOptions& options = {});

// out_channels x in_channels / groups x kernel, turned by half a circle: what as_convolution() multiplies with.
TSR_API Tensor turn_weights(const Tensor& weights, const Conv2dProblem& problem);

}  // namespace tessera::tensix
