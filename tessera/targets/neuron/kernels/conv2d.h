#pragma once

// The fused convolution of the case study, as kernels for a NeuronCore:
//
//   y = max_pool(conv2d(x, w) + bias)
//
// x [n, ic, h, w], w [oc, ic, k, k], bias [oc]; stride 1, no padding; channels are multiples of 128, a row of output
// fits a bank of PSUM, and a pool of 1 (none) or 2 divides the output.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/neuron/core/profile.h"
#include "tessera/targets/neuron/language/kernel.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::neuron {

struct TSR_API ConvProblem {
  std::int64_t n = 1, ic = 256, oc = 256, h = 224, w = 224, k = 3, pool = 1;
  ElementType type = ElementType::float32;

  std::int64_t oh() const { return h - k + 1; }
  std::int64_t ow() const { return w - k + 1; }
  double flops() const;
  std::int64_t bytes() const;  // x, w, bias and y, once each
  std::vector<std::int64_t> x_shape() const { return {n, ic, h, w}; }
  std::vector<std::int64_t> w_shape() const { return {oc, ic, k, k}; }
  std::vector<std::int64_t> y_shape() const { return {n, oc, oh() / pool, ow() / pool}; }
  std::string text() const;
};

// Of arrays that belong together; an Error if they do not.
TSR_API ConvProblem conv_problem(const Array& x, const Array& w, const Array& bias, std::int64_t pool);
// An Error that says which rule the problem breaks.
TSR_API void check_problem(const NeuronSpec& spec, const ConvProblem& problem);

// No schedule can be faster: every product takes its cycle, every byte has to be moved once.
struct ConvBound {
  double tensor_ns = 0;
  double dma_ns = 0;
  double start_ns = 0;  // of the kernel, before anything
  double copy_ns = 0;   // from the issue of a copy until what it moved can be used, besides the moving
  double ns() const { return tensor_ns > dma_ns ? tensor_ns : dma_ns; }
  // With what nothing overlaps: the start, a copy before the first product, and a copy behind the last.
  double floor_ns() const {
    const double products = tensor_ns + 2 * copy_ns, bytes = dma_ns + copy_ns;
    return start_ns + (products > bytes ? products : bytes);
  }
};
TSR_API ConvBound conv_bound(const NeuronSpec& spec, const ConvProblem& problem);

struct ConvTensors {
  View x, w, bias, y;
};

using ConvKernel = void (*)(Kernel& kernel, const ConvProblem& problem, const ConvTensors& tensors);

// One version of the kernel, and what it does differently from the one before.
struct ConvStep {
  std::string_view name;
  std::string_view change;
  ConvKernel run;
};

// In the order in which they were found: baseline to final, the strategy for small images, and an independent kernel.
TSR_API std::span<const ConvStep> conv_steps();
TSR_API const ConvStep& conv_step(std::string_view name);

struct ConvRun {
  Profile profile;
  std::optional<Array> y;
};

// Without values, by shapes alone.
TSR_API ConvRun run_conv(const NeuronSpec& spec, const ConvProblem& problem, ConvKernel kernel);
TSR_API ConvRun run_conv(const NeuronSpec& spec, const Array& x, const Array& w, const Array& bias, std::int64_t pool,
                         ConvKernel kernel, KernelOptions options = {});

}  // namespace tessera::neuron
