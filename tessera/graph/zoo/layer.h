#pragma once

// One convolution with what usually follows it, as a network of its own: what benchmarks are made of.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"

#include <cstdint>
#include <string>

namespace tessera {

struct ConvBlock {
  std::string name;
  std::int64_t n = 1, h = 0, w = 0, ic = 0, oc = 0;
  std::int64_t kh = 1, kw = 1;
  std::int64_t stride = 1;
  std::int64_t pad = 0;  // on every side
  std::int64_t groups = 1;
  std::int64_t times = 1;  // how often the network that it comes from has it
  bool bias = false;
  bool relu = false;
  std::int64_t pool = 1;  // edge and stride of a maximum pool that comes last; 1: none

  // Of the convolution, before the pool.
  std::int64_t oh() const { return (h + 2 * pad - kh) / stride + 1; }
  std::int64_t ow() const { return (w + 2 * pad - kw) / stride + 1; }
  // Multiplications and additions of the convolution alone.
  double flops() const {
    return 2.0 * static_cast<double>(n * oh() * ow() * oc) * static_cast<double>(ic / groups * kh * kw);
  }

  bool operator==(const ConvBlock&) const = default;
};

// Conv [+ bias] [+ Relu] [+ MaxPool] from input "x", N C H W, to output "y". Weights are seeded by the layer's name and
// leave normal inputs with a variance of about 1.
TSR_API Graph make_layer(const ConvBlock& layer);

}  // namespace tessera
