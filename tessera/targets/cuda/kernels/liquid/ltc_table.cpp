#include "tessera/targets/cuda/kernels/liquid/ltc_table.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tessera::cuda {

namespace {

constexpr LtcRow kLtcRows[] = {{"ltc_f32_1", 1}, {"ltc_f32_4", 4}, {"ltc_f32_8", 8}};

// --- the time model --------------------------------------------------------------------------------------------------
// Cycles of one multiprocessor, fitted to the tables in bench/results (docs/cuda.md has the errors).

namespace ltc_time {
constexpr double kLaunchSeconds = 3e-6;
constexpr double kEvaluationCycles = 970;  // a lane's way from its sums to the potential, and a meeting
constexpr double kClusterCycles = 450;     // more, where a cluster meets
constexpr double kWarpCycles = 86;         // of each warp that a scheduler has
constexpr double kSynapseCycles = 5.1;     // likewise, for each synapse of a lane
constexpr double kFourCycles = 350;        // of four synapses of a lane, which wait together
constexpr double kL2BytesPerCycle = 30;    // to one multiprocessor
constexpr double kSustainedClock = 1.0;    // of the highest
}  // namespace ltc_time

struct HearingCost {
  double cycles;
  LiquidBound bound;
};

HearingCost hearing(const LtcArguments& a, int slots, int samples) {
  const int threads = (samples * a.block_units) << a.lanes_shift;
  const double rounds = quotient_rounded_up(threads, kLtcThreads);
  const double warps = quotient_rounded_up(std::min(threads, kLtcThreads), 32);
  const double synapses = quotient_rounded_up(slots, 1 << a.lanes_shift);  // of a lane
  const double turns = rounds * std::ceil(warps / 4);                      // 4 schedulers
  const double waiting = rounds * std::ceil(synapses / 4) * ltc_time::kFourCycles;
  const double issuing = turns * (ltc_time::kWarpCycles + synapses * ltc_time::kSynapseCycles);
  const double l2 = a.resident ? 0 : 20.0 * slots * a.block_units / ltc_time::kL2BytesPerCycle;
  if (l2 > waiting + issuing) return {l2, LiquidBound::l2};
  return {waiting + issuing, waiting > issuing ? LiquidBound::latency : LiquidBound::arithmetic};
}

}  // namespace

void check_problem(const LtcProblem& problem) {
  check(problem.batch >= 0 && problem.steps >= 1 && problem.inputs >= 1 && problem.units >= 1 && problem.unfolds >= 1,
        Code::invalid_argument,
        "ltc: {} samples, {} steps, {} inputs, {} units, {} unfolds: every size but the batch is at least 1",
        problem.batch, problem.steps, problem.inputs, problem.units, problem.unfolds);
  check(problem.sensory_fan_in >= 0 && problem.sensory_fan_in <= problem.inputs && problem.recurrent_fan_in >= 0 &&
            problem.recurrent_fan_in <= problem.units,
        Code::invalid_argument, "ltc: {} and {} synapses of a unit, from {} inputs and {} units",
        problem.sensory_fan_in, problem.recurrent_fan_in, problem.inputs, problem.units);
}

void set_fan_in(LtcProblem& problem, const LtcWeights& weights) {
  const auto units = static_cast<std::size_t>(problem.units);
  const auto most = [&](std::span<const float> synapses, std::size_t sources) {
    check(synapses.size() == 4 * sources * units, Code::invalid_argument, "ltc: {} values for synapses of {} to {}",
          synapses.size(), sources, units);
    std::size_t out = 0;
    for (std::size_t j = 0; j < units; ++j) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < sources; ++i) count += synapses[i * units + j] != 0;
      out = std::max(out, count);
    }
    return static_cast<int>(out);
  };
  problem.sensory_fan_in = most(weights.sensory, static_cast<std::size_t>(problem.inputs));
  problem.recurrent_fan_in = most(weights.recurrent, units);
}

std::span<const LtcRow> ltc_rows() { return kLtcRows; }

std::string LtcRefusal::text() const {
  switch (reason) {
    case Reason::cluster: return fmt::format("{} blocks are more than the {} units", found, limit);
    case Reason::shared_memory: return fmt::format("needs {} bytes of shared memory, a block has {}", found, limit);
  }
  return "";
}

LtcLayout lay_out(const LtcProblem& problem, int samples, int cluster, bool resident) {
  LtcLayout out;
  LtcArguments& a = out.arguments;
  const auto take = [&](std::int64_t floats) {
    const std::int64_t at = out.shared_floats;
    out.shared_floats += (floats + 3) / 4 * 4;
    return static_cast<std::int32_t>(std::min<std::int64_t>(at, INT32_MAX));
  };
  a.cluster = cluster, a.resident = resident;
  a.inputs = problem.inputs, a.input_shift = exponent_of_two(problem.inputs);
  a.units = problem.units, a.block_units = quotient_rounded_up(problem.units, cluster);
  a.sensory.slots = problem.sensory_fan_in, a.recurrent.slots = problem.recurrent_fan_in;
  // Odd, so that units lie in different banks.
  a.sensory.pitch = a.sensory.slots | 1, a.recurrent.pitch = a.recurrent.slots | 1;
  // As many lanes for each unit as there are threads, synapses, and lanes in a warp: fewer were slower (measured).
  while (samples << (a.lanes_shift + 1) <= 32 && (samples * a.block_units) << (a.lanes_shift + 1) <= kLtcThreads &&
         1 << a.lanes_shift < std::max(a.sensory.slots, a.recurrent.slots))
    ++a.lanes_shift;
  a.times = problem.times;
  a.solver = static_cast<LtcSolver>(problem.solver);
  a.unfolds = problem.unfolds;
  a.unfold_part = static_cast<float>(1.0 / problem.unfolds);
  a.epsilon = static_cast<float>(problem.epsilon);
  a.potentials_pitch = a.units + 1;  // samples in different banks
  a.inputs_pitch = a.inputs + 1;
  a.own_at = take(std::int64_t{4} * samples * a.block_units);
  a.potentials_at = take(std::int64_t{2} * samples * a.potentials_pitch);
  a.inputs_at = take(std::int64_t{2} * samples * a.inputs_pitch);
  a.membrane_at = take(std::int64_t{4} * a.block_units);
  a.staging_at = take((std::int64_t{samples} << a.input_shift) + samples);
  a.times_at = take(std::int64_t{2} * samples);
  if (resident)
    for (LtcSynapses* synapses : {&a.sensory, &a.recurrent}) {
      const std::int64_t count = std::int64_t{synapses->pitch} * a.block_units;
      synapses->values_at = take(4 * count);
      synapses->sources_at = take(count);
    }
  return out;
}

LtcAnswer consider(const LtcRow& row, const LtcProblem& problem, const GpuSpec& gpu, int cluster) {
  using Reason = LtcRefusal::Reason;
  const std::int64_t most_bytes = gpu.shared_bytes - 1024;  // what the device keeps of each block
  std::optional<LtcOffer> best;
  LtcRefusal refusal{Reason::cluster, cluster, problem.units};
  for (const int blocks : kLiquidClusters) {
    if ((cluster != 0 && blocks != cluster) || blocks > problem.units) continue;
    for (const bool resident : {true, false}) {
      const LtcLayout layout = lay_out(problem, row.samples, blocks, resident);
      const std::int64_t bytes = layout.shared_floats * 4;
      if (bytes > most_bytes) {
        refusal = {Reason::shared_memory, bytes, most_bytes};
        continue;
      }
      const LtcArguments& a = layout.arguments;
      LtcOffer offer{.cluster = blocks, .resident = resident, .shared_bytes = static_cast<int>(bytes)};
      const int clusters = quotient_rounded_up(problem.batch, row.samples);
      offer.blocks = clusters * blocks;
      const HearingCost recurrent = hearing(a, a.recurrent.slots, row.samples);
      const double evaluation =
          recurrent.cycles + ltc_time::kEvaluationCycles + (blocks > 1 ? ltc_time::kClusterCycles : 0);
      const double step = problem.evaluations() * evaluation + hearing(a, a.sensory.slots, row.samples).cycles;
      const double waves = quotient_rounded_up(std::max(clusters, 1), resident_clusters(blocks, gpu));
      offer.seconds =
          ltc_time::kLaunchSeconds + waves * step * problem.steps / (gpu.clock_hz * ltc_time::kSustainedClock);
      offer.bound = recurrent.cycles > evaluation / 2 ? recurrent.bound : LiquidBound::latency;
      if (!best || offer.seconds < best->seconds) best = offer;
      break;  // what is resident need not be read again
    }
  }
  if (best) return *best;
  return refusal;
}

LtcPlan plan_ltc(const LtcProblem& problem, const GpuSpec& gpu) {
  check_problem(problem);
  LtcPlan plan;
  for (const LtcRow& row : kLtcRows) plan.weigh(row, consider(row, problem, gpu));
  return plan;
}

}  // namespace tessera::cuda
