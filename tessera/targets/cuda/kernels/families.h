#pragma once

// The rows of every family of kernels.

#include "tessera/targets/cuda/kernels/kernel.h"

#include <vector>

namespace tessera::cuda {

std::vector<CudaKernel> attention_kernels();
std::vector<CudaKernel> channel_norm_kernels();  // GroupNorm, InstanceNorm, BatchNorm
std::vector<CudaKernel> choice_kernels();        // Where, comparisons, logic
std::vector<CudaKernel> conv2d_kernels();  // Conv, Gemm, MatMul with constant weights, ConvTranspose without overlap
std::vector<CudaKernel> conv_transpose_kernels();
std::vector<CudaKernel> depthwise_kernels();
std::vector<CudaKernel> elementwise_kernels();
std::vector<CudaKernel> gemv_kernels();
std::vector<CudaKernel> matmul_kernels();  // of two values
std::vector<CudaKernel> move_kernels();
std::vector<CudaKernel> pool_kernels();
std::vector<CudaKernel> part_kernels();  // Slice, Expand, Tile, Gather
std::vector<CudaKernel> reduce_kernels();
std::vector<CudaKernel> resize_kernels();
std::vector<CudaKernel> row_kernels();

}  // namespace tessera::cuda
