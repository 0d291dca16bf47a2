// Tile kernels for vectors, a block of 16 values at a time; as many blocks are in flight as a vector has lanes.
// tile_codec_portable.cpp has what they must be equal to.
//
// Packing a block float: the largest exponents of all blocks in flight come from one transposing tree of maxima instead
// of a horizontal one for each. The rounding of the definition (discard what the alignment shifts out, then nearest
// even) is done in floating point: scale by a power of two so that the bits to discard become the fraction, truncate,
// scale down so that the code becomes the integer part, convert. This is exact for shared exponents of 23 to 254;
// others take an integer path. Saturation comes from the saturating packs and one byte maximum per register of codes.
// Relies on the default rounding mode, nearest even. Large matrices are bound by memory. On one Zen 4 core a 4096 x
// 4096 matrix becomes bfloat8_b 1.5, bfloat4_b 1.45 times as fast as memcpy copies it with AVX-512 (1.15 with AVX2);
// the way back is 1.9 and 2.1 times as fast (tessera_core_bench).
//
// Compiled for: avx2 avx512

#include "tessera/core/internal/tile_kernels.h"
#include "tessera/simd/bytes.h"
#include "tessera/simd/halves.h"

namespace tessera::TSR_ISA {
namespace {

using namespace simd::TSR_ISA;

constexpr int kBlockValues = 16, kParts = kBlockValues / Vec::kWidth, kPartBytes = 4 * Vec::kWidth;
constexpr int kBlocks = Vec::kWidth;  // in flight
// How far ahead in the rows to ask for memory: the next tiles' blocks. Into the second-level cache: the rows of a tile
// are often a power of two apart and then fight for the same few lines of the first.
constexpr std::int64_t kAheadBytes = 1024;
// The same in tiles, which are read from end to end.
constexpr std::int64_t kAheadTileBytes = 2048;

alignas(64) constexpr unsigned char kZeros[64] = {};
// Magnitudes of codes of 4 bits, whose highest is the sign.
alignas(64) constexpr float kThreeBits[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};

template <bool stream, class Register>
inline void put(void* to, Register value) {
  if constexpr (stream)
    value.stream(to);
  else
    value.store(to);
}

inline void prefetch(const unsigned char* at) { _mm_prefetch(reinterpret_cast<const char*>(at), _MM_HINT_T1); }
inline Vec load_floats(const unsigned char* from) { return Vec::load(reinterpret_cast<const float*>(from)); }

#if defined(TSR_AVX512)

// Blocks in flight: there are registers for 16.
struct Blocks {
  Vec x[kBlocks];

  template <bool packer>
  TSR_INLINE void take(int i, const unsigned char* row) {
    x[i] = load_floats(row);
    if constexpr (packer) x[i] = rounded_by_packer(x[i]);
  }
  TSR_INLINE Vec part(int i) const { return x[i]; }
};

inline Ints max_pairs_32(Ints a, Ints b) {
  return {_mm512_max_epu16(_mm512_unpacklo_epi32(a.v, b.v), _mm512_unpackhi_epi32(a.v, b.v))};
}
inline Ints max_pairs_64(Ints a, Ints b) {
  return {_mm512_max_epu16(_mm512_unpacklo_epi64(a.v, b.v), _mm512_unpackhi_epi64(a.v, b.v))};
}

// The largest exponent field of each block, block i in lane i. Works on the upper halves of the floats, two blocks to a
// register.
inline Ints shared_exponents(const Blocks& blocks) {
  Ints m[8];
  for (int i = 0; i < 8; ++i) {
    const Ints even = bits(blocks.part(2 * i)) >> 16, odd = bits(blocks.part(2 * i + 1));
    m[i] = Ints{_mm512_mask_blend_epi16(0xAAAAAAAAu, even.v, odd.v)} & words(0x7FFF7FFF);
  }
  const Ints low = max_pairs_64(max_pairs_32(m[0], m[1]), max_pairs_32(m[2], m[3]));
  const Ints high = max_pairs_64(max_pairs_32(m[4], m[5]), max_pairs_32(m[6], m[7]));
  const __m512i lanes =
      _mm512_max_epu16(_mm512_shuffle_i64x2(low.v, high.v, 0x44), _mm512_shuffle_i64x2(low.v, high.v, 0xEE));
  const __m512i all =
      _mm512_max_epu16(_mm512_shuffle_i64x2(lanes, lanes, 0x88), _mm512_shuffle_i64x2(lanes, lanes, 0xDD));
  return Ints{_mm512_cvtepu16_epi32(_mm512_castsi512_si256(all))} >> 7;
}

#else

// Blocks in flight: where they are, or a copy of what the packer sees of them.
struct Blocks {
  const unsigned char* rows[kBlocks];
  alignas(64) unsigned char rounded[kBlocks * 64];

  template <bool packer>
  TSR_INLINE void take(int i, const unsigned char* row) {
    rows[i] = row;
    if constexpr (!packer) return;
    for (int at = 0; at < 64; at += kPartBytes)
      rounded_by_packer(load_floats(row + at)).store(reinterpret_cast<float*>(rounded + 64 * i + at));
    rows[i] = rounded + 64 * i;
  }
  TSR_INLINE Vec part(int i) const { return load_floats(rows[i / kParts] + i % kParts * kPartBytes); }
};

inline Ints max_pairs_16(Ints a, Ints b) {
  return {_mm256_max_epu16(_mm256_unpacklo_epi16(a.v, b.v), _mm256_unpackhi_epi16(a.v, b.v))};
}
inline Ints max_pairs_32(Ints a, Ints b) {
  return {_mm256_max_epu16(_mm256_unpacklo_epi32(a.v, b.v), _mm256_unpackhi_epi32(a.v, b.v))};
}
inline Ints max_pairs_64(Ints a, Ints b) {
  return {_mm256_max_epu16(_mm256_unpacklo_epi64(a.v, b.v), _mm256_unpackhi_epi64(a.v, b.v))};
}

// The two parts of a block share a register.
inline Ints shared_exponents(const Blocks& blocks) {
  Ints m[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    const Ints low = bits(blocks.part(2 * i)) >> 16, high = bits(blocks.part(2 * i + 1));
    m[i] = Ints{_mm256_blend_epi16(low.v, high.v, 0xAA)} & words(0x7FFF7FFF);
  }
  const Ints low = max_pairs_32(max_pairs_16(m[0], m[1]), max_pairs_16(m[2], m[3]));
  const Ints high = max_pairs_32(max_pairs_16(m[4], m[5]), max_pairs_16(m[6], m[7]));
  const __m256i lanes = max_pairs_64(low, high).v;
  const __m128i all = _mm_max_epu16(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  return Ints{_mm256_cvtepu16_epi32(all)} >> 7;
}

#endif

// Codes of one part in integers, as the definition has it: for shared exponents that the fast path cannot scale by.
template <int width, bool packer>
inline Ints codes_exact(Vec x, int shared) {
  const Ints u = bits(x);
  const Ints exponent = (u >> 23) & words(0xFF);
  const Ints mantissa = keep(nonzero(exponent), (u & words(0x7FFFFF)) | words(0x800000));
  const Ints aligned = mantissa >> (Ints::all(shared) - exponent);
  Ints magnitude;
  if constexpr (packer) {
    magnitude = (aligned + words((1u << 16) - 1) + ((aligned >> 17) & words(1))) >> 17;
    magnitude = min_unsigned(magnitude, words(127)) >> (7 - width);
  } else {
    constexpr int kDrop = 24 - width;
    magnitude = (aligned + words((1u << (kDrop - 1)) - 1) + ((aligned >> kDrop) & words(1))) >> kDrop;
    magnitude = min_unsigned(magnitude, words((1u << width) - 1));
  }
  return keep(nonzero(magnitude), magnitude | ((u >> 31) << width));
}

// One part scaled and rounded to integers, before saturation.
template <int width, bool packer>
inline Ints rounded_part(Vec x, Vec scale) {
  if constexpr (packer)
    return to_int(x * scale);
  else
    return to_int(trunc(x * scale) * Vec::all(1.0f / static_cast<float>(1 << (24 - width))));
}

// Signed bytes, saturated only by the packs, to codes: sign above magnitude.
template <int width, bool packer>
inline Bytes codes_of(Bytes q) {
  constexpr int kBits = packer ? 7 : width;  // the packer rounds to 7 bits and cuts later
  q = larger<true>(q, Bytes::all(-((1 << kBits) - 1)));
  if constexpr (kBits < 7) q = smaller_signed(q, Bytes::all((1 << kBits) - 1));
  const Bytes magnitude = abs(q);
  if constexpr (packer && width == 3) {
    const Bytes cut = shift_pairs_right(magnitude, 4) & Bytes::all(7);
    return keep_where_nonzero(cut, cut | (shift_pairs_right(q, 4) & Bytes::all(8)));
  } else {
    return magnitude | (q & Bytes::all(static_cast<char>(1 << width)));
  }
}

// The blocks in flight to their exponents and codes.
template <int width, bool packer, bool stream>
inline void encode(const Blocks& blocks, unsigned char* exponents, unsigned char* out) {
  constexpr int kScale = packer ? 127 + 127 + 6 : 127 + 127 + 23;  // of 2^(kScale - 127 - E): code or 24-bit units
  const Ints shared = shared_exponents(blocks);
  shared.store_bytes(reinterpret_cast<std::byte*>(exponents));
  const Vec::Mask some = nonzero(shared);
  const Ints beyond = keep(some, shared - words(23));
  Bytes codes[4];
  if (!any(beyond ^ min_unsigned(beyond, words(254 - 23)))) {
    // A block of zeros and denormals (E = 0) is multiplied by 0.
    alignas(64) float scales[kBlocks];
    float_of_bits(keep(some, (words(kScale) - shared) << 23)).store(scales);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      Ints q[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j)
        q[j] = rounded_part<width, packer>(blocks.part(4 * i + j), Vec::all(scales[(4 * i + j) / kParts]));
      codes[i] = codes_of<width, packer>(saturated(q[0], q[1], q[2], q[3]));
    }
  } else {
    // Through memory on purpose: indexing the blocks in a loop would keep them in memory on the fast path too.
    alignas(64) float values[kBlocks * kBlockValues];
    alignas(64) std::byte buffer[kBlocks * kBlockValues];
    alignas(64) std::int32_t each[kBlocks];
    shared.store(each);
#pragma GCC unroll 16
    for (int i = 0; i < kBlocks * kParts; ++i) blocks.part(i).store(values + i * Vec::kWidth);
    for (int i = 0; i < kBlocks * kParts; ++i)
      codes_exact<width, packer>(Vec::load(values + i * Vec::kWidth), each[i / kParts])
          .store_bytes(buffer + i * Vec::kWidth);
    for (int i = 0; i < 4; ++i) codes[i] = Bytes::load(buffer + i * Bytes::kWidth);
  }
  if constexpr (width == 7)
    for (int i = 0; i < 4; ++i) put<stream>(out + i * Bytes::kWidth, codes[i]);
  else
    for (int i = 0; i < 2; ++i) put<stream>(out + i * Bytes::kWidth, nibbles(codes[2 * i], codes[2 * i + 1]));
}

template <int width, bool packer, bool stream>
void pack_block_floats(const TileRun& run) {
  constexpr int kCodeBytes = width == 7 ? 16 : 8, kExponentBytes = 16;
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    const unsigned char* src = run.src + t * run.matrix_step_bytes;
    unsigned char* exponents = run.dst + t * run.tile_bytes;
    unsigned char* codes = exponents + run.exponent_bytes;
    for (int b = 0; b < run.blocks; b += kBlocks) {
      Blocks blocks;
      if (run.blocks >= kBlocks) {
#pragma GCC unroll 16
        for (int i = 0; i < kBlocks; ++i) {
          const unsigned char* row = src + run.offsets[b + i];
          prefetch(row + kAheadBytes);
          blocks.take<packer>(i, row);
        }
        encode<width, packer, stream>(blocks, exponents + b, codes + b * kCodeBytes);
      } else {
        alignas(64) unsigned char buffer[kBlocks * kCodeBytes];
#pragma GCC unroll 16
        for (int i = 0; i < kBlocks; ++i) blocks.take<packer>(i, i < run.blocks ? src + run.offsets[i] : kZeros);
        encode<width, packer, false>(blocks, exponents, buffer);
        __builtin_memcpy(codes, buffer, static_cast<unsigned long>(run.blocks * kCodeBytes));
      }
    }
    // The section of exponents is padded.
    if constexpr (kBlocks < kExponentBytes)
      if (run.blocks <= kBlocks) __builtin_memset(exponents + kBlocks, 0, kExponentBytes - kBlocks);
  }
  if constexpr (stream) _mm_sfence();
}

// Magnitudes as floats, with their signs, times 2^(E - 127 - (width - 1)). Exact while every exponent stays normal.
template <int width>
inline Bytes decode(Vec magnitude, Ints sign, int shared) {
  if (static_cast<unsigned>(shared - width) <= static_cast<unsigned>(254 - width))
    return bytes(bits(magnitude * float_of_bits(Ints::all((shared - (width - 1)) << 23))) | sign);
  // The exponent field is adjusted as an integer: it may wrap into infinity, 0, or below (then all of it becomes +0).
  const Ints u = bits(magnitude);
  const Ints moved = keep(nonzero(u), u + Ints::all((shared - 127 - (width - 1)) * (1 << 23)));
  return bytes(keep(not_negative(moved), moved | sign));
}

template <int width, bool stream>
void unpack_block_floats(const TileRun& run) {
  constexpr int kCodeBytes = width == 7 ? 16 : 8;
  const Vec table = Vec::load(kThreeBits);
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    const unsigned char* exponents = run.src + t * run.tile_bytes;
    const auto* codes = reinterpret_cast<const std::byte*>(exponents + run.exponent_bytes);
    unsigned char* dst = run.dst + t * run.matrix_step_bytes;
    for (int b = 0; b < run.blocks; ++b)
      for (int p = 0; p < kParts; ++p) {
        const std::byte* at = codes + (kParts * b + p) * (kCodeBytes / kParts);
        const Ints code = width == 7 ? Ints::load_bytes<false>(at) : Ints::load_nibbles(at);
        const Ints sign = (code << (31 - width)) & words(0x8000'0000);
        const Vec magnitude = width == 7 ? to_float(code & words(0x7F)) : pick(table, code);
        put<stream>(dst + run.offsets[b] + p * kPartBytes, decode<width>(magnitude, sign, exponents[b]));
      }
  }
  if constexpr (stream) _mm_sfence();
}

template <Ints (*encode)(Vec)>
struct Bfloat16 {
  static TSR_INLINE Halves of(const Vec (&x)[kParts]) {
    Ints codes[kParts];
    for (int p = 0; p < kParts; ++p) codes[p] = encode(x[p]);
    return halves(codes);
  }
};
struct Float16 {
  static TSR_INLINE Halves of(const Vec (&x)[kParts]) { return float16(x); }
};

template <class Format, bool stream>
void pack_halves(const TileRun& run) {
  for (std::int64_t t = 0; t < run.tiles; ++t)
    for (int b = 0; b < run.blocks; ++b) {
      const unsigned char* row = run.src + t * run.matrix_step_bytes + run.offsets[b];
      prefetch(row + kAheadBytes);
      Vec x[kParts];
      for (int p = 0; p < kParts; ++p) x[p] = load_floats(row + p * kPartBytes);
      put<stream>(run.dst + t * run.tile_bytes + 32 * b, Format::of(x));
    }
  if constexpr (stream) _mm_sfence();
}

inline Vec load_bfloat16(const void* at) { return Vec::load(static_cast<const Bf16*>(at)); }

template <Vec (*decode)(const void*), bool stream>
void unpack_halves(const TileRun& run) {
  for (std::int64_t t = 0; t < run.tiles; ++t)
    for (int b = 0; b < run.blocks; ++b)
      for (int p = 0; p < kParts; ++p) {
        const unsigned char* from = run.src + t * run.tile_bytes + 32 * b + p * kPartBytes / 2;
        put<stream>(run.dst + t * run.matrix_step_bytes + run.offsets[b] + p * kPartBytes, bytes(bits(decode(from))));
      }
  if constexpr (stream) _mm_sfence();
}

// One block of 64, 32 or 16 bytes.
template <int bytes, bool stream>
inline void move_block(const unsigned char* from, unsigned char* to) {
  if constexpr (bytes == 64) {
    for (int i = 0; i < bytes; i += Bytes::kWidth) put<stream>(to + i, Bytes::load(from + i));
  } else if constexpr (bytes == 32) {
    put<stream>(to, Halves::load(from));
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
      prefetch(row + kAheadBytes);
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
          prefetch(tile + bytes * b + kAheadTileBytes);
          move_block<bytes, stream>(tile + bytes * b, dst + run.offsets[b]);
        }
  }
  if constexpr (stream) _mm_sfence();
}

}  // namespace

#define TSR_STREAM_OR_NOT(function, ...) \
  (run.stream ? function<__VA_ARGS__, true>(run) : function<__VA_ARGS__, false>(run))

void pack_bfp8_host(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 7, false); }
void pack_bfp8_packer(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 7, true); }
void pack_bfp4_host(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 3, false); }
void pack_bfp4_packer(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_block_floats, 3, true); }
void pack_bf16_host(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_halves, Bfloat16<bfloat16_host>); }
void pack_bf16_packer(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_halves, Bfloat16<bfloat16_packer>); }
void pack_f16(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(pack_halves, Float16); }
void unpack_bfp8(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(unpack_block_floats, 7); }
void unpack_bfp4(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(unpack_block_floats, 3); }
void unpack_bf16(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(unpack_halves, load_bfloat16); }
void unpack_f16(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(unpack_halves, load_float16); }
void tilize_4(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(to_tiles, 64); }
void tilize_2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(to_tiles, 32); }
void tilize_1(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(to_tiles, 16); }
void untilize_4(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(from_tiles, 64); }
void untilize_2(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(from_tiles, 32); }
void untilize_1(const TileRun& run) noexcept { TSR_STREAM_OR_NOT(from_tiles, 16); }

}  // namespace tessera::TSR_ISA
