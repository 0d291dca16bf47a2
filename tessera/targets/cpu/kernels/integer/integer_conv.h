#pragma once

// QLinearConv and ConvInteger in numbers, for the kernels of both.

#include "tessera/targets/cpu/kernels/integer/integer_dense.h"
#include "tessera/targets/cpu/kernels/integer/requantize.h"

#include <cstdint>
#include <variant>
#include <vector>

namespace tessera::cpu {

struct IntegerConv {
  IntegerShape shape;
  std::size_t x_zero = 2, w = 3, w_zero = 5;  // inputs of the node
  bool requantizes = true, x_sign = false, has_x_zero = false, has_bias = false, one_scale = false;
  Requantization requantization;

  bool is_depthwise() const { return shape.groups > 1 && shape.ic == 1 && shape.oc == 1; }
  std::int32_t x_zero_value(const StepArgs& args) const {
    return has_x_zero ? byte_value(args.inputs[x_zero], x_sign) : 0;
  }
};
std::variant<IntegerConv, Refusal> read_integer_conv(const Problem& problem);

// Orders: channels last. The estimate and scratch are the kernel's.
Offer integer_conv_offer(const Problem& problem, const IntegerConv& conv);

// Bias and factor of every column of a kernel: known beforehand if all they depend on is constant, otherwise made in
// scratch for each run.
class ConvColumns {
 public:
  struct Values {
    const std::int32_t* bias = nullptr;
    const float* factors = nullptr;
    bool within_int32 = false;  // so are products of any int32 with every factor
  };
  // Columns of which each is an output channel, or -1. From each bias is taken (x zero + more) * the column's sum, if
  // there are sums; those must live as long.
  ConvColumns() = default;
  ConvColumns(const Problem& problem, const IntegerConv& conv, std::vector<std::int32_t> channel_of,
              const std::int32_t* sums, std::int32_t more);
  Values values(const StepArgs& args, const IntegerConv& conv, std::byte* scratch) const;

  // Of `columns` of them, a multiple of 64.
  static std::int64_t scratch_bytes(std::int64_t columns);

 private:
  struct Parts {
    const float *x_scale = nullptr, *w_scales = nullptr, *y_scale = nullptr;
    const std::int32_t* bias = nullptr;
    std::int32_t x_zero = 0;
  };
  // Whether products are within int32.
  bool make(const IntegerConv& conv, const Parts& from, std::int32_t* bias, float* factors) const;

  std::vector<std::int32_t> channel_of_;
  const std::int32_t* sums_ = nullptr;
  std::int32_t more_ = 0;
  bool known_ = false, within_int32_ = false;
  std::vector<std::int32_t> bias_;
  std::vector<float> factors_;
};

}  // namespace tessera::cpu
