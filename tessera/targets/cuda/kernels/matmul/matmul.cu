// Products of two values of a network, matrix by matrix, with any steps between their elements: what attention leaves,
// Gemm of two values, transposed operands. A block makes 64 x 64 results. 16-bit types are multiplied by tensor cores,
// float32 exactly, with fused multiply-adds in the order of the depth.

#include "tessera/targets/cuda/kernels/elements.cuh"
#include "tessera/targets/cuda/kernels/matmul/matmul_arguments.h"
#include "tessera/targets/cuda/kernels/mma.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

#include <cstdint>

namespace tessera::cuda {

template <class T>
struct MatmulOperands {
  const T *a, *b, *c, *residual;
  T* y;
};

struct Corner {
  int row, column;
};
// To the matrices of this block; where its tile begins in them.
template <class T>
__device__ __forceinline__ Corner step_to_batch(MatmulOperands<T>& at, const MatmulArguments& args) {
  const int column_tiles = (args.columns + kMatmulTile - 1) / kMatmulTile,
            tiles = (args.rows + kMatmulTile - 1) / kMatmulTile * column_tiles;
  const int tile = static_cast<int>(blockIdx.x) % tiles;
  unsigned rest = blockIdx.x / tiles;
  const std::int64_t result = static_cast<std::int64_t>(rest) * args.rows * args.columns;
  for (int d = args.batch_rank - 1; d >= 0; --d) {
    const unsigned index = rest % args.batch[d];
    rest /= args.batch[d];
    at.a += index * args.a_batch[d];
    at.b += index * args.b_batch[d];
  }
  at.y += result;
  if (at.residual != nullptr) at.residual += result;
  return {tile / column_tiles * kMatmulTile, tile % column_tiles * kMatmulTile};
}

template <class T>
__device__ __forceinline__ void finish(const MatmulOperands<T>& at, const MatmulArguments& args, int row, int column,
                                       float sum) {
  if (row >= args.rows || column >= args.columns) return;
  sum *= args.alpha;
  if (at.c != nullptr) sum = fmaf(args.beta, widened(at.c[row * args.c_row + column * args.c_column]), sum);
  const std::int64_t place = static_cast<std::int64_t>(row) * args.columns + column;
  if (at.residual != nullptr) sum += widened(at.residual[place]);
  at.y[place] = rounded<T>(activated(sum, args.activation));
}

// 64 lines of kDepth elements to shared memory; zeros outside. Neighbouring threads read neighbours where there are
// such.
template <class T, int kDepth, int kPitch>
__device__ __forceinline__ void copy_panel(T* to, const T* from, int first_line, int lines, std::int64_t line_step,
                                           int first_depth, int depth, std::int64_t depth_step) {
  const bool along_depth = depth_step == 1;
  for (int i = threadIdx.x; i < kMatmulTile * kDepth; i += blockDim.x) {
    const int line = along_depth ? i / kDepth : i % kMatmulTile, k = along_depth ? i % kDepth : i / kMatmulTile;
    const bool inside = first_line + line < lines && first_depth + k < depth;
    to[line * kPitch + k] =
        inside ? from[(first_line + line) * line_step + (first_depth + k) * depth_step] : rounded<T>(0.0f);
  }
}

template <class T>
__device__ __forceinline__ void matmul_tiles(MatmulOperands<T> at, const MatmulArguments& args) {
  constexpr int kPitch = kMatmulDepth + 8;
  __shared__ __align__(16) T left[kMatmulTile * kPitch], right[kMatmulTile * kPitch];
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const auto [row0, column0] = step_to_batch(at, args);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sums[kMatmulTile / 8][4] = {};
  const std::uint32_t left_row =
      ptx::shared_address(left) + ((warp * 16 + lane % 16) * kPitch + lane / 16 * 8) * sizeof(T);
  const std::uint32_t right_row =
      ptx::shared_address(right) + ((lane / 16 * 8 + lane % 8) * kPitch + lane / 8 % 2 * 8) * sizeof(T);
  for (int k0 = 0; k0 < args.depth; k0 += kMatmulDepth) {
    __syncthreads();
    copy_panel<T, kMatmulDepth, kPitch>(left, at.a, row0, args.rows, args.a_row, k0, args.depth, args.a_depth);
    copy_panel<T, kMatmulDepth, kPitch>(right, at.b, column0, args.columns, args.b_column, k0, args.depth,
                                        args.b_depth);
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kMatmulDepth / 16; ++step) {
      std::uint32_t of_left[4];
      mma::load(of_left, left_row + step * 16 * sizeof(T));
#pragma unroll
      for (int pair = 0; pair < kMatmulTile / 16; ++pair) {
        std::uint32_t of_right[4];
        mma::load(of_right, right_row + (pair * 16 * kPitch + step * 16) * sizeof(T));
        mma::multiply<T>(sums[pair * 2], of_left, of_right[0], of_right[1]);
        mma::multiply<T>(sums[pair * 2 + 1], of_left, of_right[2], of_right[3]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kMatmulTile / 8; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      finish(at, args, row0 + warp * 16 + lane / 4 + j / 2 * 8, column0 + i * 8 + lane % 4 * 2 + j % 2, sums[i][j]);
}

// 16 x 16 threads, four rows and four columns each, 16 apart.
__device__ __forceinline__ void matmul_scalar(MatmulOperands<float> at, const MatmulArguments& args) {
  constexpr int kPitch = kMatmulScalarDepth + 1;
  __shared__ float left[kMatmulTile * kPitch], right[kMatmulTile * kPitch];
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const auto [row0, column0] = step_to_batch(at, args);
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  float sums[4][4] = {};
  for (int k0 = 0; k0 < args.depth; k0 += kMatmulScalarDepth) {
    __syncthreads();
    copy_panel<float, kMatmulScalarDepth, kPitch>(left, at.a, row0, args.rows, args.a_row, k0, args.depth,
                                                  args.a_depth);
    copy_panel<float, kMatmulScalarDepth, kPitch>(right, at.b, column0, args.columns, args.b_column, k0, args.depth,
                                                  args.b_depth);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kMatmulScalarDepth; ++k) {
      float p[4], q[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) p[i] = left[(y + i * 16) * kPitch + k], q[i] = right[(x + i * 16) * kPitch + k];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] = fmaf(p[i], q[j], sums[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) finish(at, args, row0 + y + i * 16, column0 + x + j * 16, sums[i][j]);
}

}  // namespace tessera::cuda

#define TSR_MATMUL(NAME, T, RUN, THREADS)                                          \
  extern "C" __global__ void __launch_bounds__(THREADS)                            \
      matmul_##NAME(const T* a, const T* b, const T* c, const T* residual, T* y,   \
                    const __grid_constant__ tessera::cuda::MatmulArguments args) { \
    tessera::cuda::RUN({a, b, c, residual, y}, args);                              \
  }
TSR_MATMUL(f16, __half, matmul_tiles<__half>, 128)
TSR_MATMUL(bf16, __nv_bfloat16, matmul_tiles<__nv_bfloat16>, 128)
TSR_MATMUL(f32, float, matmul_scalar, 256)
