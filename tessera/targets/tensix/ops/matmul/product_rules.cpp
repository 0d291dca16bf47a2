#include "tessera/targets/tensix/ops/matmul/product_rules.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/numerics.h"

#include <algorithm>
#include <limits>

namespace tessera::tensix {
namespace {

// Results leave Dst for L1 after this block. Without a bias the last one's stay, for the activation.
bool packs(const Product& product, std::int64_t block) {
  return product.bias != nullptr || block + 1 < product.blocks();
}

// What is in L1 enters Dst before this block.
bool reloads(const Product& product, std::int64_t block) {
  if (block == 0) return false;
  return !product.accumulates_in_l1() || !packs(product, block);
}

void pack(const Product& product, std::span<float> x) {
  for (std::size_t i = 0; i < x.size(); i += kFace)
    store_block(x.subspan(i, std::min<std::size_t>(kFace, x.size() - i)), product.partials_dtype, Rounding::packer);
}

}  // namespace

void check_product(const Product& product) {
  check(product.m >= 0 && product.n >= 0 && product.k >= 0, Code::invalid_argument,
        "a product of {} x {} and {} x {} does not exist", product.m, product.k, product.k, product.n);
  check(product.k_block >= 0 && product.k_block % kTile == 0, Code::invalid_argument,
        "a block along k is a multiple of {}, or 0 for all of it, not {}", kTile, product.k_block);
  const bool types = product.partials_dtype == DType::float32 || product.partials_dtype == DType::bfloat16;
  check(types || (is_block_float(product.partials_dtype) && !product.accumulates_in_l1()), Code::invalid_argument,
        "partial results cannot be {}{}", name(product.partials_dtype),
        product.accumulates_in_l1() ? " and added up by the packer" : "");
}

void begin_block(const Product& product, std::int64_t block, std::span<const float> partials, std::span<float> dst) {
  if (!reloads(product, block)) {
    std::fill(dst.begin(), dst.end(), 0.0f);
    return;
  }
  const bool float32 = product.compute.fp32_dest_acc_en;
  std::transform(partials.begin(), partials.end(), dst.begin(), [&](float x) { return into_dst(widen(x), float32); });
}

void end_block(const Product& product, std::int64_t block, std::span<const float> dst, std::span<float> partials) {
  if (!packs(product, block)) return;
  if (block == 0 || !product.accumulates_in_l1()) {
    std::copy(dst.begin(), dst.end(), partials.begin());
    pack(product, partials);
    return;
  }
  // Packed first, added then, and rounded once more, by the packer each time.
  const bool float32 = product.partials_dtype == DType::float32;
  const auto to_bfloat16 = [](float x) { return float_from_bfloat16(bfloat16_from_float_packer(x)); };
  for (std::size_t i = 0; i < dst.size(); ++i)
    partials[i] = float32 ? into_dst(partials[i] + dst[i], true) : to_bfloat16(partials[i] + to_bfloat16(dst[i]));
}

void finish(const Product& product, std::int64_t column, std::span<const float> partials, std::span<float> dst) {
  const bool float32 = product.compute.fp32_dest_acc_en;
  if (product.bias != nullptr)
    for (std::size_t i = 0; i < dst.size(); ++i)
      dst[i] = into_dst(widen(partials[i]) + widen(product.bias[column + static_cast<std::int64_t>(i)]), float32);
  if (product.activation) apply(*product.activation, dst, float32);
  for (float& v : dst)
    if (v != v) v = std::numeric_limits<float>::quiet_NaN();
}

}  // namespace tessera::tensix
