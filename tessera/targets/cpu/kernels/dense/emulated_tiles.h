#pragma once

// AMX tiles in plain C++, one set for each thread, after Intel's description of the instructions. Where the CPU would
// fault (#GP, #UD) there is an Error.

#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"
#include "tessera/simd/tile_unit.h"

#include <cmath>
#include <cstring>

namespace tessera::cpu {

using simd::TileConfig;

class EmulatedTiles {
 public:
  static void configure(const TileConfig& config) {
    State& s = state();
    fault_unless(config.palette == 1, "palette {} has no tiles", config.palette);
    fault_unless(config.start_row == 0, "tiles would begin at row {}", config.start_row);
    for (const std::uint8_t byte : config.reserved) fault_unless(byte == 0, "a reserved byte is {}", byte);
    for (int t = 0; t < 16; ++t) {
      const int rows = config.rows[t], bytes = config.row_bytes[t];
      fault_unless(rows <= (t < kTiles ? kRows : 0) && bytes <= (t < kTiles ? kRowBytes : 0),
                   "tile {} of {} rows of {} bytes", t, rows, bytes);
      fault_unless((rows == 0) == (bytes == 0), "tile {} of {} rows of {} bytes", t, rows, bytes);
    }
    s.configured = true;
    s.config = config;
    std::memset(s.tiles, 0, sizeof s.tiles);
  }
  static void release() { state().configured = false; }

  template <int T>
  static void zero() {
    std::memset(used(T).tiles[T], 0, sizeof State::tiles[T]);
  }
  // Rows behind the tile's own become 0, as do bytes behind those of each row.
  template <int T>
  static void load(const void* at, std::ptrdiff_t stride_bytes) {
    State& s = used(T);
    std::memset(s.tiles[T], 0, sizeof s.tiles[T]);
    for (int r = 0; r < s.config.rows[T]; ++r)
      std::memcpy(s.tiles[T][r], static_cast<const std::byte*>(at) + r * stride_bytes, s.config.row_bytes[T]);
  }
  template <int T>
  static void store(void* at, std::ptrdiff_t stride_bytes) {
    const State& s = used(T);
    for (int r = 0; r < s.config.rows[T]; ++r)
      std::memcpy(static_cast<std::byte*>(at) + r * stride_bytes, s.tiles[T][r], s.config.row_bytes[T]);
  }

  template <int C, int A, int B>
  static void dot() {
    State& s = used(C);
    used(A), used(B);
    const TileConfig& c = s.config;
    fault_unless(C != A && C != B && A != B, "tiles {}, {} and {} are not three", C, A, B);
    fault_unless(c.row_bytes[C] % 4 == 0 && c.row_bytes[A] % 4 == 0 && c.row_bytes[B] % 4 == 0,
                 "rows of {}, {} and {} bytes are no whole elements", c.row_bytes[C], c.row_bytes[A], c.row_bytes[B]);
    fault_unless(c.rows[C] == c.rows[A] && c.row_bytes[C] == c.row_bytes[B] && c.row_bytes[A] / 4 == c.rows[B],
                 "{}x{} bytes += {}x{} times {}x{}", c.rows[C], c.row_bytes[C], c.rows[A], c.row_bytes[A], c.rows[B],
                 c.row_bytes[B]);
    // Even and odd elements of the depth are summed apart by fused multiply-adds, then added to each other and to C.
    for (int m = 0; m < c.rows[C]; ++m)
      for (int n = 0; n < c.row_bytes[C] / 4; ++n) {
        float sums[2] = {0, 0};
        for (int k = 0; k < c.row_bytes[A] / 4; ++k)
          for (int half = 0; half < 2; ++half)
            sums[half] = flushed(
                std::fma(half_of(s.tiles[A][m], 2 * k + half), half_of(s.tiles[B][k], 2 * n + half), sums[half]));
        float sum = 0;
        std::memcpy(&sum, s.tiles[C][m] + 4 * n, 4);
        sum = flushed(flushed(sum) + flushed(sums[0] + sums[1]));
        std::memcpy(s.tiles[C][m] + 4 * n, &sum, 4);
      }
    for (int m = c.rows[C]; m < kRows; ++m) std::memset(s.tiles[C][m], 0, kRowBytes);
  }

 private:
  static constexpr int kTiles = 8, kRows = 16, kRowBytes = 64;
  struct State {
    bool configured = false;
    TileConfig config;
    std::byte tiles[kTiles][kRows][kRowBytes];
  };

  static State& state() {
    thread_local State state;
    return state;
  }
  static State& used(int tile) {
    State& s = state();
    fault_unless(s.configured, "tile {} is used before tiles are configured", tile);
    fault_unless(tile >= 0 && tile < kTiles && s.config.rows[tile] > 0, "tile {} is not configured", tile);
    return s;
  }
  template <class... Args>
  static void fault_unless(bool fine, const char* what, const Args&... args) {
    if (!fine) fail(Code::internal, "AMX would fault: {}", fmt::format(fmt::runtime(what), args...));
  }
  // Subnormal numbers are taken for zeros, and none are made.
  static float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
  static float half_of(const std::byte* row, int i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, row + 2 * i, 2);
    return flushed(float_from_bfloat16(bits));
  }
};

}  // namespace tessera::cpu
