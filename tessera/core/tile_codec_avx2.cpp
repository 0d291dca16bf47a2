// Tile kernels for AVX2, 8 blocks of 16 values at a time, by the same method as for AVX-512 (tile_codec_avx512.cpp):
// largest exponents by a transposing tree of maxima, rounding in floating point where the shared exponent allows it.
// Relies on the default rounding mode, nearest even. On one Zen 4 core packing a 4096 x 4096 matrix to block floats
// is 1.15 times as fast as a memcpy of it.

#include "tessera/core/internal/float_vectors_avx2.h"
#include "tessera/core/internal/tile_kernels.h"

namespace tessera {
namespace {

constexpr int kBlocks = 8;
constexpr int kTruncate = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
// How far ahead in the rows to ask for memory: the next tiles' blocks. Into the second-level cache: the rows of a tile
// are often a power of two apart and then fight for the same few lines of the first.
constexpr std::int64_t kAheadBytes = 1024;
// The same in tiles, which are read from end to end.
constexpr std::int64_t kAheadTileBytes = 2048;

alignas(64) constexpr unsigned char kZeros[64] = {};

template <bool stream>
inline void store(unsigned char* to, __m256i value) {
  if constexpr (stream)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), value);
  else
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}

inline __m256 load_floats(const unsigned char* from) { return _mm256_loadu_ps(reinterpret_cast<const float*>(from)); }

inline __m256i max_pairs_16(__m256i a, __m256i b) {
  return _mm256_max_epu16(_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
}
inline __m256i max_pairs_32(__m256i a, __m256i b) {
  return _mm256_max_epu16(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}
inline __m256i max_pairs_64(__m256i a, __m256i b) {
  return _mm256_max_epu16(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}

// The largest exponent field of each of 8 blocks, block i in word i. Works on the upper halves of the floats.
inline __m128i shared_exponents(const unsigned char* const (&rows)[kBlocks]) {
  __m256i m[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    const __m256i low = _mm256_srli_epi32(_mm256_castps_si256(load_floats(rows[i])), 16);
    const __m256i high = _mm256_castps_si256(load_floats(rows[i] + 32));
    m[i] = _mm256_and_si256(_mm256_blend_epi16(low, high, 0xAA), words(0x7FFF7FFF));
  }
  const __m256i low = max_pairs_32(max_pairs_16(m[0], m[1]), max_pairs_16(m[2], m[3]));
  const __m256i high = max_pairs_32(max_pairs_16(m[4], m[5]), max_pairs_16(m[6], m[7]));
  const __m256i lanes = max_pairs_64(low, high);
  return _mm_srli_epi16(_mm_max_epu16(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1)), 7);
}

// Codes of half a block in integers, as the definition has it: for shared exponents that the fast path cannot scale by.
template <int width, bool packer>
inline __m256i codes_exact(__m256 x, int shared) {
  const __m256i u = _mm256_castps_si256(x), zero = _mm256_setzero_si256();
  const __m256i exponent = _mm256_and_si256(_mm256_srli_epi32(u, 23), words(0xFF));
  const __m256i hidden = _mm256_or_si256(_mm256_and_si256(u, words(0x7FFFFF)), words(0x800000));
  const __m256i mantissa = _mm256_andnot_si256(_mm256_cmpeq_epi32(exponent, zero), hidden);
  const __m256i aligned = _mm256_srlv_epi32(mantissa, _mm256_sub_epi32(_mm256_set1_epi32(shared), exponent));
  __m256i magnitude;
  if constexpr (packer) {
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(aligned, 17), words(1));
    magnitude = _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(aligned, words((1u << 16) - 1)), odd), 17);
    magnitude = _mm256_srli_epi32(_mm256_min_epu32(magnitude, words(127)), 7 - width);
  } else {
    constexpr int kDrop = 24 - width;
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(aligned, kDrop), words(1));
    magnitude = _mm256_add_epi32(_mm256_add_epi32(aligned, words((1u << (kDrop - 1)) - 1)), odd);
    magnitude = _mm256_min_epu32(_mm256_srli_epi32(magnitude, kDrop), words((1u << width) - 1));
  }
  const __m256i sign = _mm256_slli_epi32(_mm256_srli_epi32(u, 31), width);
  return _mm256_andnot_si256(_mm256_cmpeq_epi32(magnitude, zero), _mm256_or_si256(magnitude, sign));
}

// Half a block scaled and rounded to integers, before saturation.
template <int width, bool packer>
inline __m256i round_half(__m256 x, __m256 scale) {
  const __m256 y = _mm256_mul_ps(x, scale);
  if constexpr (packer) {
    return _mm256_cvtps_epi32(y);
  } else {
    const __m256 kept = _mm256_round_ps(y, kTruncate);
    return _mm256_cvtps_epi32(_mm256_mul_ps(kept, _mm256_set1_ps(1.0f / static_cast<float>(1 << (24 - width)))));
  }
}

// 32 signed bytes, saturated only by the packs, to codes: sign above magnitude.
template <int width, bool packer>
inline __m256i codes_of(__m256i q) {
  constexpr int kBits = packer ? 7 : width;  // the packer rounds to 7 bits and cuts later
  q = _mm256_max_epi8(q, _mm256_set1_epi8(-((1 << kBits) - 1)));
  if constexpr (kBits < 7) q = _mm256_min_epi8(q, _mm256_set1_epi8((1 << kBits) - 1));
  const __m256i magnitude = _mm256_abs_epi8(q);
  if constexpr (packer && width == 3) {
    const __m256i cut = _mm256_and_si256(_mm256_srli_epi16(magnitude, 4), _mm256_set1_epi8(7));
    const __m256i sign = _mm256_and_si256(_mm256_srli_epi16(q, 4), _mm256_set1_epi8(8));
    return _mm256_andnot_si256(_mm256_cmpeq_epi8(cut, _mm256_setzero_si256()), _mm256_or_si256(cut, sign));
  } else {
    return _mm256_or_si256(magnitude, _mm256_and_si256(q, _mm256_set1_epi8(static_cast<char>(1 << width))));
  }
}

// 8 blocks to 8 exponents and 8 x 16 codes.
template <int width, bool packer, bool stream>
inline void encode(const unsigned char* const (&rows)[kBlocks], unsigned char* exponents, unsigned char* out) {
  constexpr int kScale = packer ? 127 + 127 + 6 : 127 + 127 + 23;  // of 2^(kScale - 127 - E): code or 24-bit units
  const __m128i shared_words = shared_exponents(rows);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(exponents), _mm_packus_epi16(shared_words, shared_words));
  const __m256i shared = _mm256_cvtepu16_epi32(shared_words);
  const __m256i none = _mm256_cmpeq_epi32(shared, _mm256_setzero_si256());
  const __m256i odd = _mm256_or_si256(_mm256_cmpgt_epi32(words(23), shared), _mm256_cmpgt_epi32(shared, words(254)));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  __m256i codes[4];
  if (_mm256_testc_si256(none, odd)) {
    // A block of zeros and denormals (E = 0) is multiplied by 0.
    alignas(32) float scales[kBlocks];
    const __m256i scale = _mm256_slli_epi32(_mm256_sub_epi32(words(kScale), shared), 23);
    _mm256_store_si256(reinterpret_cast<__m256i*>(scales), _mm256_andnot_si256(none, scale));
    for (int i = 0; i < 4; ++i) {
      __m256i q[2];
      for (int j = 0; j < 2; ++j) {
        const __m256 each = _mm256_broadcast_ss(scales + 2 * i + j);
        q[j] = _mm256_packs_epi32(round_half<width, packer>(load_floats(rows[2 * i + j]), each),
                                  round_half<width, packer>(load_floats(rows[2 * i + j] + 32), each));
      }
      codes[i] = _mm256_permutevar8x32_epi32(codes_of<width, packer>(_mm256_packs_epi16(q[0], q[1])), order);
    }
  } else {
    alignas(32) int each[kBlocks];
    _mm256_store_si256(reinterpret_cast<__m256i*>(each), shared);
    for (int i = 0; i < 4; ++i) {
      __m256i q[2];
      for (int j = 0; j < 2; ++j)
        q[j] = _mm256_packus_epi32(codes_exact<width, packer>(load_floats(rows[2 * i + j]), each[2 * i + j]),
                                   codes_exact<width, packer>(load_floats(rows[2 * i + j] + 32), each[2 * i + j]));
      codes[i] = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(q[0], q[1]), order);
    }
  }
  if constexpr (width == 7) {
    for (int i = 0; i < 4; ++i) store<stream>(out + 32 * i, codes[i]);
  } else {
    const __m256i nibbles = _mm256_set1_epi16(0x1001);  // even + 16 * odd
    for (int i = 0; i < 2; ++i) {
      const __m256i packed = _mm256_packus_epi16(_mm256_maddubs_epi16(codes[2 * i], nibbles),
                                                 _mm256_maddubs_epi16(codes[2 * i + 1], nibbles));
      store<stream>(out + 32 * i, _mm256_permute4x64_epi64(packed, 0xD8));
    }
  }
}

// Points the rows at what the packer sees of them: bfloat16, still in float32 bits.
inline void to_packer(const unsigned char* (&rows)[kBlocks], unsigned char* buffer) {
  for (int i = 0; i < kBlocks; ++i) {
    for (int half = 0; half < 64; half += 32)
      store<false>(buffer + 64 * i + half, _mm256_slli_epi32(bfloat16_packer(load_floats(rows[i] + half)), 16));
    rows[i] = buffer + 64 * i;
  }
}

template <int width, bool packer, bool stream>
void pack_block_floats(const TileRun& run) {
  constexpr int kCodeBytes = width == 7 ? 16 : 8;
  alignas(64) unsigned char rounded[kBlocks * 64];
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    const unsigned char* src = run.src + t * run.matrix_step_bytes;
    unsigned char* exponents = run.dst + t * run.tile_bytes;
    unsigned char* codes = exponents + run.exponent_bytes;
    const unsigned char* rows[kBlocks];
    if (run.blocks >= kBlocks) {
      for (int b = 0; b < run.blocks; b += kBlocks) {
        for (int i = 0; i < kBlocks; ++i) {
          rows[i] = src + run.offsets[b + i];
          _mm_prefetch(reinterpret_cast<const char*>(rows[i]) + kAheadBytes, _MM_HINT_T1);
        }
        if constexpr (packer) to_packer(rows, rounded);
        encode<width, packer, stream>(rows, exponents + b, codes + b * kCodeBytes);
      }
    } else {
      alignas(64) unsigned char buffer[kBlocks * kCodeBytes];
      for (int i = 0; i < kBlocks; ++i) rows[i] = i < run.blocks ? src + run.offsets[i] : kZeros;
      if constexpr (packer) to_packer(rows, rounded);
      encode<width, packer, false>(rows, exponents, buffer);
      __builtin_memcpy(codes, buffer, static_cast<unsigned long>(run.blocks * kCodeBytes));
    }
    // The section of exponents is padded to 16 bytes.
    if (run.blocks <= kBlocks) __builtin_memset(exponents + kBlocks, 0, 8);
  }
  if constexpr (stream) _mm_sfence();
}

// Magnitudes as floats, with their signs, times 2^(E - 127 - (width - 1)). Exact while every exponent stays normal.
template <int width>
inline __m256i decode(__m256 magnitude, __m256i sign, int shared) {
  if (static_cast<unsigned>(shared - width) <= static_cast<unsigned>(254 - width)) {
    const __m256 scale = _mm256_castsi256_ps(_mm256_set1_epi32((shared - (width - 1)) << 23));
    return _mm256_or_si256(_mm256_castps_si256(_mm256_mul_ps(magnitude, scale)), sign);
  }
  // The exponent field is adjusted as an integer: it may wrap into infinity, 0, or below (then all of it becomes +0).
  const __m256i bits = _mm256_castps_si256(magnitude), zero = _mm256_setzero_si256();
  const __m256i moved = _mm256_add_epi32(bits, _mm256_set1_epi32((shared - 127 - (width - 1)) * (1 << 23)));
  const __m256i none = _mm256_cmpeq_epi32(bits, zero);
  const __m256i below = _mm256_andnot_si256(none, _mm256_cmpgt_epi32(zero, moved));
  return _mm256_andnot_si256(below, _mm256_or_si256(_mm256_andnot_si256(none, moved), sign));
}

template <bool stream>
void unpack_bfloat8(const TileRun& run) {
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    const unsigned char* exponents = run.src + t * run.tile_bytes;
    const unsigned char* codes = exponents + run.exponent_bytes;
    unsigned char* dst = run.dst + t * run.matrix_step_bytes;
    for (int b = 0; b < run.blocks; ++b)
      for (int half = 0; half < 2; ++half) {
        const __m256i code =
            _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + 16 * b + 8 * half)));
        const __m256 magnitude = _mm256_cvtepi32_ps(_mm256_and_si256(code, words(0x7F)));
        const __m256i sign = _mm256_slli_epi32(_mm256_srli_epi32(code, 7), 31);
        store<stream>(dst + run.offsets[b] + 32 * half, decode<7>(magnitude, sign, exponents[b]));
      }
  }
  if constexpr (stream) _mm_sfence();
}

template <bool stream>
void unpack_bfloat4(const TileRun& run) {
  const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
  const __m256 table = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    const unsigned char* exponents = run.src + t * run.tile_bytes;
    const unsigned char* codes = exponents + run.exponent_bytes;
    unsigned char* dst = run.dst + t * run.matrix_step_bytes;
    for (int b = 0; b < run.blocks; ++b)
      for (int half = 0; half < 2; ++half) {
        int eight;
        __builtin_memcpy(&eight, codes + 8 * b + 4 * half, 4);
        const __m256i code = _mm256_srlv_epi32(_mm256_set1_epi32(eight), shifts);
        const __m256 magnitude = _mm256_permutevar8x32_ps(table, code);  // looks at the lowest three bits only
        const __m256i sign = _mm256_and_si256(_mm256_slli_epi32(code, 28), words(0x80000000u));
        store<stream>(dst + run.offsets[b] + 32 * half, decode<3>(magnitude, sign, exponents[b]));
      }
  }
  if constexpr (stream) _mm_sfence();
}

struct Bfloat16Host {
  static __m256i encode(__m256 low, __m256 high) { return join(bfloat16_host(low), bfloat16_host(high)); }
};
struct Bfloat16Packer {
  static __m256i encode(__m256 low, __m256 high) { return join(bfloat16_packer(low), bfloat16_packer(high)); }
};
struct Bfloat16 {
  static __m256 decode(__m128i bits) { return from_bfloat16(bits); }
};
struct Float16 {
  static __m256i encode(__m256 low, __m256 high) { return _mm256_set_m128i(float16(high), float16(low)); }
  static __m256 decode(__m128i bits) { return from_float16(bits); }
};

template <class Format, bool stream>
void pack_halves(const TileRun& run) {
  for (std::int64_t t = 0; t < run.tiles; ++t)
    for (int b = 0; b < run.blocks; ++b) {
      const unsigned char* row = run.src + t * run.matrix_step_bytes + run.offsets[b];
      _mm_prefetch(reinterpret_cast<const char*>(row) + kAheadBytes, _MM_HINT_T1);
      store<stream>(run.dst + t * run.tile_bytes + 32 * b, Format::encode(load_floats(row), load_floats(row + 32)));
    }
  if constexpr (stream) _mm_sfence();
}

template <class Format, bool stream>
void unpack_halves(const TileRun& run) {
  for (std::int64_t t = 0; t < run.tiles; ++t)
    for (int b = 0; b < run.blocks; ++b)
      for (int half = 0; half < 2; ++half) {
        const auto* halves = reinterpret_cast<const __m128i*>(run.src + t * run.tile_bytes + 32 * b + 16 * half);
        store<stream>(run.dst + t * run.matrix_step_bytes + run.offsets[b] + 32 * half,
                      _mm256_castps_si256(Format::decode(_mm_loadu_si128(halves))));
      }
  if constexpr (stream) _mm_sfence();
}

// One block of 64, 32 or 16 bytes.
template <int bytes, bool stream>
inline void move_block(const unsigned char* from, unsigned char* to) {
  if constexpr (bytes == 16) {
    const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    stream ? _mm_stream_si128(reinterpret_cast<__m128i*>(to), value)
           : _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
  } else {
    for (int i = 0; i < bytes; i += 32)
      store<stream>(to + i, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
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

void pack_bfp8_host_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 7, false); }
void pack_bfp8_packer_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 7, true); }
void pack_bfp4_host_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 3, false); }
void pack_bfp4_packer_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 3, true); }
void pack_bf16_host_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_halves, Bfloat16Host); }
void pack_bf16_packer_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_halves, Bfloat16Packer); }
void pack_f16_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_halves, Float16); }
void unpack_bfp8_avx2(const TileRun& run) noexcept {
  run.stream ? unpack_bfloat8<true>(run) : unpack_bfloat8<false>(run);
}
void unpack_bfp4_avx2(const TileRun& run) noexcept {
  run.stream ? unpack_bfloat4<true>(run) : unpack_bfloat4<false>(run);
}
void unpack_bf16_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(unpack_halves, Bfloat16); }
void unpack_f16_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(unpack_halves, Float16); }
void tilize_4_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(to_tiles, 64); }
void tilize_2_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(to_tiles, 32); }
void tilize_1_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(to_tiles, 16); }
void untilize_4_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(from_tiles, 64); }
void untilize_2_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(from_tiles, 32); }
void untilize_1_avx2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(from_tiles, 16); }

}  // namespace tessera
