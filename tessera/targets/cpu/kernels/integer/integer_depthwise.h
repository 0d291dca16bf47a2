#pragma once

// Convolutions of bytes that keep channels apart, channels last. Plain data: files compiled for an instruction set
// include it.

#include "tessera/targets/cpu/kernels/integer/integer_epilogue.h"

#include <cstddef>
#include <cstdint>

namespace tessera::cpu {

constexpr std::ptrdiff_t kDepthwiseMostTaps = 256;

struct IntegerDepthwiseJob {
  const std::byte *x = nullptr, *residual = nullptr;
  std::byte* y = nullptr;
  const std::byte* padding = nullptr;  // channels of x's zero point
  // The taps of each channel beside each other, `group` at a time (the last filled up with zeros): see pack() of each.
  const std::byte* weights = nullptr;
  const std::int32_t* bias = nullptr;  // in the order of the weights' channels
  const float* factors = nullptr;      // likewise
  bool within_int32 = false;           // so are products of any int32 with every factor
  const IntegerEpilogue* epilogue = nullptr;
  bool x_sign = false;
  bool twins = false;  // 32 channels, weights and so on twice: two pixels side by side may be taken as one of 64
  std::ptrdiff_t channels = 0, height = 1, width = 1, out_height = 1, out_width = 1;
  std::ptrdiff_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, top = 0,
                 left = 0;
  std::ptrdiff_t chunks = 1, chunk = 0;  // of channels: `chunk` in each but the last, which has the rest
};

// Units of work: output rows of all images, times chunks of channels.
using IntegerDepthwiseFn = void (*)(const IntegerDepthwiseJob& job, std::int64_t begin, std::int64_t end);

#define TSR_INTEGER_DEPTHWISE(isa)                                                              \
  namespace isa {                                                                               \
  void integer_depthwise(const IntegerDepthwiseJob& job, std::int64_t begin, std::int64_t end); \
  }
TSR_INTEGER_DEPTHWISE(portable)
#if defined(__x86_64__)
TSR_INTEGER_DEPTHWISE(avx2)
TSR_INTEGER_DEPTHWISE(avx512)
TSR_INTEGER_DEPTHWISE(avx512_vnni)
#endif
#undef TSR_INTEGER_DEPTHWISE

}  // namespace tessera::cpu
