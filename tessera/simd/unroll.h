#pragma once

// Loops that are gone after compilation: the index is a constant in every turn, so that arrays of vectors become
// registers.

#include "tessera/simd/vec.h"

#include <utility>

namespace tessera::simd::TSR_ISA {

template <int I>
struct Index {
  static constexpr int value = I;
};

template <class F, int... I>
TSR_INLINE void unroll_each(F& body, std::integer_sequence<int, I...>) {
  (body(Index<I>{}), ...);
}

// body(Index<0>{}), ..., body(Index<N - 1>{}). Bodies should be TSR_INLINE_LAMBDA.
template <int N, class F>
TSR_INLINE void unroll(F&& body) {
  unroll_each(body, std::make_integer_sequence<int, N>{});
}

#define TSR_INLINE_LAMBDA __attribute__((always_inline))

}  // namespace tessera::simd::TSR_ISA
