#pragma once

// Making a depthwise convolution ready, alone (depthwise.cpp) or within a chain (chain.cpp).

#include "tessera/graph/ops/conv.h"
#include "tessera/targets/cpu/kernels/depthwise/depthwise.h"
#include "tessera/targets/cpu/kernels/epilogue.h"
#include "tessera/targets/cpu/kernels/flush.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <vector>

namespace tessera::cpu {

// Each channel by itself, over one dimension or two.
bool is_depthwise(const Conv& op, const Shape& x, const Shape& w);

// The numbers of the job, without operands and epilogue: shapes of the input, the weights and the result.
DepthwiseJob depthwise_job(const Conv& op, const Shape& x, const Shape& w, const Shape& y);
void set_epilogue(const Epilogue& epilogue, DepthwiseJob& job);
std::shared_ptr<const PackedWeights> depthwise_weights(const std::shared_ptr<const Array>& constant, Flush flush,
                                                       WeightCache& weights);
std::vector<float> depthwise_bias(const Array* bias, std::int64_t channels);  // zeros for null
DepthwiseKernel depthwise_function(Isa isa);

}  // namespace tessera::cpu
