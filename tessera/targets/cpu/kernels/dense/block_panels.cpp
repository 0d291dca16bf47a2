#include "tessera/targets/cpu/kernels/dense/block_panels.h"

#include "tessera/core/block_float.h"
#include "tessera/core/float_bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace tessera::cpu {
namespace {

// Sign and magnitude as a number.
int signed_code(std::uint8_t code, int width) {
  const int magnitude = code & ((1 << width) - 1);
  return (code >> width & 1) != 0 ? -magnitude : magnitude;
}

// `width` columns of one step, padded to a block.
void pack_block(const float* from, int width, DType dtype, std::byte* codes, std::byte& exponent) {
  std::array<float, Block::kSize> values{};
  std::memcpy(values.data(), from, static_cast<std::size_t>(width) * sizeof(float));
  const Block block = encode_block(values, dtype, Rounding::host);
  const int bits = magnitude_bits(dtype), shift = bits - 1;
  const int least = shift + 1;  // under it a code counts the smallest normal numbers
  exponent = std::byte{static_cast<std::uint8_t>(std::max<int>(block.exponent, least))};
  const auto code = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    if (block.exponent >= least) return signed_code(block.codes[at], bits);
    return static_cast<int>(std::nearbyint(std::ldexp(values[at], 126)));
  };
  if (dtype == DType::bfloat8_b) {
    for (int i = 0; i < width; ++i) codes[i] = std::byte{static_cast<std::uint8_t>(code(i))};
    return;
  }
  for (int i = 0; i < width / 2; ++i)
    codes[i] = std::byte{static_cast<std::uint8_t>((code(i) & 15) | (code(i + width / 2) & 15) << 4)};
}

}  // namespace

std::int64_t DenseKernel::panel_bytes(std::int64_t reduction) const {
  const std::int64_t elements = reduction * columns;
  switch (weights) {
    case DType::bfloat16: return elements * 2;
    case DType::bfloat8_b: return elements + reduction * ceil_div(columns, Block::kSize);
    case DType::bfloat4_b: return elements / 2 + reduction * ceil_div(columns, Block::kSize);
    default: return elements * element_bytes(type);
  }
}

std::int64_t DenseKernel::code_bytes(std::int64_t count) const {
  return weights == DType::bfloat16 ? count * 2 : weights == DType::bfloat8_b ? count : count / 2;
}

std::optional<std::string> refuse_weights(const DenseKernel& kernel, const Problem& problem, bool expandable) {
  if (kernel.type != ElementType::float32) return std::nullopt;
  if (kernel.weights == (expandable ? problem.weights : DType::float32)) return std::nullopt;
  if (!expandable) return "weights that come with a run, times alpha, or more than one matrix of them";
  return fmt::format("keeps weights as {}, they are to be {}", name(kernel.weights), name(problem.weights));
}

double saved_bytes(const DenseKernel& kernel, const Problem& problem) {
  if (!kernel.expand) return 0;
  // Of a panel of one step.
  const double kept = static_cast<double>(kernel.panel_bytes(1)), whole = static_cast<double>(kernel.columns * 4);
  return static_cast<double>(problem.input(1).shape().volume()) * 4 * (1 - kept / whole);
}

std::int64_t expanded_bytes(const DenseKernel& kernel, std::int64_t reduction, std::int64_t columns) {
  return ceil_div(columns, kernel.columns) * kernel.panel_bytes(reduction);
}

void pack_expanded(const DenseKernel& kernel, std::int64_t reduction, std::int64_t columns, const float* panels,
                   std::byte* to) {
  const std::int64_t width = std::min<std::int64_t>(kernel.columns, Block::kSize);
  parallel_for(ceil_div(columns, kernel.columns), packing_grain(kernel, reduction),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t panel = begin; panel < end; ++panel) {
                   const float* from = panels + panel * reduction * kernel.columns;
                   std::byte* codes = to + panel * kernel.panel_bytes(reduction);
                   std::byte* exponents = codes + kernel.code_bytes(reduction * kernel.columns);
                   const std::int64_t count = reduction * kernel.columns;
                   if (kernel.weights == DType::bfloat16) {
                     for (std::int64_t i = 0; i < count; ++i) {
                       const std::uint16_t bits = bfloat16_from_float_host(from[i]);
                       std::memcpy(codes + i * 2, &bits, sizeof bits);
                     }
                     continue;
                   }
                   for (std::int64_t b = 0; b < count / width; ++b)
                     pack_block(from + b * width, static_cast<int>(width), kernel.weights,
                                codes + kernel.code_bytes(b * width), exponents[b]);
                 }
               });
}

}  // namespace tessera::cpu
