#pragma once

// What every fuzz driver has: one function that takes any bytes. The bytes are either refused with a tessera::Error or
// give a value that survives being written and read again. Everything else (another exception, a sanitizer's report, a
// difference) ends the process.

#include "tessera/core/error.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

// 0 for an input that was accepted, otherwise the place of the check that refused it. Inputs that reach new places are
// kept and mutated further.
int fuzz_one(std::span<const std::uint8_t> input);

namespace tessera::fuzz {

// Like assert, but on in every build.
inline void require(bool ok, const char* property) {
  if (ok) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", property);
  std::abort();
}

inline int refused(const Error& error) {
  require(error.code() != Code::internal, "a refusal is not our own fault");
  return static_cast<int>(error.where().line());
}

}  // namespace tessera::fuzz
