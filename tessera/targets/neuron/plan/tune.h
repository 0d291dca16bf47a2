#pragma once

// How a fused convolution could be laid out on a NeuronCore, and the search for the fastest way.

#include "tessera/core/export.h"
#include "tessera/core/refusal.h"
#include "tessera/targets/neuron/core/engine.h"
#include "tessera/targets/neuron/kernels/conv2d.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::neuron {

// How the PE array gets the part of the image that a filter tap sees.
enum class Window : std::uint8_t {
  copied,   // cut out for each product
  strided,  // read where it lies; the array waits at each new row
  flat,     // whole rows in one run, with the columns between that no output needs
  shared,   // cut out once for all output channels
};
TSR_API std::string_view name(Window window);

// How weight slices get to where the PE array can turn them.
enum class Slicing : std::uint8_t { vector, gpsimd, direct };
TSR_API std::string_view name(Slicing slicing);

// Who empties PSUM, adding the bias and converting: one engine, or both in turns.
enum class Eviction : std::uint8_t { scalar, vector, both };
TSR_API std::string_view name(Eviction eviction);

// Who cuts windows out: VectorE alone, or GpSimd every third.
enum class Cutting : std::uint8_t { vector, both };
TSR_API std::string_view name(Cutting cutting);

struct TSR_API ConvSchedule {
  std::int64_t rows = 2;    // of output, in one accumulation; with a pool of 2 a multiple of it, or 1
  std::int64_t joined = 1;  // accumulations in one store
  std::int64_t blocks = 1;  // stores from one tile of the image
  bool share_image = true;  // all output channels use a tile before the next one; otherwise they are the outer loop
  Window window = Window::flat;
  Cutting cutting = Cutting::vector;
  Slicing slicing = Slicing::vector;
  Eviction eviction = Eviction::scalar;
  Engine pooling = Engine::gpsimd;  // gpsimd or vector
  std::string text() const;
  bool operator==(const ConvSchedule&) const = default;
};

// Rows of the convolution that are pooled and stored together: those of the accumulations, or a pool's if that is more.
TSR_API std::int64_t stored_rows(const ConvProblem& problem, const ConvSchedule& schedule);

// Why the schedule is not for this problem; nothing if it is. SBUF is only known when it is tried.
TSR_API std::optional<Refusal> refusal(const NeuronSpec& spec, const ConvProblem& problem,
                                       const ConvSchedule& schedule);
TSR_API void run_schedule(Kernel& kernel, const ConvProblem& problem, const ConvTensors& tensors,
                          const ConvSchedule& schedule);
TSR_API ConvRun run_conv(const NeuronSpec& spec, const ConvProblem& problem, const ConvSchedule& schedule);
TSR_API ConvRun run_conv(const NeuronSpec& spec, const Array& x, const Array& w, const Array& bias, std::int64_t pool,
                         const ConvSchedule& schedule);

struct ConvTrial {
  ConvSchedule schedule;
  std::optional<Profile> profile;
  std::optional<Refusal> refused;  // why there is no profile
};

struct ConvTuning {
  ConvProblem problem;
  ConvBound bound;
  std::vector<ConvTrial> trials;  // in the order in which they were made
  std::size_t best = 0;
  const ConvTrial& winner() const { return trials[best]; }
  double ratio() const { return winner().profile->total_ns / bound.ns(); }  // to the lower bound
  double floor_ratio() const { return winner().profile->total_ns / bound.floor_ns(); }
};

// One choice after the other, each at its best given the others, until nothing helps. An Error if nothing fits.
TSR_API ConvTuning tune_conv(const NeuronSpec& spec, const ConvProblem& problem);

}  // namespace tessera::neuron
