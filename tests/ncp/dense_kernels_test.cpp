#include "tessera/ncp/internal/dense_kernels.h"
#include "given.h"
#include "tessera/core/isa.h"
#include "tessera/ncp/internal/trained_product.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera::ncp {
namespace {

float cut_to_bfloat16(float value) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff0000u); }

// Products of bfloat16 are exact in float32: what is off are the additions.
TEST(DenseKernels, PairsOfBfloat16AreSummedAsOneByOne) {
  if (host_isa() < Isa::avx512_bf16) GTEST_SKIP() << "no such instructions here";
  set_active_isa(Isa::avx512_bf16);
  const DenseKernel& kernel = dense_kernel(Precision::bfloat16);
  EXPECT_TRUE(kernel.pairs);
  EXPECT_FALSE(dense_kernel(Precision::float32).pairs);
  EXPECT_FALSE(dense_kernel(Precision::float16).pairs);
  const std::int64_t width = kQuad * kernel.lanes;
  for (const std::int64_t rows : {1, 2, 5, 6, 7, 48, 49, 101})
    for (const auto& [first, second] : {std::pair(1, 0), std::pair(2, 3), std::pair(33, 64), std::pair(7, 129)})
      for (const std::int64_t blocks : {1, 4, 5}) {
        SCOPED_TRACE(fmt::format("{} rows of {} and {} inputs, {} blocks", rows, first, second, blocks));
        const std::int64_t inputs[]{first, second}, stride = 200;
        std::vector<float> x[2];
        GatheredWeights weights[2];
        std::vector<std::uint32_t> scratch(
            static_cast<std::size_t>(kPairedRows * (pairs_of(first) + pairs_of(second))));
        const std::vector<float> start = uniform(blocks * width, 5);
        std::vector<float> out(static_cast<std::size_t>(rows * blocks * width));
        DenseStep step{.rows = rows, .blocks = blocks, .start = start.data()};
        for (int s = 0; s < 2; ++s) {
          if (inputs[s] == 0) continue;
          x[s] = uniform(rows * stride, static_cast<std::uint64_t>(s + 1), -2, 2);
          weights[s] = {.inputs = inputs[s], .blocks = blocks};
          weights[s].values = uniform(blocks * inputs[s] * width, static_cast<std::uint64_t>(s + 3));
          for (std::vector<float>* values : {&x[s], &weights[s].values})
            for (float& value : *values) value = cut_to_bfloat16(value);
          weights[s].pair(width);
          step.segments[step.segment_count++] = {.rows = x[s].data(),
                                                 .stride = stride,
                                                 .inputs = inputs[s],
                                                 .weights = weights[s].values.data(),
                                                 .pairs = weights[s].pairs.data()};
        }
        // Bits of a NaN that bfloat16 does not have belong to no neighbour.
        if (first > 1) x[0][1] = std::bit_cast<float>(0x7fc0ffffu);
        step.out = out.data();
        step.out_stride = blocks * width;
        step.scratch = scratch.data();
        kernel.run(step);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t j = 0; j < blocks * width; ++j) {
            double sum = start[static_cast<std::size_t>(j)], size = std::abs(sum);
            for (int s = 0; s < step.segment_count; ++s)
              for (std::int64_t k = 0; k < inputs[s]; ++k) {
                const std::int64_t at = (j / width * inputs[s] + k) * width + j % width;
                const double term = static_cast<double>(x[s][static_cast<std::size_t>(r * stride + k)]) *
                                    weights[s].values[static_cast<std::size_t>(at)];
                sum += term;
                size += std::abs(term);
              }
            const float found = out[static_cast<std::size_t>(r * blocks * width + j)];
            if (std::isnan(sum)) {
              ASSERT_TRUE(std::isnan(found));
              continue;
            }
            ASSERT_NEAR(found, sum, static_cast<double>(first + second + 1) * 0x1p-24 * size) << r << ", " << j;
          }
      }
  set_active_isa(std::nullopt);
}

}  // namespace
}  // namespace tessera::ncp
