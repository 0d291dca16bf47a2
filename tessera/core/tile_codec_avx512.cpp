// Tile kernels for AVX-512, 16 values (one block, one register) at a time, 16 blocks in flight.
//
// Packing a block float: the 16 largest exponents of 16 blocks come from one transposing tree of maxima instead of 16
// horizontal ones. The rounding of the definition (discard what the alignment shifts out, then nearest even) is done in
// floating point: scale by a power of two so that the bits to discard become the fraction, truncate, scale down so that
// the code becomes the integer part, convert. This is exact for shared exponents of 23 to 254; others take an integer
// path. Saturation comes from the saturating packs and one byte maximum per 64 codes.
// Large matrices are bound by memory. On one Zen 4 core a 4096 x 4096 matrix becomes bfloat8_b 1.5, bfloat4_b 1.45
// times as fast as memcpy copies it; the way back is 1.9 and 2.1 times as fast (tessera_core_bench).

#include "tessera/core/internal/float_vectors_avx512.h"
#include "tessera/core/internal/tile_kernels.h"

namespace tessera {
namespace {

constexpr int kBlocks = 16;
constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
constexpr int kTruncate = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
// How far ahead in the rows to ask for memory: the next tiles' blocks. Into the second-level cache: the rows of a tile
// are often a power of two apart and then fight for the same few lines of the first.
constexpr std::int64_t kAheadBytes = 1024;
// The same in tiles, which are read from end to end.
constexpr std::int64_t kAheadTileBytes = 2048;

alignas(64) constexpr unsigned char kZeros[64] = {};

template <bool stream>
inline void store(unsigned char* to, __m512i value) {
  if constexpr (stream)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), value);
  else
    _mm512_storeu_si512(to, value);
}

inline __m512 load_floats(const unsigned char* from) { return _mm512_loadu_ps(reinterpret_cast<const float*>(from)); }

// What the packer sees of float32 values: bfloat16, still in float32 bits.
inline __m512 to_packer(__m512 x) { return _mm512_castsi512_ps(_mm512_slli_epi32(bfloat16_packer(x), 16)); }

inline __m512i max_pairs_32(__m512i a, __m512i b) {
  return _mm512_max_epu16(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}

inline __m512i max_pairs_64(__m512i a, __m512i b) {
  return _mm512_max_epu16(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

// The largest exponent field of each of 16 blocks, block i in lane i. Works on the upper halves of the floats, two
// blocks to a register.
inline __m512i shared_exponents(const __m512 (&x)[kBlocks]) {
  __m512i m[8];
  for (int i = 0; i < 8; ++i) {
    const __m512i even = _mm512_srli_epi32(_mm512_castps_si512(x[2 * i]), 16), odd = _mm512_castps_si512(x[2 * i + 1]);
    m[i] = _mm512_and_si512(_mm512_mask_blend_epi16(0xAAAAAAAAu, even, odd), words(0x7FFF7FFF));
  }
  const __m512i low = max_pairs_64(max_pairs_32(m[0], m[1]), max_pairs_32(m[2], m[3]));
  const __m512i high = max_pairs_64(max_pairs_32(m[4], m[5]), max_pairs_32(m[6], m[7]));
  const __m512i lanes = _mm512_max_epu16(_mm512_shuffle_i64x2(low, high, 0x44), _mm512_shuffle_i64x2(low, high, 0xEE));
  const __m512i all =
      _mm512_max_epu16(_mm512_shuffle_i64x2(lanes, lanes, 0x88), _mm512_shuffle_i64x2(lanes, lanes, 0xDD));
  return _mm512_srli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(all)), 7);
}

// Codes of one block in integers, as the definition has it: for shared exponents that the fast path cannot scale by.
template <int width, bool packer>
inline __m128i codes_exact(__m512 x, int shared) {
  const __m512i u = _mm512_castps_si512(x);
  const __m512i exponent = _mm512_and_si512(_mm512_srli_epi32(u, 23), words(0xFF));
  const __m512i mantissa = _mm512_or_si512(_mm512_and_si512(u, words(0x7FFFFF)), words(0x800000));
  const __mmask16 normal = _mm512_test_epi32_mask(exponent, exponent);
  const __m512i aligned =
      _mm512_maskz_srlv_epi32(normal, mantissa, _mm512_sub_epi32(_mm512_set1_epi32(shared), exponent));
  __m512i magnitude;
  if constexpr (packer) {
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(aligned, 17), words(1));
    magnitude = _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(aligned, words((1u << 16) - 1)), odd), 17);
    magnitude = _mm512_srli_epi32(_mm512_min_epu32(magnitude, words(127)), 7 - width);
  } else {
    constexpr int kDrop = 24 - width;
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(aligned, kDrop), words(1));
    magnitude = _mm512_add_epi32(_mm512_add_epi32(aligned, words((1u << (kDrop - 1)) - 1)), odd);
    magnitude = _mm512_min_epu32(_mm512_srli_epi32(magnitude, kDrop), words((1u << width) - 1));
  }
  const __m512i sign = _mm512_slli_epi32(_mm512_srli_epi32(u, 31), width);
  const __mmask16 some = _mm512_test_epi32_mask(magnitude, magnitude);
  return _mm512_cvtepi32_epi8(_mm512_maskz_or_epi32(some, magnitude, sign));
}

// One block scaled and rounded to integers, before saturation.
template <int width, bool packer>
inline __m512i round_block(__m512 x, __m512 scale) {
  if constexpr (packer) {
    return _mm512_cvt_roundps_epi32(_mm512_mul_ps(x, scale), kNearest);
  } else {
    const __m512 kept = _mm512_roundscale_ps(_mm512_mul_ps(x, scale), kTruncate);
    return _mm512_cvt_roundps_epi32(_mm512_mul_ps(kept, _mm512_set1_ps(1.0f / static_cast<float>(1 << (24 - width)))),
                                    kNearest);
  }
}

// 64 signed bytes, saturated only by the packs, to codes: sign above magnitude.
template <int width, bool packer>
inline __m512i codes_of(__m512i q) {
  constexpr int kBits = packer ? 7 : width;  // the packer rounds to 7 bits and cuts later
  q = _mm512_max_epi8(q, _mm512_set1_epi8(-((1 << kBits) - 1)));
  if constexpr (kBits < 7) q = _mm512_min_epi8(q, _mm512_set1_epi8((1 << kBits) - 1));
  const __m512i magnitude = _mm512_abs_epi8(q);
  if constexpr (packer && width == 3) {
    const __m512i cut = _mm512_and_si512(_mm512_srli_epi16(magnitude, 4), _mm512_set1_epi8(7));
    const __m512i sign = _mm512_and_si512(_mm512_srli_epi16(q, 4), _mm512_set1_epi8(8));
    return _mm512_maskz_mov_epi8(_mm512_test_epi8_mask(cut, cut), _mm512_or_si512(cut, sign));
  } else {
    return _mm512_or_si512(magnitude, _mm512_and_si512(q, _mm512_set1_epi8(static_cast<char>(1 << width))));
  }
}

// 16 blocks to 16 exponents and 16 x 16 codes.
template <int width, bool packer, bool stream>
inline void encode(const __m512 (&x)[kBlocks], unsigned char* exponents, unsigned char* out) {
  constexpr int kScale = packer ? 127 + 127 + 6 : 127 + 127 + 23;  // of 2^(kScale - 127 - E): code or 24-bit units
  const __m512i shared = shared_exponents(x);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(exponents), _mm512_cvtepi32_epi8(shared));
  const __mmask16 some = _mm512_test_epi32_mask(shared, shared);
  const __mmask16 odd = _mm512_mask_cmpgt_epu32_mask(some, _mm512_sub_epi32(shared, words(23)), words(254 - 23));
  __m512i codes[4];
  if (odd == 0) {
    // A block of zeros and denormals (E = 0) is multiplied by 0.
    alignas(64) float scales[kBlocks];
    _mm512_store_si512(scales, _mm512_maskz_slli_epi32(some, _mm512_sub_epi32(words(kScale), shared), 23));
    const __m512i transpose = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      __m512i q[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) q[j] = round_block<width, packer>(x[4 * i + j], _mm512_set1_ps(scales[4 * i + j]));
      const __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3]));
      codes[i] = _mm512_permutexvar_epi32(transpose, codes_of<width, packer>(bytes));
    }
  } else {
    // Through memory on purpose: indexing x here would keep it in memory on the fast path too.
    alignas(64) float values[kBlocks * 16];
    alignas(64) unsigned char buffer[kBlocks * 16];
    alignas(64) int each[kBlocks];
    _mm512_store_si512(each, shared);
#pragma GCC unroll 16
    for (int i = 0; i < kBlocks; ++i) _mm512_store_ps(values + 16 * i, x[i]);
    for (int i = 0; i < kBlocks; ++i)
      _mm_store_si128(reinterpret_cast<__m128i*>(buffer + 16 * i),
                      codes_exact<width, packer>(_mm512_load_ps(values + 16 * i), each[i]));
    for (int i = 0; i < 4; ++i) codes[i] = _mm512_load_si512(buffer + 64 * i);
  }
  if constexpr (width == 7) {
    for (int i = 0; i < 4; ++i) store<stream>(out + 64 * i, codes[i]);
  } else {
    const __m512i nibbles = _mm512_set1_epi16(0x1001);  // even + 16 * odd
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (int i = 0; i < 2; ++i) {
      const __m512i packed = _mm512_packus_epi16(_mm512_maddubs_epi16(codes[2 * i], nibbles),
                                                 _mm512_maddubs_epi16(codes[2 * i + 1], nibbles));
      store<stream>(out + 64 * i, _mm512_permutexvar_epi64(order, packed));
    }
  }
}

template <int width, bool packer, bool stream>
void pack_block_floats(const TileRun& run) {
  constexpr int kCodeBytes = width == 7 ? 16 : 8;
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    const unsigned char* src = run.src + t * run.matrix_step_bytes;
    unsigned char* exponents = run.dst + t * run.tile_bytes;
    unsigned char* codes = exponents + run.exponent_bytes;
    for (int b = 0; b < run.blocks; b += kBlocks) {
      __m512 x[kBlocks];
      if (run.blocks >= kBlocks) {
#pragma GCC unroll 16
        for (int i = 0; i < kBlocks; ++i) {
          const unsigned char* row = src + run.offsets[b + i];
          _mm_prefetch(reinterpret_cast<const char*>(row) + kAheadBytes, _MM_HINT_T1);
          x[i] = load_floats(row);
          if constexpr (packer) x[i] = to_packer(x[i]);
        }
        encode<width, packer, stream>(x, exponents + b, codes + b * kCodeBytes);
      } else {
        alignas(64) unsigned char buffer[kBlocks * kCodeBytes];
#pragma GCC unroll 16
        for (int i = 0; i < kBlocks; ++i) {
          x[i] = load_floats(i < run.blocks ? src + run.offsets[i] : kZeros);
          if constexpr (packer) x[i] = to_packer(x[i]);
        }
        encode<width, packer, false>(x, exponents, buffer);
        __builtin_memcpy(codes, buffer, static_cast<unsigned long>(run.blocks * kCodeBytes));
      }
    }
  }
  if constexpr (stream) _mm_sfence();
}

// Magnitudes as floats, with their signs, times 2^(E - 127 - (width - 1)). Exact while every exponent stays normal.
template <int width>
inline __m512i decode(__m512 magnitude, __m512i sign, int shared) {
  if (static_cast<unsigned>(shared - width) <= static_cast<unsigned>(254 - width)) {
    const __m512 scale = _mm512_castsi512_ps(_mm512_set1_epi32((shared - (width - 1)) << 23));
    return _mm512_or_si512(_mm512_castps_si512(_mm512_mul_ps(magnitude, scale)), sign);
  }
  // The exponent field is adjusted as an integer: it may wrap into infinity, 0, or below (then all of it becomes +0).
  const __m512i bits = _mm512_castps_si512(magnitude);
  const __m512i moved = _mm512_add_epi32(bits, _mm512_set1_epi32((shared - 127 - (width - 1)) * (1 << 23)));
  const __mmask16 some = _mm512_test_epi32_mask(bits, bits), below = _mm512_movepi32_mask(moved) & some;
  return _mm512_maskz_or_epi32(static_cast<__mmask16>(~below), _mm512_maskz_mov_epi32(some, moved), sign);
}

template <bool stream>
void unpack_bfloat8(const TileRun& run) {
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    const unsigned char* exponents = run.src + t * run.tile_bytes;
    const unsigned char* codes = exponents + run.exponent_bytes;
    unsigned char* dst = run.dst + t * run.matrix_step_bytes;
    for (int b = 0; b < run.blocks; ++b) {
      const __m512i code = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + 16 * b)));
      const __m512 magnitude = _mm512_cvtepi32_ps(_mm512_and_si512(code, words(0x7F)));
      const __m512i sign = _mm512_slli_epi32(_mm512_srli_epi32(code, 7), 31);
      store<stream>(dst + run.offsets[b], decode<7>(magnitude, sign, exponents[b]));
    }
  }
  if constexpr (stream) _mm_sfence();
}

template <bool stream>
void unpack_bfloat4(const TileRun& run) {
  const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
  const __m512 table = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
  const __m512i halves = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    const unsigned char* exponents = run.src + t * run.tile_bytes;
    const unsigned char* codes = exponents + run.exponent_bytes;
    unsigned char* dst = run.dst + t * run.matrix_step_bytes;
    for (int b = 0; b < run.blocks; ++b) {
      const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + 8 * b));
      const __m512i code = _mm512_srlv_epi32(_mm512_permutexvar_epi32(halves, _mm512_castsi128_si512(eight)), shifts);
      const __m512 magnitude = _mm512_permutexvar_ps(code, table);  // looks at the lowest four bits only
      const __m512i sign = _mm512_and_si512(_mm512_slli_epi32(code, 28), words(0x80000000u));
      store<stream>(dst + run.offsets[b], decode<3>(magnitude, sign, exponents[b]));
    }
  }
  if constexpr (stream) _mm_sfence();
}

struct Bfloat16Host {
  static __m256i encode(__m512 x) { return _mm512_cvtepi32_epi16(bfloat16_host(x)); }
};
struct Bfloat16Packer {
  static __m256i encode(__m512 x) { return _mm512_cvtepi32_epi16(bfloat16_packer(x)); }
};
struct Bfloat16 {
  static __m512 decode(__m256i bits) { return from_bfloat16(bits); }
};
struct Float16 {
  static __m256i encode(__m512 x) { return float16(x); }
  static __m512 decode(__m256i bits) { return from_float16(bits); }
};

template <class Format, bool stream>
void pack_halves(const TileRun& run) {
  for (std::int64_t t = 0; t < run.tiles; ++t)
    for (int b = 0; b < run.blocks; ++b) {
      const unsigned char* row = run.src + t * run.matrix_step_bytes + run.offsets[b];
      _mm_prefetch(reinterpret_cast<const char*>(row) + kAheadBytes, _MM_HINT_T1);
      auto* to = reinterpret_cast<__m256i*>(run.dst + t * run.tile_bytes + 32 * b);
      const __m256i halves = Format::encode(load_floats(row));
      stream ? _mm256_stream_si256(to, halves) : _mm256_storeu_si256(to, halves);
    }
  if constexpr (stream) _mm_sfence();
}

template <class Format, bool stream>
void unpack_halves(const TileRun& run) {
  for (std::int64_t t = 0; t < run.tiles; ++t)
    for (int b = 0; b < run.blocks; ++b) {
      const __m256i halves =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(run.src + t * run.tile_bytes + 32 * b));
      store<stream>(run.dst + t * run.matrix_step_bytes + run.offsets[b], _mm512_castps_si512(Format::decode(halves)));
    }
  if constexpr (stream) _mm_sfence();
}

// One block of 64, 32 or 16 bytes.
template <int bytes, bool stream>
inline void move_block(const unsigned char* from, unsigned char* to) {
  if constexpr (bytes == 64) {
    store<stream>(to, _mm512_loadu_si512(from));
  } else if constexpr (bytes == 32) {
    const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    stream ? _mm256_stream_si256(reinterpret_cast<__m256i*>(to), value)
           : _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
  } else {
    const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    stream ? _mm_stream_si128(reinterpret_cast<__m128i*>(to), value)
           : _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
  }
}

template <int bytes, bool stream>
void to_tiles(const TileRun& run) {
  for (std::int64_t t = 0; t < run.tiles; ++t)
    for (int b = 0; b < run.blocks; ++b) {
      const unsigned char* row = run.src + t * run.matrix_step_bytes + run.offsets[b];
      _mm_prefetch(reinterpret_cast<const char*>(row) + kAheadBytes, _MM_HINT_T1);
      move_block<bytes, stream>(row, run.dst + t * run.tile_bytes + bytes * b);
    }
  if constexpr (stream) _mm_sfence();
}

// Blocks of less than a cache line: faces side by side are written together, so that streamed stores fill whole lines.
template <int bytes, bool stream>
void from_tiles(const TileRun& run) {
  const int side_by_side = bytes == 64 ? 1 : run.faces_across;
  const int band = run.face_blocks * side_by_side;
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    const unsigned char* tile = run.src + t * run.tile_bytes;
    unsigned char* dst = run.dst + t * run.matrix_step_bytes;
    for (int first = 0; first < run.blocks; first += band)
      for (int r = first; r < first + run.face_blocks; ++r)
        for (int b = r; b < first + band; b += run.face_blocks) {
          _mm_prefetch(reinterpret_cast<const char*>(tile) + bytes * b + kAheadTileBytes, _MM_HINT_T1);
          move_block<bytes, stream>(tile + bytes * b, dst + run.offsets[b]);
        }
  }
  if constexpr (stream) _mm_sfence();
}

}  // namespace

#define TSR_STREAM_OR_NOT(function, ...) \
  (run.stream ? function<__VA_ARGS__, true>(run) : function<__VA_ARGS__, false>(run))

void pack_bfp8_host_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 7, false); }
void pack_bfp8_packer_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 7, true); }
void pack_bfp4_host_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 3, false); }
void pack_bfp4_packer_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 3, true); }
void pack_bf16_host_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_halves, Bfloat16Host); }
void pack_bf16_packer_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_halves, Bfloat16Packer); }
void pack_f16_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_halves, Float16); }
void unpack_bfp8_avx512(const TileRun& run) noexcept {
  run.stream ? unpack_bfloat8<true>(run) : unpack_bfloat8<false>(run);
}
void unpack_bfp4_avx512(const TileRun& run) noexcept {
  run.stream ? unpack_bfloat4<true>(run) : unpack_bfloat4<false>(run);
}
void unpack_bf16_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(unpack_halves, Bfloat16); }
void unpack_f16_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(unpack_halves, Float16); }
void tilize_4_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(to_tiles, 64); }
void tilize_2_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(to_tiles, 32); }
void tilize_1_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(to_tiles, 16); }
void untilize_4_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(from_tiles, 64); }
void untilize_2_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(from_tiles, 32); }
void untilize_1_avx512(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(from_tiles, 16); }

}  // namespace tessera
