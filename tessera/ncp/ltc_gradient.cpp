#include "tessera/ncp/internal/ltc_gradient.h"

#include "tessera/core/parallel_for.h"
#include "tessera/ncp/internal/packed_ltc.h"

#include <algorithm>
#include <numbers>
#include <numeric>

namespace tessera::ncp {
namespace {

constexpr std::int64_t kWantedChunks = 8;

void zero(std::vector<float>& v, std::int64_t count) {
  if (static_cast<std::int64_t>(v.size()) < count) v.resize(static_cast<std::size_t>(count));
  std::fill_n(v.begin(), count, 0.0f);
}

void fit(std::vector<float>& v, std::int64_t count) {
  if (static_cast<std::int64_t>(v.size()) < count) v.resize(static_cast<std::size_t>(count));
}
}  // namespace

SynapseList TrainedSynapses::list() const {
  return {.first = first.data(),
          .source = source.data(),
          .slope = slope.data(),
          .mu = mu.data(),
          .sigma = sigma.data(),
          .weight = weight.data(),
          .current = current.data()};
}

void TrainedSynapses::take(const ParameterSet<float>& p) {
  source.clear();
  place.clear();
  first.assign(1, 0);
  for (auto* list : {&slope, &mu, &sigma, &weight, &current}) list->clear();
  for (std::size_t j = 0; j < of.destinations; ++j) {
    for (std::size_t i = 0; i < of.sources; ++i) {
      const std::size_t at = i * of.destinations + j;
      const float mask = p.at(of.mask)[at];
      if (mask == 0) continue;
      source.push_back(static_cast<std::int32_t>(i));
      place.push_back(static_cast<std::int32_t>(at));
      const double raw = p.at(of.w)[at], positive = (of.softplus ? softplus(raw) : raw) * mask;
      slope.push_back(static_cast<float>(-p.at(of.sigma)[at] * std::numbers::log2e));
      mu.push_back(p.at(of.mu)[at]);
      sigma.push_back(p.at(of.sigma)[at]);
      weight.push_back(static_cast<float>(positive));
      current.push_back(static_cast<float>(positive * p.at(of.erev)[at]));
    }
    first.push_back(static_cast<std::int32_t>(source.size()));
  }
}

void TrainedSynapses::put_gradients(const ParameterSet<float>& p, const float* sums,
                                    ParameterSet<float>& gradients) const {
  for (std::size_t s = 0; s < source.size(); ++s, sums += kSynapseSums) {
    const auto at = static_cast<std::size_t>(place[s]);
    const float raw = p.at(of.w)[at], mask = p.at(of.mask)[at];
    gradients.at(of.erev)[at] = sums[0] * weight[s];
    gradients.at(of.w)[at] =
        (sums[0] * p.at(of.erev)[at] + sums[1]) * mask * (of.softplus ? tessera::ncp::sigmoid(raw) : 1.0f);
    gradients.at(of.mu)[at] = -sums[2] * sigma[s];
    gradients.at(of.sigma)[at] = sums[3];
  }
}

bool LtcGradient::takes(const LtcLayer& layer) {
  return layer.solver == OdeSolver::semi_implicit && !layer.mixed_memory;
}

LtcGradient::LtcGradient(const LtcLayer& layer, Precision precision, const LtcGradientKernel& kernel,
                         const BackwardKernel& back)
    : sizes_(sizes(layer)),
      unfolds_(layer.ode_unfolds),
      epsilon_(static_cast<float>(layer.epsilon)),
      softplus_(layer.implicit_constraints),
      precision_(precision),
      kernel_(&kernel),
      back_(&back) {
  cell_.emplace(layer, zeros<float>(parameter_list(layer)));
  recurrent_.of = cell_->recurrent;
  sensory_.of = cell_->sensory;
}

void LtcGradient::set_parameters(const ParameterSet<float>& parameters) {
  parameters_ = parameters;
  ParameterSet<float>& p = parameters_;
  if (precision_ != Precision::float32)
    for (Parameter<float>& item : p.items) round(item.values.data(), static_cast<std::int64_t>(item.values.size()));
  recurrent_.take(p);
  sensory_.take(p);
  leak_.clear();
  leak_current_.clear();
  capacity_.clear();
  const auto positive = [&](float x) { return softplus_ ? softplus(x) : x; };
  for (std::size_t j = 0; j < cell_->units; ++j) {
    leak_.push_back(positive(p.at(cell_->gleak)[j]));
    leak_current_.push_back(leak_.back() * p.at(cell_->vleak)[j]);
    capacity_.push_back(positive(p.at(cell_->cm)[j]));
  }
  input_w_ = values_or(p, cell_->input_w, sizes_.inputs, 1);
  input_b_ = values_or(p, cell_->input_b, sizes_.inputs, 0);
  output_w_ = values_or(p, cell_->output_w, sizes_.outputs, 1);
  output_b_ = values_or(p, cell_->output_b, sizes_.outputs, 0);
}

std::int64_t LtcGradient::gradient_size() const {
  return kSynapseSums * (recurrent_.count() + sensory_.count()) + kUnitSums * sizes_.state + 2 * sizes_.inputs +
         2 * sizes_.outputs;
}

LtcTrainingStep LtcGradient::step_of(const BatchChunk& chunk, Tape& tape, std::int64_t step) const {
  const std::int64_t state = sizes_.state * tape.stride;
  return {.units = sizes_.state,
          .inputs = sizes_.inputs,
          .unfolds = unfolds_,
          .vectors = static_cast<int>((chunk.active(step) + kernel_->lanes - 1) / kernel_->lanes),
          .stride = tape.stride,
          .epsilon = epsilon_,
          .sensory = sensory_.list(),
          .recurrent = recurrent_.list(),
          .leak = leak_.data(),
          .leak_current = leak_current_.data(),
          .capacity = capacity_.data(),
          .elapsed = tape.elapsed.data() + step * tape.stride,
          .input = tape.input.data() + step * sizes_.inputs * tape.stride,
          .states = tape.states.data() + step * unfolds_ * state,
          .inverse = tape.inverse.data() + step * unfolds_ * state,
          .time_slope = differentiate_timespans_ ? tape.time_slope.data() + step * unfolds_ * state : nullptr,
          .scratch = tape.scratch.data(),
          .d = tape.d.data(),
          .d_input = tape.d_input.data(),
          .d_elapsed = tape.d_elapsed.data(),
          .recurrent_sums = tape.recurrent_sums.data(),
          .sensory_sums = tape.sensory_sums.data(),
          .unit_sums = tape.unit_sums.data()};
}

void LtcGradient::forward_chunk(const Sequence<float>& sequence, const BatchChunk& chunk, Tape& tape,
                                SequenceResult<float>& result) const {
  const std::int64_t lanes = kernel_->lanes, stride = (chunk.rows() + lanes - 1) / lanes * lanes;
  const std::int64_t units = sizes_.state, inputs = sizes_.inputs, steps = chunk.steps(), state = units * stride;
  tape.stride = stride;
  // Lanes without a sample have to hold numbers.
  zero(tape.x, steps * inputs * stride);
  zero(tape.input, steps * inputs * stride);
  zero(tape.elapsed, steps * stride);
  zero(tape.states, state);
  fit(tape.states, (steps * unfolds_ + 1) * state);
  fit(tape.inverse, steps * unfolds_ * state);
  if (differentiate_timespans_) fit(tape.time_slope, steps * unfolds_ * state);
  fit(tape.scratch, 4 * state);
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  if (!sequence.state.empty())
    for (std::int64_t r = 0; r < chunk.rows(); ++r)
      for (std::int64_t j = 0; j < units; ++j)
        tape.states[size(j * stride + r)] = sequence.state[size(chunk.sample(r) * units + j)];
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t r = 0; r < chunk.active(t); ++r) {
      const std::int64_t from = row_of(chunk.sample(r), t);
      for (std::int64_t i = 0; i < inputs; ++i) {
        const float x = sequence.input[size(from * inputs + i)];
        const std::size_t to = size((t * inputs + i) * stride + r);
        tape.x[to] = x;
        tape.input[to] = x * input_w_[size(i)] + input_b_[size(i)];
      }
      const float whole =
          sequence.timespans.empty() ? 1.0f : sequence.timespans[sequence.timespans.size() == 1 ? 0 : size(from)];
      tape.elapsed[size(t * stride + r)] = whole / static_cast<float>(unfolds_);
    }
    if (precision_ != Precision::float32) round(tape.input.data() + t * inputs * stride, inputs * stride);
    kernel_->forward(step_of(chunk, tape, t));
    float* after = tape.states.data() + (t + 1) * unfolds_ * state;
    if (precision_ != Precision::float32) round(after, state);
    for (std::int64_t r = 0; r < chunk.active(t); ++r) {
      const std::int64_t sample = chunk.sample(r);
      const bool last = t + 1 == chunk.length(r);
      if (sizes_.return_sequences || last) {
        float* to = result.output.data() + (sizes_.return_sequences ? row_of(sample, t) : sample) * sizes_.outputs;
        for (std::int64_t i = 0; i < sizes_.outputs; ++i)
          to[i] = after[i * stride + r] * output_w_[size(i)] + output_b_[size(i)];
      }
      for (std::int64_t j = 0; last && j < units; ++j) result.state[size(sample * units + j)] = after[j * stride + r];
    }
  }
}

void LtcGradient::backward_chunk(std::span<const float> d_output, std::span<const float> d_state,
                                 const BatchChunk& chunk, Tape& tape, SequenceGradients<float>& gradients) const {
  const std::int64_t lanes = kernel_->lanes, stride = tape.stride, units = sizes_.state, inputs = sizes_.inputs;
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  zero(tape.d, units * stride);
  fit(tape.d_input, inputs * stride);
  fit(tape.d_elapsed, stride);
  zero(tape.recurrent_sums, recurrent_.count() * kSynapseSums * lanes);
  zero(tape.sensory_sums, sensory_.count() * kSynapseSums * lanes);
  zero(tape.unit_sums, units * kUnitSums * lanes);
  zero(tape.gradient, gradient_size());
  float* maps = tape.gradient.data() + gradient_size() - 2 * inputs - 2 * sizes_.outputs;
  float* output_maps = maps + 2 * inputs;
  for (std::int64_t t = chunk.steps(); t-- > 0;) {
    const float* after = tape.states.data() + (t + 1) * unfolds_ * units * stride;
    for (std::int64_t r = 0; r < chunk.active(t); ++r) {
      const std::int64_t sample = chunk.sample(r);
      const bool last = t + 1 == chunk.length(r);
      for (std::int64_t j = 0; last && !d_state.empty() && j < units; ++j)
        tape.d[size(j * stride + r)] = d_state[size(sample * units + j)];
      if (!sizes_.return_sequences && !last) continue;
      const float* d = d_output.data() + (sizes_.return_sequences ? row_of(sample, t) : sample) * sizes_.outputs;
      for (std::int64_t i = 0; i < sizes_.outputs; ++i) {
        output_maps[i] += d[i] * after[i * stride + r];
        output_maps[sizes_.outputs + i] += d[i];
        tape.d[size(i * stride + r)] += d[i] * output_w_[size(i)];
      }
    }
    kernel_->backward(step_of(chunk, tape, t));
    if (precision_ != Precision::float32) round(tape.d.data(), units * stride);
    for (std::int64_t r = 0; r < chunk.active(t); ++r) {
      float* to = gradients.input.data() + row_of(chunk.sample(r), t) * inputs;
      for (std::int64_t i = 0; i < inputs; ++i) {
        const float d = tape.d_input[size(i * stride + r)];
        maps[i] += d * tape.x[size((t * inputs + i) * stride + r)];
        maps[inputs + i] += d;
        to[i] = d * input_w_[size(i)];
      }
      if (differentiate_timespans_)
        gradients.timespans[size(row_of(chunk.sample(r), t))] = tape.d_elapsed[size(r)] / static_cast<float>(unfolds_);
    }
  }
  for (std::int64_t r = 0; r < chunk.rows(); ++r)
    for (std::int64_t j = 0; j < units; ++j)
      gradients.state[size(chunk.sample(r) * units + j)] = tape.d[size(j * stride + r)];
  float* to = tape.gradient.data();
  const auto add_lanes = [&](const std::vector<float>& from, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto begin = from.begin() + i * lanes;
      *to++ = std::accumulate(begin, begin + lanes, 0.0f);
    }
  };
  add_lanes(tape.recurrent_sums, recurrent_.count() * kSynapseSums);
  add_lanes(tape.sensory_sums, sensory_.count() * kSynapseSums);
  add_lanes(tape.unit_sums, units * kUnitSums);
}

std::int64_t LtcGradient::rows_of_chunk(std::int64_t batch) const {
  const std::int64_t lanes = kernel_->lanes;
  return lanes * std::clamp<std::int64_t>(batch / (lanes * kWantedChunks), 1, kMostSampleVectors);
}

void LtcGradient::forward(const Sequence<float>& sequence, std::span<const std::int32_t> lengths,
                          SequenceResult<float>& result, const BatchShare& share) {
  batch_ = sequence.batch;
  steps_ = sequence.steps;
  differentiate_timespans_ = sequence.differentiate_timespans;
  cut_batch(batch_, steps_, lengths, rows_of_chunk(share.whole > 0 ? share.whole : batch_), chunks_);
  if (tapes_.size() < chunks_.size()) tapes_.resize(chunks_.size());
  parallel_for(static_cast<std::int64_t>(chunks_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto c = static_cast<std::size_t>(begin); c < static_cast<std::size_t>(end); ++c)
      forward_chunk(sequence, chunks_[c], tapes_[c], result);
  });
}

void LtcGradient::backward(std::span<const float> d_output, std::span<const float> d_state,
                           SequenceGradients<float>& gradients, GradientExchange* exchange) {
  const ParameterSet<float>& p = parameters_;
  parallel_for(static_cast<std::int64_t>(chunks_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto c = static_cast<std::size_t>(begin); c < static_cast<std::size_t>(end); ++c)
      backward_chunk(d_output, d_state, chunks_[c], tapes_[c], gradients);
  });
  std::vector<float> sums(static_cast<std::size_t>(gradient_size()));
  std::vector<const float*> rows;
  for (std::size_t c = 0; c < chunks_.size(); ++c) rows.push_back(tapes_[c].gradient.data());
  if (exchange != nullptr) {
    begin_buckets(*exchange, rows, 0, gradient_size(), sums);
    exchange->wait();
  } else {
    add_parts(rows, sums);
  }
  ParameterSet<float>& out = gradients.parameters;
  for (Parameter<float>& item : out.items) std::fill(item.values.begin(), item.values.end(), 0.0f);
  const float* at = sums.data();
  recurrent_.put_gradients(p, at, out);
  at += kSynapseSums * recurrent_.count();
  sensory_.put_gradients(p, at, out);
  at += kSynapseSums * sensory_.count();
  const auto slope = [&](float x) { return softplus_ ? sigmoid(x) : 1.0f; };
  for (std::size_t j = 0; j < cell_->units; ++j, at += kUnitSums) {
    out.at(cell_->cm)[j] = at[0] * slope(p.at(cell_->cm)[j]);
    out.at(cell_->vleak)[j] = at[1] * leak_[j];
    out.at(cell_->gleak)[j] = (at[1] * p.at(cell_->vleak)[j] + at[2]) * slope(p.at(cell_->gleak)[j]);
  }
  const auto put = [&](int index, int count) {
    if (index >= 0) std::copy_n(at, count, out.at(index));
    at += count;
  };
  put(cell_->input_w, sizes_.inputs);
  put(cell_->input_b, sizes_.inputs);
  put(cell_->output_w, sizes_.outputs);
  put(cell_->output_b, sizes_.outputs);
}

}  // namespace tessera::ncp
