// softmax(scale Q K^T + bias) V of every head without the scores ever being written.
//
// A warp takes 16 queries of one head and goes through the keys in tiles of 64, which the warps of a block share:
// scores in registers, their maximum and sum carried from tile to tile (what was added up before is scaled down when a
// larger score comes), scores rounded to the type of the values for the second product. Sums are float32. The next tile
// of keys and values is copied while one is multiplied.

#include "tessera/targets/cuda/kernels/attention/attention_arguments.h"
#include "tessera/targets/cuda/kernels/elements.cuh"
#include "tessera/targets/cuda/kernels/mma.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

#include <cstdint>

namespace tessera::cuda {

// kDepth: channels of a head, rounded up; those beyond are zeros. kKeyTiles: tiles of keys in shared memory.
template <class T, int kDepth, int kKeyTiles>
struct AttentionTile {
  static constexpr int kPitch = (kDepth + 8) * 2;  // bytes of a row in shared memory: other banks for the next
  static constexpr int kTileBytes = kKeyTile * kPitch;
  static constexpr int kChunks = kDepth / 8;  // of 16 bytes

  const T *q, *k, *v, *bias;
  T* y;
  const AttentionArguments& a;
  std::uint32_t shared;  // the queries, then keys and values of the tiles that are there

  __device__ std::uint32_t queries() const { return shared; }
  __device__ std::uint32_t keys(int tile) const {
    return shared + blockDim.x / 2 * kPitch + tile % kKeyTiles * 2 * kTileBytes;
  }
  __device__ std::uint32_t values(int tile) const { return keys(tile) + kTileBytes; }

  __device__ void copy_rows(std::uint32_t to, const T* from, std::int64_t pitch, int first, int rows, int limit,
                            int width) const {
    for (int i = threadIdx.x; i < rows * kChunks; i += blockDim.x) {
      const int row = i / kChunks, chunk = i % kChunks;
      const bool inside = first + row < limit && chunk * 8 < width;
      mma::copy16(to + row * kPitch + chunk * 16, inside ? from + (first + row) * pitch + chunk * 8 : from, inside);
    }
  }
  // Counted whether there is such a tile or not.
  __device__ void copy_tile(int tile, int tiles) const {
    if (tile < tiles) {
      copy_rows(keys(tile), k, a.k_pitch, tile * kKeyTile, kKeyTile, a.keys, a.depth);
      copy_rows(values(tile), v, a.v_pitch, tile * kKeyTile, kKeyTile, a.keys, a.width);
    }
    mma::commit_copies();
  }

  __device__ void run(int first_query) const {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const int tiles = (a.keys + kKeyTile - 1) / kKeyTile;
    copy_rows(queries(), q, a.q_pitch, first_query, warps * 16, a.queries, a.depth);
#pragma unroll
    for (int tile = 0; tile < kKeyTiles - 1; ++tile) copy_tile(tile, tiles);
    const bool works = first_query + warp * 16 < a.queries;
    const int row0 = first_query + warp * 16 + lane / 4, row1 = row0 + 8;
    float out[kDepth / 8][4] = {};
    float most0 = -INFINITY, most1 = -INFINITY, sum0 = 0, sum1 = 0;
    std::uint32_t of_query[kDepth / 16][4];
    const float scale = a.scale * kLog2E;

#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      copy_tile(tile + kKeyTiles - 1, tiles);
      mma::wait_for_copies<kKeyTiles - 1>();
      __syncthreads();
      if (tile == 0) {
#pragma unroll
        for (int step = 0; step < kDepth / 16; ++step)
          mma::load(of_query[step], queries() + (warp * 16 + lane % 16) * kPitch + (step * 16 + lane / 16 * 8) * 2);
      }
      // Whole sixteens of keys and queries that do not exist are left out.
      const int left = (a.keys - tile * kKeyTile + 15) / 16, sixteens = left < kKeyTile / 16 ? left : kKeyTile / 16;
      if (!works) {
        __syncthreads();
        continue;
      }
      float scores[kKeyTile / 8][4] = {};
      if (sixteens == kKeyTile / 16)
        multiply_keys<true>(scores, of_query, tile, sixteens);
      else
        multiply_keys<false>(scores, of_query, tile, sixteens);
      // Scores as they are, where only a positive scale is to come: the exponential takes it up.
      const bool plain = bias == nullptr && scale > 0;
      const float by = plain ? scale : 1;
      if (!plain || (tile + 1) * kKeyTile > a.keys)
        finish_scores(scores, plain ? 1 : scale, tile * kKeyTile + lane % 4 * 2, row0, row1);

      float larger0 = most0, larger1 = most1;
#pragma unroll
      for (int i = 0; i < kKeyTile / 8; ++i) {
        larger0 = fmaxf(larger0, fmaxf(scores[i][0], scores[i][1]));
        larger1 = fmaxf(larger1, fmaxf(scores[i][2], scores[i][3]));
      }
#pragma unroll
      for (int step = 1; step <= 2; step *= 2) {
        larger0 = fmaxf(larger0, __shfl_xor_sync(~0u, larger0, step));
        larger1 = fmaxf(larger1, __shfl_xor_sync(~0u, larger1, step));
      }
      // Rows of which nothing but minus infinity has come yet stay as they are.
      const float base0 = larger0 == -INFINITY ? 0 : larger0 * by, base1 = larger1 == -INFINITY ? 0 : larger1 * by;
      const float keep0 = power_of_2(fmaf(most0, by, -base0)), keep1 = power_of_2(fmaf(most1, by, -base1));
      most0 = larger0, most1 = larger1;
      sum0 *= keep0, sum1 *= keep1;
#pragma unroll
      for (int i = 0; i < kDepth / 8; ++i)
        out[i][0] *= keep0, out[i][1] *= keep0, out[i][2] *= keep1, out[i][3] *= keep1;
#pragma unroll
      for (int i = 0; i < kKeyTile / 8; ++i) {
        scores[i][0] = power_of_2(fmaf(scores[i][0], by, -base0));
        scores[i][1] = power_of_2(fmaf(scores[i][1], by, -base0));
        scores[i][2] = power_of_2(fmaf(scores[i][2], by, -base1));
        scores[i][3] = power_of_2(fmaf(scores[i][3], by, -base1));
        sum0 += scores[i][0] + scores[i][1];
        sum1 += scores[i][2] + scores[i][3];
      }
      if (sixteens == kKeyTile / 16)
        multiply_values<true>(out, scores, tile, sixteens);
      else
        multiply_values<false>(out, scores, tile, sixteens);
      __syncthreads();  // before the tile after the next is copied here
    }
#pragma unroll
    for (int step = 1; step <= 2; step *= 2) {
      sum0 += __shfl_xor_sync(~0u, sum0, step);
      sum1 += __shfl_xor_sync(~0u, sum1, step);
    }
    const float part0 = 1 / sum0, part1 = 1 / sum1;
#pragma unroll
    for (int i = 0; i < kDepth / 8; ++i) {
      const int channel = i * 8 + lane % 4 * 2;
      if (channel >= a.width) break;
      if (row0 < a.queries)
        *reinterpret_cast<std::uint32_t*>(y + row0 * a.y_pitch + channel) =
            Pair<T>::round(out[i][0] * part0, out[i][1] * part0);
      if (row1 < a.queries)
        *reinterpret_cast<std::uint32_t*>(y + row1 * a.y_pitch + channel) =
            Pair<T>::round(out[i][2] * part1, out[i][3] * part1);
    }
  }

  // kWhole: of all 64 keys. Otherwise of so many sixteens.
  template <bool kWhole>
  __device__ void multiply_keys(float (&scores)[kKeyTile / 8][4], const std::uint32_t (&of_query)[kDepth / 16][4],
                                int tile, int sixteens) const {
    const int lane = threadIdx.x % 32;
    const std::uint32_t key_row = keys(tile) + (lane / 16 * 8 + lane % 8) * kPitch + lane / 8 % 2 * 16;
#pragma unroll
    for (int pair = 0; pair < kKeyTile / 16; ++pair) {
      if (!kWhole && pair >= sixteens) break;
#pragma unroll
      for (int step = 0; step < kDepth / 16; ++step) {
        std::uint32_t of_keys[4];
        mma::load(of_keys, key_row + pair * 16 * kPitch + step * 32);
        mma::multiply<T>(scores[pair * 2], of_query[step], of_keys[0], of_keys[1]);
        mma::multiply<T>(scores[pair * 2 + 1], of_query[step], of_keys[2], of_keys[3]);
      }
    }
  }
  template <bool kWhole>
  __device__ void multiply_values(float (&out)[kDepth / 8][4], const float (&scores)[kKeyTile / 8][4], int tile,
                                  int sixteens) const {
    const int lane = threadIdx.x % 32;
    const std::uint32_t value_row = values(tile) + lane % 16 * kPitch + lane / 16 * 16;
#pragma unroll
    for (int step = 0; step < kKeyTile / 16; ++step) {
      if (!kWhole && step >= sixteens) break;
      const float (&low)[4] = scores[step * 2];
      const float (&high)[4] = scores[step * 2 + 1];
      const std::uint32_t weights[4] = {Pair<T>::round(low[0], low[1]), Pair<T>::round(low[2], low[3]),
                                        Pair<T>::round(high[0], high[1]), Pair<T>::round(high[2], high[3])};
#pragma unroll
      for (int pair = 0; pair < kDepth / 16; ++pair) {
        std::uint32_t of_values[4];
        mma::load_transposed(of_values, value_row + step * 16 * kPitch + pair * 32);
        mma::multiply<T>(out[pair * 2], weights, of_values[0], of_values[1]);
        mma::multiply<T>(out[pair * 2 + 1], weights, of_values[2], of_values[3]);
      }
    }
  }

  // Scaled, in powers of two, with the bias; minus infinity beyond the last key.
  __device__ void finish_scores(float (&scores)[kKeyTile / 8][4], float scale, int first_key, int row0,
                                int row1) const {
    const T* const bias0 = bias + (row0 < a.queries ? row0 : 0) * a.bias_query;
    const T* const bias1 = bias + (row1 < a.queries ? row1 : 0) * a.bias_query;
#pragma unroll
    for (int i = 0; i < kKeyTile / 8; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int key = first_key + i * 8 + j;
        if (key >= a.keys) {
          scores[i][j] = scores[i][2 + j] = -INFINITY;
          continue;
        }
        scores[i][j] *= scale;
        scores[i][2 + j] *= scale;
        if (bias != nullptr) {
          scores[i][j] = fmaf(widened(bias0[key * a.bias_key]), kLog2E, scores[i][j]);
          scores[i][2 + j] = fmaf(widened(bias1[key * a.bias_key]), kLog2E, scores[i][2 + j]);
        }
      }
  }
};

template <class T>
struct Operands {
  const T *q, *k, *v, *bias;
  T* y;
};
// Of the sample and head that are this block's.
template <class T>
__device__ __forceinline__ Operands<T> operands_of(const Operands<T>& all, const AttentionArguments& a, int which) {
  const int n = which / a.heads, head = which % a.heads;
  Operands<T> own = all;
  own.q += n * a.q_batch + head * a.depth;
  own.k += n * a.k_batch + head * a.depth;
  own.v += n * a.v_batch + head * a.width;
  own.y += n * a.y_batch + head * a.width;
  if (all.bias != nullptr) own.bias += n % a.bias_batches * a.bias_batch + head * a.bias_head;
  return own;
}

template <class T, int kDepth, int kKeyTiles>
__device__ __forceinline__ void attention(const Operands<T>& all, const AttentionArguments& a) {
  extern __shared__ __align__(16) std::uint8_t dynamic[];
  ptx::launch_dependents();
  const int rows = blockDim.x / 32 * 16, tiles = (a.queries + rows - 1) / rows;
  const int which = blockIdx.x / tiles, first = blockIdx.x % tiles * rows;
  ptx::wait_for_previous_kernel();
  const Operands<T> own = operands_of(all, a, which);
  AttentionTile<T, kDepth, kKeyTiles>{own.q, own.k, own.v, own.bias, own.y, a, ptx::shared_address(dynamic)}.run(first);
}

// Any shape and type: a warp for each query, a lane for each key, then for each channel.
template <class T>
__device__ __forceinline__ void attention_direct(const Operands<T>& all, const AttentionArguments& a) {
  extern __shared__ float rows[];  // of each warp: the query, what is added up
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int tiles = (a.queries + kDirectWarps - 1) / kDirectWarps;
  const int which = blockIdx.x / tiles, query = blockIdx.x % tiles * kDirectWarps + warp;
  if (query >= a.queries) return;
  const Operands<T> own = operands_of(all, a, which);
  float* const from = rows + warp * (a.depth + a.width);
  float* const out = from + a.depth;
  for (int d = lane; d < a.depth; d += 32) from[d] = widened(own.q[query * a.q_pitch + d]);
  for (int d = lane; d < a.width; d += 32) out[d] = 0;
  __syncwarp();
  float most = -INFINITY, sum = 0;
  for (int first = 0; first < a.keys; first += 32) {
    const int key = first + lane;
    float score = -INFINITY;
    if (key < a.keys) {
      score = 0;
      const T* const row = own.k + key * a.k_pitch;
      for (int d = 0; d < a.depth; ++d) score = fmaf(from[d], widened(row[d]), score);
      score *= a.scale;
      if (own.bias != nullptr) score += widened(own.bias[query * a.bias_query + key * a.bias_key]);
    }
    float larger = fmaxf(most, score);
#pragma unroll
    for (int half = 16; half > 0; half /= 2) larger = fmaxf(larger, __shfl_xor_sync(~0u, larger, half));
    const float base = larger == -INFINITY ? 0 : larger, keep = expf(most - base);
    most = larger;
    const float weight = expf(score - base);
    sum = sum * keep + weight;
    const int count = a.keys - first < 32 ? a.keys - first : 32;
    for (int d = lane; d - lane < a.width; d += 32) {
      float value = d < a.width ? out[d] * keep : 0;
      for (int i = 0; i < count; ++i) {
        const float each = __shfl_sync(~0u, weight, i);
        if (d < a.width) value = fmaf(each, widened(own.v[(first + i) * a.v_pitch + d]), value);
      }
      if (d < a.width) out[d] = value;
    }
  }
#pragma unroll
  for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
  for (int d = lane; d < a.width; d += 32) own.y[query * a.y_pitch + d] = rounded<T>(out[d] / sum);
}

}  // namespace tessera::cuda

#define TSR_ATTENTION_DIRECT(NAME, T)                                                          \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kDirectWarps * 32)               \
      attention_##NAME##_direct(const T* q, const T* k, const T* v, const T* bias, T* y,       \
                                const __grid_constant__ tessera::cuda::AttentionArguments a) { \
    tessera::cuda::attention_direct<T>({q, k, v, bias, y}, a);                                 \
  }
#define TSR_ATTENTION_OF(NAME, T, DEPTH, TILES)                                       \
  extern "C" __global__ void __launch_bounds__(128)                                   \
      attention_##NAME(const T* q, const T* k, const T* v, const T* bias, T* y,       \
                       const __grid_constant__ tessera::cuda::AttentionArguments a) { \
    tessera::cuda::attention<T, DEPTH, TILES>({q, k, v, bias, y}, a);                 \
  }
#define TSR_ATTENTION(NAME, T, DEPTH)                                        \
  TSR_ATTENTION_OF(NAME##_##DEPTH, T, DEPTH, tessera::cuda::kKeyTilesOfMany) \
  TSR_ATTENTION_OF(NAME##_##DEPTH##_few, T, DEPTH, tessera::cuda::kKeyTilesOfFew)
#define TSR_ATTENTIONS(NAME, T) \
  TSR_ATTENTION(NAME, T, 32) TSR_ATTENTION(NAME, T, 64) TSR_ATTENTION(NAME, T, 96) TSR_ATTENTION(NAME, T, 128)
TSR_ATTENTIONS(f16, __half)
TSR_ATTENTIONS(bf16, __nv_bfloat16)
TSR_ATTENTION_DIRECT(f16, __half)
TSR_ATTENTION_DIRECT(bf16, __nv_bfloat16)
TSR_ATTENTION_DIRECT(f32, float)
