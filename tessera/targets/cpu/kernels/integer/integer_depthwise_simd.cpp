// Depthwise convolutions of bytes for one instruction set. One pixel at a time, vectorised over channels.
//
// Plain: two taps of a channel side by side in the halves of an int32, times pairs of weights
// [pair of taps][channels, padded to whole vectors][2] in int16.
//
// VNNI: 64 channels at a time. The bytes of four taps are interleaved within 16-byte lanes, so that vector j of four
// holds channels 16 L + 4 j + 0..3 in its lane L; weights, bias and factors lie in that order, and packing the four
// vectors of results into one undoes it.
//
// Compiled for: portable avx2 avx512 avx512_vnni

#include "tessera/targets/cpu/kernels/integer/integer_depthwise.h"
#include "tessera/targets/cpu/kernels/integer/integer_epilogue_simd.h"

namespace tessera::cpu::TSR_ISA {
namespace {

constexpr std::ptrdiff_t kTaps = kGroup;  // that one product takes

// Where the taps of an output pixel lie, at channel 0; those in the padding lie there, and so does what fills up the
// last group.
TSR_INLINE std::ptrdiff_t point_taps(const IntegerDepthwiseJob& job, const std::byte* image, std::ptrdiff_t oy,
                                     std::ptrdiff_t ox, const std::byte** taps) {
  std::ptrdiff_t t = 0;
  const std::ptrdiff_t first = ox * job.stride_w - job.left;
  for (std::ptrdiff_t i = 0; i < job.kernel_h; ++i) {
    const std::ptrdiff_t y = oy * job.stride_h - job.top + i * job.dilation_h;
    const bool inside = y >= 0 && y < job.height;
    const std::byte* line = image + y * job.width * job.channels;
    for (std::ptrdiff_t j = 0; j < job.kernel_w; ++j, ++t) {
      const std::ptrdiff_t x = first + j * job.dilation_w;
      taps[t] = inside && x >= 0 && x < job.width ? line + x * job.channels : job.padding;
    }
  }
  for (; t % kTaps != 0; ++t) taps[t] = job.padding;
  return t;
}

#if defined(__AVX512VNNI__)

template <bool kFlips>
TSR_INLINE __m512i taps_of(const std::byte* at, __mmask64 mask, __m512i flip) {
  const __m512i bytes = _mm512_maskz_loadu_epi8(mask, at);
  return kFlips ? _mm512_xor_si512(bytes, flip) : bytes;
}

template <bool kFlips, bool kUnsigned>
TSR_INLINE void pixel(const IntegerDepthwiseJob& job, const Finisher& f, const std::byte* const* taps,
                      std::ptrdiff_t count, std::ptrdiff_t c_begin, std::ptrdiff_t c_end, std::byte* y) {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
  const WordFinisher words(*job.epilogue);
  for (std::ptrdiff_t c = c_begin; c < c_end; c += 64) {
    const std::ptrdiff_t left = c_end - c;
    const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    __m512i sums[4] = {_mm512_loadu_si512(job.bias + c), _mm512_loadu_si512(job.bias + c + 16),
                       _mm512_loadu_si512(job.bias + c + 32), _mm512_loadu_si512(job.bias + c + 48)};
    const std::byte* w = job.weights + c * count;
    for (std::ptrdiff_t t = 0; t < count; t += 4, w += 256) {
      const __m512i a = taps_of<kFlips>(taps[t] + c, mask, flip), b = taps_of<kFlips>(taps[t + 1] + c, mask, flip);
      const __m512i d = taps_of<kFlips>(taps[t + 2] + c, mask, flip), e = taps_of<kFlips>(taps[t + 3] + c, mask, flip);
      const __m512i ab = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
      const __m512i de = _mm512_unpacklo_epi8(d, e), de_high = _mm512_unpackhi_epi8(d, e);
      sums[0] = _mm512_dpbusd_epi32(sums[0], _mm512_unpacklo_epi16(ab, de), _mm512_loadu_si512(w));
      sums[1] = _mm512_dpbusd_epi32(sums[1], _mm512_unpackhi_epi16(ab, de), _mm512_loadu_si512(w + 64));
      sums[2] = _mm512_dpbusd_epi32(sums[2], _mm512_unpacklo_epi16(ab_high, de_high), _mm512_loadu_si512(w + 128));
      sums[3] = _mm512_dpbusd_epi32(sums[3], _mm512_unpackhi_epi16(ab_high, de_high), _mm512_loadu_si512(w + 192));
    }
    Ints q[4];
    __m512i low, high;
    if (job.within_int32) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) q[j] = to_int(to_float(Ints{sums[j]}) * Vec::load(job.factors + c + 16 * j));
      low = words.words(q[0], q[1]), high = words.words(q[2], q[3]);
    } else {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) q[j] = f.quantized({sums[j]}, Vec::load(job.factors + c + 16 * j)) + f.zero;
      low = _mm512_packs_epi32(q[0].v, q[1].v), high = _mm512_packs_epi32(q[2].v, q[3].v);
    }
    _mm512_mask_storeu_epi8(y + c, mask, kUnsigned ? _mm512_packus_epi16(low, high) : _mm512_packs_epi16(low, high));
  }
}

#else

template <bool kSign>
TSR_INLINE Ints tap_at(const std::byte* at, std::ptrdiff_t left) {
  return left >= Ints::kWidth ? Ints::load_bytes<kSign>(at) : Ints::load_bytes<kSign>(at, static_cast<int>(left));
}

template <bool kSign, bool kResidualSign>
TSR_INLINE void pixel(const IntegerDepthwiseJob& job, const Finisher& f, const std::byte* const* taps,
                      std::ptrdiff_t count, std::ptrdiff_t c_begin, std::ptrdiff_t c_end, std::byte* y,
                      const std::byte* residual) {
  constexpr std::ptrdiff_t kWidth = Ints::kWidth;
  const std::ptrdiff_t padded = (job.channels + kWidth - 1) / kWidth * kWidth;
  for (std::ptrdiff_t c = c_begin; c < c_end; c += kWidth) {
    const std::ptrdiff_t left = c_end - c;
    Ints sum = Ints::load(job.bias + c);
    const std::byte* w = job.weights + c * 4;
    for (std::ptrdiff_t t = 0; t < count; t += 2, w += padded * 4)
      sum = dot(sum, pairs(tap_at<kSign>(taps[t] + c, left), tap_at<kSign>(taps[t + 1] + c, left)), Ints::load(w));
    const int here = left >= kWidth ? static_cast<int>(kWidth) : static_cast<int>(left);
    if (!job.epilogue->requantizes) {
      sum.store(reinterpret_cast<std::int32_t*>(y) + c, here);
      continue;
    }
    const Ints q = f.quantized(sum, Vec::load(job.factors + c));
    const Ints out = residual == nullptr ? q + f.zero : f.added(q, tap_at<kResidualSign>(residual + c, left));
    if (left >= kWidth)
      out.store_bytes(y + c);
    else
      out.store_bytes(y + c, here);
  }
}

#endif

template <bool kFirst, bool kSecond>
void rows(const IntegerDepthwiseJob& job, std::int64_t begin, std::int64_t end) {
  const Finisher f(*job.epilogue);
  const std::byte* taps[kDepthwiseMostTaps + 4];
  const std::ptrdiff_t y_bytes = job.epilogue->requantizes ? 1 : 4;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::ptrdiff_t row = unit / job.chunks, chunk = unit % job.chunks;
    const std::ptrdiff_t c_begin = chunk * job.chunk,
                         c_end = chunk + 1 == job.chunks ? job.channels : c_begin + job.chunk;
    const std::byte* image = job.x + row / job.out_height * job.height * job.width * job.channels;
    for (std::ptrdiff_t ox = 0; ox < job.out_width; ++ox) {
      const std::ptrdiff_t count = point_taps(job, image, row % job.out_height, ox, taps);
      const std::ptrdiff_t at = (row * job.out_width + ox) * job.channels;
#if defined(__AVX512VNNI__)
      const std::ptrdiff_t first = ox * job.stride_w - job.left;
      const bool twins = job.twins && ox + 1 < job.out_width && first >= 0 &&
                         first + 1 + (job.kernel_w - 1) * job.dilation_w < job.width;
      pixel<kFirst, kSecond>(job, f, taps, count, c_begin, twins ? 64 : c_end, job.y + at);
      if (twins) ++ox;
#else
      pixel<kFirst, kSecond>(job, f, taps, count, c_begin, c_end, job.y + at * y_bytes,
                             job.residual == nullptr ? nullptr : job.residual + at);
#endif
    }
  }
#if defined(__AVX512VNNI__)
  (void)y_bytes;
#endif
}

}  // namespace

void integer_depthwise(const IntegerDepthwiseJob& job, std::int64_t begin, std::int64_t end) {
#if defined(__AVX512VNNI__)
  // Results that are not negative are those of uint8, or fit both types.
  const bool second = job.epilogue->low + static_cast<float>(job.epilogue->zero) >= 0;
#else
  const bool second = job.epilogue->residual_sign;
#endif
  if (job.x_sign)
    second ? rows<true, true>(job, begin, end) : rows<true, false>(job, begin, end);
  else
    second ? rows<false, true>(job, begin, end) : rows<false, false>(job, begin, end);
}

}  // namespace tessera::cpu::TSR_ISA
