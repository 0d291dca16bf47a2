#include "tessera/simd/bytes.h"
#include "tessera/targets/cpu/kernels/integer/integer_epilogue_simd.h"
#include "tessera/targets/cpu/kernels/quantize/quantize_bytes.h"

namespace tessera::cpu::TSR_ISA {
namespace {

template <bool kASign, bool kBSign>
void add(const std::byte* a, const std::byte* b, const IntegerEpilogue& epilogue, std::int64_t n, std::byte* y) {
  constexpr std::int64_t kWidth = Ints::kWidth;
  const Finisher f(epilogue);
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth)
    f.added(Ints::load_bytes<kASign>(a + i), Ints::load_bytes<kBSign>(b + i)).store_bytes(y + i);
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    f.added(Ints::load_bytes<kASign>(a + i, rest), Ints::load_bytes<kBSign>(b + i, rest)).store_bytes(y + i, rest);
  }
}

template <bool kSign>
void average(const std::byte* x, std::int64_t pixels, std::int64_t stride, std::int64_t n, std::int32_t less,
             float factor, const IntegerEpilogue& epilogue, std::byte* y) {
  constexpr std::int64_t kWidth = Ints::kWidth;
  const Finisher f(epilogue);
  const Vec factors = Vec::all(factor);
  for (std::int64_t i = 0; i < n; i += kWidth) {
    const int here = n - i < kWidth ? static_cast<int>(n - i) : static_cast<int>(kWidth);
    Ints sum = Ints::all(static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(less)));
    const std::byte* at = x + i;
    if (here == kWidth)
      for (std::int64_t p = 0; p < pixels; ++p, at += stride) sum = sum + Ints::load_bytes<kSign>(at);
    else
      for (std::int64_t p = 0; p < pixels; ++p, at += stride) sum = sum + Ints::load_bytes<kSign>(at, here);
    (f.quantized(sum, factors) + f.zero).store_bytes(y + i, here);
  }
}

template <bool kSign>
void max_pool(const PoolJob& job, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const PoolSpan& row = job.rows[r % job.out_height];
    const auto* image =
        static_cast<const std::byte*>(job.x) + r / job.out_height * job.height * job.width * job.channels;
    auto* y = static_cast<std::byte*>(job.y) + r * job.out_width * job.channels;
    for (std::int64_t o = 0; o < job.out_width; ++o, y += job.channels) {
      const PoolSpan& column = job.columns[o];
      for (std::int64_t c = 0; c < job.channels; c += Bytes::kWidth) {
        const std::int64_t left = job.channels - c;
        Bytes best = Bytes::all(kSign ? -128 : 0);
        for (std::int64_t i = 0; i < row.count; ++i) {
          const std::byte* x = image + ((row.first + i * job.dilation_h) * job.width + column.first) * job.channels + c;
          for (std::int64_t j = 0; j < column.count; ++j, x += job.dilation_w * job.channels)
            best = larger<kSign>(best, Bytes::load(x, left));
        }
        best.store(y + c, left);
      }
    }
  }
}

}  // namespace

void add_bytes(const std::byte* a, bool a_sign, const std::byte* b, const IntegerEpilogue& epilogue, std::int64_t n,
               std::byte* y) {
  if (a_sign)
    epilogue.residual_sign ? add<true, true>(a, b, epilogue, n, y) : add<true, false>(a, b, epilogue, n, y);
  else
    epilogue.residual_sign ? add<false, true>(a, b, epilogue, n, y) : add<false, false>(a, b, epilogue, n, y);
}

void average_bytes(const std::byte* x, bool has_sign, std::int64_t pixels, std::int64_t stride, std::int64_t n,
                   std::int32_t less, float factor, const IntegerEpilogue& epilogue, std::byte* y) {
  (has_sign ? average<true> : average<false>)(x, pixels, stride, n, less, factor, epilogue, y);
}

void max_pool_bytes(const PoolJob& job, std::int64_t begin, std::int64_t end) {
  (job.has_sign ? max_pool<true> : max_pool<false>)(job, begin, end);
}

}  // namespace tessera::cpu::TSR_ISA
