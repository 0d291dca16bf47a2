#pragma once

// Weights and bias as a convolution on the card reads them: a matrix of whole tiles, rows in the order in which the
// reduction runs. What the matrix looks like depends on the plan, so weights prepared for one plan fit only plans with
// the same matrix.

#include "tessera/core/export.h"
#include "tessera/core/tensor.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::tensix {

// Refuse what is not of the problem's size.
TSR_API void check_conv_weights(const Shape& weights, const Conv2dProblem& problem);
TSR_API void check_conv_bias(const Shape& bias, const Conv2dProblem& problem);

// weights: out_channels x in_channels / groups x kernel_h x kernel_w. Gives [1, 1, plan.weight_matrix] in TILE layout;
// groups become zeros.
TSR_API Tensor prepare_conv_weights(const Tensor& weights, const Conv2dProblem& problem, const Conv2dPlan& plan,
                                    DType dtype);
// bias: out_channels elements of any shape. Gives [1, 1, 1, out_channels padded] in TILE layout.
TSR_API Tensor prepare_conv_bias(const Tensor& bias, const Conv2dProblem& problem, const Conv2dPlan& plan, DType dtype);

// What is really multiplied: plan.problem. Folding a grouped convolution makes it dense.
TSR_API Conv2dProblem multiplied_problem(const Conv2dPlan& plan);
// The weights of multiplied_problem() from the matrix (row-major values of it).
TSR_API std::vector<float> unprepare_conv_weights(std::span<const float> matrix, const Conv2dPlan& plan);
// The image of multiplied_problem() where the plan folds: each step of the window becomes channels of one pixel.
TSR_API std::vector<float> fold_image(std::span<const float> image, const Conv2dProblem& problem);
// The image of a transposed convolution: `problem` is that of the image with its zeros, `image` has none.
TSR_API std::vector<float> spread_image(std::span<const float> image, const Conv2dProblem& problem,
                                        std::int64_t spread_h, std::int64_t spread_w);

}  // namespace tessera::tensix
