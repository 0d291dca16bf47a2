#pragma once

// Which kernels run LTC layers, how each would lay a layer out, and how long it would take. All are float32.

#include "tessera/core/export.h"
#include "tessera/graph/ops/ltc.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_arguments.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_table.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::cuda {

struct LtcProblem {
  int batch = 1, steps = 1, inputs = 1, units = 1;
  // The most synapses that any unit has: from inputs, and from units.
  int sensory_fan_in = 1, recurrent_fan_in = 1;
  Ltc::Solver solver = Ltc::Solver::semi_implicit;
  int unfolds = 6;
  double epsilon = 1e-8;
  LiquidTimes times = LiquidTimes::none;  // none: every step takes 1
  bool batch_first = true;

  // Semi-implicit, with a time of 1 for every step. Kernels have a version for it.
  bool is_usual() const { return solver == Ltc::Solver::semi_implicit && times == LiquidTimes::none; }
  int evaluations() const { return unfolds * (solver == Ltc::Solver::runge_kutta ? 4 : 1); }  // of a step
};
// An Error of Code::invalid_argument where the numbers make no layer.
TSR_API void check_problem(const LtcProblem& problem);

// As the operator Ltc has them (graph/ops/ltc.h).
struct LtcWeights {
  std::span<const float> membrane, sensory, recurrent;
};
// Counts synapses.
TSR_API void set_fan_in(LtcProblem& problem, const LtcWeights& weights);

struct LtcRow {
  std::string_view name;
  int samples;  // of a block
};
TSR_API std::span<const LtcRow> ltc_rows();

struct LtcRefusal {
  enum class Reason : std::uint8_t { cluster, shared_memory };
  Reason reason;
  std::int64_t found = 0, limit = 0;
  TSR_API std::string text() const;
};

using LtcOffer = LiquidOffer;
using LtcAnswer = std::variant<LtcOffer, LtcRefusal>;
// The best of the row's ways, by the time model. `cluster`: only with so many blocks, 0: any.
TSR_API LtcAnswer consider(const LtcRow& row, const LtcProblem& problem, const GpuSpec& gpu, int cluster = 0);

using LtcPlan = LiquidPlan<LtcRow, LtcRefusal>;
TSR_API LtcPlan plan_ltc(const LtcProblem& problem, const GpuSpec& gpu);

struct LtcLayout {
  LtcArguments arguments{};
  std::int64_t shared_floats = 0;
};
LtcLayout lay_out(const LtcProblem& problem, int samples, int cluster, bool resident);

}  // namespace tessera::cuda
