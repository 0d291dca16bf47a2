#pragma once

// The correctness harness of the assignment: small and large images in batches of four, with and without a bias and a
// pool, against plain loops with double sums. The original checks float32 alone; here float16 is checked as well.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/neuron/kernels/conv2d.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::neuron {

struct HarnessCase {
  std::string name;
  ConvProblem problem;
  bool bias = false;  // otherwise it is zero
};

// In the harness's order, for one type: four small images, then large ones plain, with a bias, with a bias and a pool.
TSR_API std::vector<HarnessCase> harness_cases(ElementType type);

// How far a result may be from the sum in double. float32: np.allclose's defaults, 1e-8 + 1e-5 |sum|. Narrower types:
// terms * 2^-24 * sum of magnitudes for float32 sums in any order, and one rounding to the type at the end.
TSR_API double harness_tolerance(const ConvProblem& problem, double sum, double magnitudes);

struct HarnessResult {
  std::int64_t compared = 0;  // elements
  std::int64_t wrong = 0;
  double worst = 0;       // difference / tolerance, of the worst
  double difference = 0;  // the largest, relative to the sum
  std::string first_wrong;
  Profile profile;
  bool ok() const { return compared > 0 && wrong == 0; }
};

// What the assignment asks of a time, and what it gives for it. One image, 256 to 256 channels, 3x3.
enum class TimeVerdict : std::uint8_t { missed, relaxed, met };
TSR_API std::string_view name(TimeVerdict verdict);

struct TSR_API HarnessLimit {
  ConvProblem problem;
  double relaxed_us = 0, full_us = 0;  // up to and with these
  double points = 0;
  bool extra = false;  // credit beyond the assignment's points

  TimeVerdict verdict(double us) const {
    return us > relaxed_us ? TimeVerdict::missed : us > full_us ? TimeVerdict::relaxed : TimeVerdict::met;
  }
  double earned(double us) const;  // nine tenths of the points between the two
};

// In the harness's order: large images without and with a pool, float32 before float16, then small ones.
TSR_API std::vector<HarnessLimit> harness_limits();
// For each of the four float32 tests of values: all small images, and the three large ones.
inline constexpr double kHarnessValuePoints = 2.5;

// Uniform numbers of [0, 1) from `seed`. Every `row_step`-th row of all output rows (images, channels, rows) is
// compared, whole; with 1 all of them.
TSR_API HarnessResult run_harness(const NeuronSpec& spec, const HarnessCase& harness_case, ConvKernel kernel,
                                  std::int64_t row_step = 1, unsigned seed = 42);

}  // namespace tessera::neuron
