#pragma once

// The tile registers of AMX as the dense engine uses them, behind one interface with two implementations:
//
//   void configure(const TileConfig&), release();
//   template <int T> void zero(), load(const void* at, ptrdiff_t stride_bytes), store(void* at, ptrdiff_t
//   stride_bytes); template <int C, int A, int B> void dot();  // C += A * B, of bfloat16 pairs, sums in float32
//
// AmxTiles is the instructions; EmulatedTiles (emulated_tiles.h) does the same in plain C++, so that what is written
// over them is tested on every machine.
//
// Plain data: files compiled for an instruction set include it.

#include <cstddef>
#include <cstdint>

namespace tessera::simd {

// What LDTILECFG reads. A tile with neither rows nor bytes is not there.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;  // 8 tiles of up to 16 rows of 64 bytes
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};  // those of tiles 8 and up are reserved
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

#if defined(__AMX_BF16__)

// Written as assembly rather than with the compiler's intrinsics: GCC's name no memory as read (of the configuration,
// only its first 8 bytes), so stores that only tiles see may be moved behind them or left out.
struct AmxTiles {
  static inline __attribute__((always_inline)) void configure(const TileConfig& config) {
    __asm__ volatile("ldtilecfg %0" : : "m"(config) : "memory");
  }
  static inline __attribute__((always_inline)) void release() { __asm__ volatile("tilerelease" : : : "memory"); }
  template <int T>
  static inline __attribute__((always_inline)) void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(T));
  }
  template <int T>
  static inline __attribute__((always_inline)) void load(const void* at, std::ptrdiff_t stride_bytes) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(at), "r"(stride_bytes), "i"(T) : "memory");
  }
  template <int T>
  static inline __attribute__((always_inline)) void store(void* at, std::ptrdiff_t stride_bytes) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(at), "r"(stride_bytes), "i"(T) : "memory");
  }
  template <int C, int A, int B>
  static inline __attribute__((always_inline)) void dot() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
};

#endif

}  // namespace tessera::simd
