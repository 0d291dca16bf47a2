#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/ops/matmul/product_rules.h"
#include "tessera/targets/tensix/ops/matmul/product_values.h"

#include <algorithm>
#include <array>

namespace tessera::tensix {
namespace {

using Face = std::array<float, kFace>;

struct Matrix {
  const float* at;
  std::int64_t rows, columns;
  float operator()(std::int64_t r, std::int64_t c) const { return r < rows && c < columns ? at[r * columns + c] : 0; }
};

bool is_zero_tile(const Matrix& b, std::int64_t k, std::int64_t n) {
  for (std::int64_t i = 0; i < kTile; ++i)
    for (std::int64_t j = 0; j < kTile; ++j)
      if (b(k + i, n + j) != 0) return false;
  return true;
}

// dst plus the products of 32 k, all phases.
float add_tile(const Matrix& a, const Matrix& b, std::int64_t m, std::int64_t n, std::int64_t k, const Product& product,
               float dst) {
  for (int phase = 0; phase < phases(product.compute.fidelity); ++phase)
    for (std::int64_t face = k; face < k + kTile; face += kFace) {
      Face activations, weights;
      for (std::int64_t i = 0; i < kFace; ++i) {
        activations[static_cast<std::size_t>(i)] = widen(a(m, face + i));
        weights[static_cast<std::size_t>(i)] = widen(b(face + i, n));
      }
      dst = multiply_add(activations, weights, phase, dst, product.compute.fp32_dest_acc_en);
    }
  return dst;
}

}  // namespace

std::vector<float> product_values_reference(const Product& product, const float* a, const float* b) {
  check_product(product);
  const Matrix left{a, product.m, product.k}, right{b, product.k, product.n};
  const std::int64_t tiles = (product.k + kTile - 1) / kTile, blocks = product.blocks();
  const std::int64_t block_tiles = blocks == 1 ? tiles : product.k_block / kTile;
  std::vector<float> y;
  for (std::int64_t m = 0; m < product.m; ++m) {
    std::vector<float> dst(static_cast<std::size_t>(product.n)), partials(dst.size());
    for (std::int64_t block = 0; block < blocks; ++block) {
      begin_block(product, block, partials, dst);
      for (std::int64_t t = block * block_tiles; t < std::min(tiles, (block + 1) * block_tiles); ++t)
        for (std::int64_t n = 0; n < product.n; ++n)
          if (!is_zero_tile(right, t * kTile, n / kTile * kTile)) {
            float& sum = dst[static_cast<std::size_t>(n)];
            sum = add_tile(left, right, m, n, t * kTile, product, sum);
          }
      end_block(product, block, dst, partials);
    }
    finish(product, 0, partials, dst);
    y.insert(y.end(), dst.begin(), dst.end());
  }
  return y;
}

}  // namespace tessera::tensix
