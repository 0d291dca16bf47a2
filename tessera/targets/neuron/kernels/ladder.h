#pragma once

// All versions of the fused convolution on the harness's cases, beside what was published for the real machine.

#include "tessera/targets/neuron/kernels/conv2d.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::neuron {

struct LadderRow {
  int number = 0;  // of the step
  std::string step;
  ConvProblem problem;
  Profile profile;
  ConvBound bound;
  std::optional<double> published_us;
  double simulated_us() const { return profile.total_us(); }
  std::optional<double> ratio() const {
    return published_us ? std::optional(simulated_us() / *published_us) : std::nullopt;
  }
};

// Whether times of these kernels and of the vector additions were published for such a core: for Trainium 2 alone.
TSR_API bool has_published_times(const NeuronSpec& spec);
// What was measured on a trn2.3xlarge; nothing where no figure of that case is known.
TSR_API std::optional<double> published_us(std::string_view step, const ConvProblem& problem);

// Large (224x224) and small (32x16) images, float32 and float16, without and with a pool of 2. The step for small
// images runs on those only.
TSR_API std::vector<ConvProblem> ladder_cases();
// What runs on which of them, in the order of conv_ladder().
struct LadderStep {
  int number = 0;
  ConvStep step;
  ConvProblem problem;
};
TSR_API std::vector<LadderStep> ladder_steps();
TSR_API std::vector<LadderRow> conv_ladder(const NeuronSpec& spec);

}  // namespace tessera::neuron
