#pragma once

// What happens to a row of Dst between blocks of k and after the last one. The fast product and the reference share it.

#include "tessera/targets/tensix/ops/matmul/product_values.h"

#include <cstdint>
#include <span>

namespace tessera::tensix {

void check_product(const Product& product);

// Columns of one row each, from a multiple of 16 on.
void begin_block(const Product& product, std::int64_t block, std::span<const float> partials, std::span<float> dst);
void end_block(const Product& product, std::int64_t block, std::span<const float> dst, std::span<float> partials);
// Bias and activation; `column` is that of the first.
void finish(const Product& product, std::int64_t column, std::span<const float> partials, std::span<float> dst);

}  // namespace tessera::tensix
