#pragma once

// What a product of matrices on the card comes to: y = activation(a b + bias), by the arithmetic of numerics.h. All
// numbers are float32 here that hold values of the operands' types; the result is what Dst holds, before it is packed
// to the output's type (Rounding::packer).

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/numerics.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::tensix {

struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  // So much of k is added up in Dst before it leaves: a multiple of 32, or 0 for all of it. Between blocks results are
  // packed to partials_dtype, and then
  // - with an effective packer_l1_acc, added to what is in L1, in that type, by the packer;
  // - otherwise unpacked into Dst (through SrcA: float32 loses all but 10 stored bits) before the next block.
  std::int64_t k_block = 0;
  ComputeConfig compute = {};  // fidelity, fp32_dest_acc_en, packer_l1_acc
  DType partials_dtype = DType::bfloat16;
  // One for each column, or null. It is added to the packed partials, operands unpacked like any other, in Dst.
  const float* bias = nullptr;
  std::optional<DstActivation> activation = {};  // on Dst, before packing

  std::int64_t blocks() const { return k_block == 0 || k <= k_block ? 1 : (k + k_block - 1) / k_block; }
  // Adding up in L1 is of use with more than one partial result: without a bias the last block is added in Dst.
  bool accumulates_in_l1() const { return compute.packer_l1_acc && blocks() > (bias != nullptr ? 1 : 2); }
};

// Parts of the operands, row-major, asked for piece by piece and on many threads. Left: rows [row, row + rows) x
// [k, k + count). Right: [k, k + count) x columns [column, column + columns).
using ProductRows =
    FunctionRef<void(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count, float* out)>;
using ProductColumns =
    FunctionRef<void(std::int64_t k, std::int64_t count, std::int64_t column, std::int64_t columns, float* out)>;

// a is m x k, b k x n, the result m x n. A 32 x 32 tile of b that is all zeros adds nothing, not even NaN. The same
// whatever the threads and the instruction set.
TSR_API std::vector<float> product_values(const Product& product, ProductRows a, ProductColumns b);
TSR_API std::vector<float> product_values(const Product& product, const float* a, const float* b);

// The definition: loops over numerics.h.
TSR_API std::vector<float> product_values_reference(const Product& product, const float* a, const float* b);

}  // namespace tessera::tensix
