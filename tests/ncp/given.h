#pragma once

// What tests of fast layers have in common: random inputs of a layer, and every instruction set that is here.

#include "tessera/core/isa.h"
#include "tessera/ncp/sequence.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::ncp {

std::vector<float> uniform(std::int64_t count, std::uint64_t seed, double low = -1, double high = 1);
std::vector<double> wide(const std::vector<float>& values);

// Everything a layer can be given; `sequence` points into the rest.
struct Given {
  std::vector<float> input, timespans, state, memory;
  Sequence<float> sequence;

  Given(const Layer& layer, std::int64_t batch, std::int64_t steps, std::optional<std::uint64_t> dropout = {});
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
};

template <class Body>
void for_each_isa(Body&& body) {
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_bf16}) {
    if (isa > host_isa()) continue;
    SCOPED_TRACE(name(isa));
    set_active_isa(isa);
    body();
  }
  set_active_isa(std::nullopt);
}

}  // namespace tessera::ncp
