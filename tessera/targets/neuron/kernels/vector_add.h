#pragma once

// The microbenchmark that prices single copies: c = a + b over n float32, `rows` x `columns` of them at a time.

#include "tessera/core/export.h"
#include "tessera/targets/neuron/language/kernel.h"

#include <cstdint>
#include <span>

namespace tessera::neuron {

TSR_API void vector_add(Kernel& kernel, const View& a, const View& b, const View& c, std::int64_t rows,
                        std::int64_t columns);

struct VectorAddCase {
  std::int64_t n, rows, columns;
  double published_us;  // 99th percentile on a trn2.3xlarge
};
TSR_API std::span<const VectorAddCase> vector_add_cases();
TSR_API Profile run_vector_add(const NeuronSpec& spec, const VectorAddCase& each);

}  // namespace tessera::neuron
