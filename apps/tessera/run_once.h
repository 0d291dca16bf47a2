#pragma once

#include "tessera/core/array.h"
#include "tessera/session/session.h"

#include <chrono>
#include <vector>

namespace tessera::cli {

// Seconds that one run takes.
inline double run_once(const Session& session, const std::vector<Array>& inputs) {
  const auto start = std::chrono::steady_clock::now();
  session.run(inputs);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace tessera::cli
