// Transposes in registers: squares of 16 x 16 (AVX-512), 8 x 8 (AVX2) and 4 x 4 elements of 4 bytes, 8 x 8 of 2 bytes;
// what is over goes element by element. Images of three channels, what most networks are given, have a loop of their
// own. Bounded by memory: every line is read and written whole.

#include "tessera/simd/transpose.h"
#include "tessera/targets/cpu/kernels/move/transpose.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

template <class T>
TSR_INLINE void transpose_elements(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
                                   std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
}

#if defined(__AVX2__)

TSR_INLINE void transpose_4x4(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
  __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + from_stride), c = _mm_loadu_ps(from + 2 * from_stride),
         d = _mm_loadu_ps(from + 3 * from_stride);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + to_stride, b);
  _mm_storeu_ps(to + 2 * to_stride, c);
  _mm_storeu_ps(to + 3 * to_stride, d);
}

TSR_INLINE void transpose_8x8(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
  __m256 r[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(from + i * from_stride);
  transpose_registers(r);
  for (int i = 0; i < 8; ++i) _mm256_storeu_ps(to + i * to_stride, r[i]);
}

// rows == 3. Every store writes one number too many, which the next one corrects; the last pixel goes alone.
inline void interleave_three(const float* from, std::int64_t from_stride, float* to, std::int64_t columns) {
  std::int64_t c = 0;
  for (; c + 5 <= columns; c += 4) {
    __m128 x = _mm_loadu_ps(from + c), y = _mm_loadu_ps(from + from_stride + c),
           z = _mm_loadu_ps(from + 2 * from_stride + c), none = _mm_setzero_ps();
    _MM_TRANSPOSE4_PS(x, y, z, none);
    _mm_storeu_ps(to + 3 * c, x);
    _mm_storeu_ps(to + 3 * c + 3, y);
    _mm_storeu_ps(to + 3 * c + 6, z);
    _mm_storeu_ps(to + 3 * c + 9, none);
  }
  for (; c < columns; ++c)
    for (int r = 0; r < 3; ++r) to[3 * c + r] = from[r * from_stride + c];
}

TSR_INLINE void transpose_8x8(const std::uint16_t* from, std::int64_t from_stride, std::uint16_t* to,
                              std::int64_t to_stride) {
  __m128i r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_stride));
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm_unpacklo_epi32(t[i], t[i + 2]);  // columns 0 and 1 of four rows
    r[i + 1] = _mm_unpackhi_epi32(t[i], t[i + 2]);
    r[i + 2] = _mm_unpacklo_epi32(t[i + 1], t[i + 3]);
    r[i + 3] = _mm_unpackhi_epi32(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * i * to_stride), _mm_unpacklo_epi64(r[i], r[4 + i]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + (2 * i + 1) * to_stride), _mm_unpackhi_epi64(r[i], r[4 + i]));
  }
}

#endif

#if defined(__AVX512F__)

TSR_INLINE void transpose_16x16(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
  __m512 r[16];
  for (int i = 0; i < 16; ++i) r[i] = _mm512_loadu_ps(from + i * from_stride);
  transpose_registers(r);
  for (int i = 0; i < 16; ++i) _mm512_storeu_ps(to + i * to_stride, r[i]);
}

#endif

// Squares of kSide, the rest left to the caller's next smaller squares.
template <int kSide, class T, class Square, class Rest>
TSR_INLINE void transpose_squares(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
                                  std::int64_t rows, std::int64_t columns, Square square, Rest rest) {
  const std::int64_t whole_rows = rows / kSide * kSide, whole_columns = columns / kSide * kSide;
  for (std::int64_t r = 0; r < whole_rows; r += kSide)
    for (std::int64_t c = 0; c < whole_columns; c += kSide)
      square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
  if (whole_columns < columns)
    rest(from + whole_columns, from_stride, to + whole_columns * to_stride, to_stride, whole_rows,
         columns - whole_columns);
  if (whole_rows < rows)
    rest(from + whole_rows * from_stride, from_stride, to + whole_rows, to_stride, rows - whole_rows, columns);
}

template <class T>
void transpose_blocked(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
                       std::int64_t columns) {
  constexpr std::int64_t kBlock = 16;  // a square that stays in the first cache
  for (std::int64_t r = 0; r < rows; r += kBlock)
    for (std::int64_t c = 0; c < columns; c += kBlock)
      transpose_elements(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride,
                         rows - r < kBlock ? rows - r : kBlock, columns - c < kBlock ? columns - c : kBlock);
}

#if defined(__AVX2__)

void transpose_words(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride, std::int64_t rows,
                     std::int64_t columns) {
  if (rows == 3 && to_stride == 3) return interleave_three(from, from_stride, to, columns);
  const auto fours = [](const float* f, std::int64_t fs, float* t, std::int64_t ts, std::int64_t n, std::int64_t m) {
    transpose_squares<4>(f, fs, t, ts, n, m, transpose_4x4, transpose_elements<float>);
  };
  const auto eight = [](const float* f, std::int64_t fs, float* t, std::int64_t ts) { transpose_8x8(f, fs, t, ts); };
#if defined(__AVX512F__)
  const auto eights = [&](const float* f, std::int64_t fs, float* t, std::int64_t ts, std::int64_t n, std::int64_t m) {
    transpose_squares<8>(f, fs, t, ts, n, m, eight, fours);
  };
  transpose_squares<16>(from, from_stride, to, to_stride, rows, columns, transpose_16x16, eights);
#else
  transpose_squares<8>(from, from_stride, to, to_stride, rows, columns, eight, fours);
#endif
}

void transpose_halves(const std::uint16_t* from, std::int64_t from_stride, std::uint16_t* to, std::int64_t to_stride,
                      std::int64_t rows, std::int64_t columns) {
  const auto eight = [](const std::uint16_t* f, std::int64_t fs, std::uint16_t* t, std::int64_t ts) {
    transpose_8x8(f, fs, t, ts);
  };
  transpose_squares<8>(from, from_stride, to, to_stride, rows, columns, eight, transpose_elements<std::uint16_t>);
}

#else

void transpose_words(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride, std::int64_t rows,
                     std::int64_t columns) {
  // As whole numbers: a signalling NaN must stay one.
  transpose_blocked(reinterpret_cast<const std::uint32_t*>(from), from_stride, reinterpret_cast<std::uint32_t*>(to),
                    to_stride, rows, columns);
}
void transpose_halves(const std::uint16_t* from, std::int64_t from_stride, std::uint16_t* to, std::int64_t to_stride,
                      std::int64_t rows, std::int64_t columns) {
  transpose_blocked(from, from_stride, to, to_stride, rows, columns);
}

#endif

}  // namespace

void transpose(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
               std::int64_t rows, std::int64_t columns, std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return transpose_blocked(reinterpret_cast<const std::uint8_t*>(from), from_stride,
                               reinterpret_cast<std::uint8_t*>(to), to_stride, rows, columns);
    case 2:
      return transpose_halves(reinterpret_cast<const std::uint16_t*>(from), from_stride,
                              reinterpret_cast<std::uint16_t*>(to), to_stride, rows, columns);
    case 4:
      return transpose_words(reinterpret_cast<const float*>(from), from_stride, reinterpret_cast<float*>(to), to_stride,
                             rows, columns);
    default:
      return transpose_blocked(reinterpret_cast<const std::uint64_t*>(from), from_stride,
                               reinterpret_cast<std::uint64_t*>(to), to_stride, rows, columns);
  }
}

}  // namespace tessera::cpu::TSR_ISA
