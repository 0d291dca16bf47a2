#include "tessera/targets/cuda/kernels/liquid/ltc.h"

#include "tessera/core/error.h"

#include <array>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace tessera::cuda {

namespace {

static_assert(static_cast<int>(LtcSolver::semi_implicit) == static_cast<int>(Ltc::Solver::semi_implicit) &&
              static_cast<int>(LtcSolver::explicit_euler) == static_cast<int>(Ltc::Solver::explicit_euler) &&
              static_cast<int>(LtcSolver::runge_kutta) == static_cast<int>(Ltc::Solver::runge_kutta));

struct PackedSynapses {
  std::vector<float> values;
  std::vector<std::int32_t> sources;
};

// See LtcSynapses.
PackedSynapses pack_synapses(std::span<const float> given, int sources, const LtcArguments& a, int pitch) {
  const auto units = static_cast<std::size_t>(a.units), block_units = static_cast<std::size_t>(a.block_units),
             each = static_cast<std::size_t>(sources) * units,
             all = block_units * static_cast<std::size_t>(a.cluster) * static_cast<std::size_t>(pitch);
  PackedSynapses out;
  out.values.resize(all * 4);
  out.sources.resize(all, -1);
  for (std::size_t j = 0; j < units; ++j) {
    std::size_t to = j * static_cast<std::size_t>(pitch);
    for (int i = 0; i < sources; ++i) {
      const std::size_t from = static_cast<std::size_t>(i) * units + j;
      const auto value = [&](std::size_t row) { return static_cast<double>(given[row * each + from]); };
      const double weight = value(Ltc::kWeight), sigma = value(Ltc::kSigma);
      if (weight == 0) continue;
      out.sources[to] = i;
      float* synapse = out.values.data() + to * 4;
      synapse[0] = static_cast<float>(-sigma * std::numbers::log2e);
      synapse[1] = static_cast<float>(sigma * value(Ltc::kMu) * std::numbers::log2e);
      synapse[2] = static_cast<float>(weight);
      synapse[3] = static_cast<float>(weight * value(Ltc::kReversal));
      ++to;
    }
  }
  return out;
}

}  // namespace

PreparedLtc::PreparedLtc(KernelLibrary& library, const LtcProblem& problem, const LtcRow& row, const LtcOffer& offer,
                         const LtcWeights& weights)
    : problem_(problem), offer_(offer) {
  check_problem(problem);
  std::string kernel(row.name);
  if (offer.cluster > 1) kernel += "_cluster";
  if (problem.is_usual() && offer.resident) kernel += "_usual";
  function_ = library.function(Binary::ltc, kernel);
  LtcProblem counted = problem;
  set_fan_in(counted, weights);
  check(counted.sensory_fan_in <= problem.sensory_fan_in && counted.recurrent_fan_in <= problem.recurrent_fan_in,
        Code::invalid_argument, "ltc: a unit has {} and {} synapses, the problem says {} and {}",
        counted.sensory_fan_in, counted.recurrent_fan_in, problem.sensory_fan_in, problem.recurrent_fan_in);
  const auto units = static_cast<std::size_t>(problem.units);
  check(weights.membrane.size() == 3 * units, Code::invalid_argument, "ltc: {} values for the membranes of {} units",
        weights.membrane.size(), units);
  arguments_ = lay_out(problem, row.samples, offer.cluster, offer.resident).arguments;
  LtcArguments& a = arguments_;
  const PackedSynapses sensory = pack_synapses(weights.sensory, problem.inputs, a, a.sensory.pitch),
                       recurrent = pack_synapses(weights.recurrent, problem.units, a, a.recurrent.pitch);
  std::vector<float> membrane(4 * static_cast<std::size_t>(a.block_units) * static_cast<std::size_t>(a.cluster));
  for (std::size_t j = 0; j < units; ++j)
    for (std::size_t i = 0; i < 3; ++i) membrane[j * 4 + i] = weights.membrane[i * units + j];
  const auto copied = [&](const auto& values) { return Memory(library.context(), std::as_bytes(std::span(values))); };
  sensory_values_ = copied(sensory.values), sensory_sources_ = copied(sensory.sources);
  recurrent_values_ = copied(recurrent.values), recurrent_sources_ = copied(recurrent.sources);
  membrane_ = copied(membrane);
  a.sensory.values = static_cast<const float*>(sensory_values_.data());
  a.sensory.sources = static_cast<const std::int32_t*>(sensory_sources_.data());
  a.recurrent.values = static_cast<const float*>(recurrent_values_.data());
  a.recurrent.sources = static_cast<const std::int32_t*>(recurrent_sources_.data());
  a.membrane = static_cast<const float*>(membrane_.data());
  function_.allow_shared_bytes(offer.shared_bytes);
}

PreparedLtc::Bound PreparedLtc::bind(const LiquidTensors& tensors) const {
  check((tensors.times != nullptr) == (problem_.times != LiquidTimes::none) || problem_.batch == 0,
        Code::invalid_argument, "ltc: times were {}, the layer was made ready {} them",
        tensors.times != nullptr ? "given" : "left out", problem_.times == LiquidTimes::none ? "without" : "with");
  Bound out;
  out.function_ = function_;
  out.shape_ = {.blocks = offer_.blocks,
                .threads = kLtcThreads,
                .cluster = offer_.cluster,
                .shared_bytes = offer_.shared_bytes,
                .early_start = true};
  out.arguments_ = arguments_;
  out.arguments_.sequence = sequence_of(tensors, {.batch = problem_.batch,
                                                  .steps = problem_.steps,
                                                  .inputs = problem_.inputs,
                                                  .units = problem_.units,
                                                  .unit_times = problem_.times == LiquidTimes::each_unit,
                                                  .batch_first = problem_.batch_first});
  return out;
}

void PreparedLtc::Bound::launch(const Stream& stream) const {
  if (shape_.blocks == 0) return;
  LtcArguments arguments = arguments_;
  std::array<void*, 1> values{&arguments};
  function_.launch(stream, shape_, values.data());
}

}  // namespace tessera::cuda
