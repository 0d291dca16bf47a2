// Layers above each other, and one for each direction of time: the same for the reference and for runners.

#include "tessera/core/error.h"
#include "tessera/ncp/internal/places.h"
#include "tessera/ncp/runner.h"
#include "tessera/ncp/sequence.h"

#include <fmt/format.h>

#include <functional>

namespace tessera::ncp {
namespace {

template <class Real>
struct Stage {
  const Layer* layer = nullptr;
  std::function<SequenceResult<Real>(const Sequence<Real>&)> run{};
};

template <class Real>
Stage<Real> stage(const StackedLayer<Real>& of) {
  return {of.layer, [of](const Sequence<Real>& s) { return run_reference(*of.layer, *of.parameters, s); }};
}

Stage<float> stage(const Runner& runner) {
  return {&runner.layer(), [&runner](const Sequence<float>& s) { return runner.run(s); }};
}

template <class Real>
std::vector<SequenceResult<Real>> stack(const std::vector<Stage<Real>>& layers, const Sequence<Real>& sequence) {
  std::vector<SequenceResult<Real>> results;
  Sequence<Real> now = sequence;
  now.state = now.memory = {};
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerSizes size = sizes(*layers[l].layer);
    check(l + 1 == layers.size() || size.return_sequences, Code::invalid_argument,
          "layer {} of {} returns its last output only, so the next has no sequence to run over", l, layers.size());
    check(size.batch_first == sizes(*layers[0].layer).batch_first, Code::invalid_argument,
          "layers 0 and {} do not agree on whether the batch comes first", l);
    results.push_back(
        with_context(fmt::format("while running layer {} of a stack", l), [&] { return layers[l].run(now); }));
    now.input = results.back().output;
  }
  return results;
}

template <class Real>
std::vector<Real> reversed(std::span<const Real> from, const LayerSizes& size, const Sequence<Real>& sequence) {
  const Places places(size.batch_first, sequence.batch, sequence.steps);
  const auto batch = static_cast<std::size_t>(sequence.batch), steps = static_cast<std::size_t>(sequence.steps);
  std::vector<Real> out(from.size());
  if (batch * steps == 0) return out;
  const std::size_t width = from.size() / (batch * steps);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t t = 0; t < steps; ++t) put(out, places.row(b, t), row(from, places.row(b, steps - 1 - t), width));
  return out;
}

template <class Real>
BidirectionalResult<Real> both_ways(const Stage<Real>& forward, const Stage<Real>& backward,
                                    const Sequence<Real>& sequence) {
  const LayerSizes size = sizes(*forward.layer), other = sizes(*backward.layer);
  check(size.return_sequences == other.return_sequences && size.batch_first == other.batch_first,
        Code::invalid_argument, "the two directions do not agree on return_sequences ({}, {}) or batch_first ({}, {})",
        size.return_sequences, other.return_sequences, size.batch_first, other.batch_first);
  check_sequence(*forward.layer, sequence);
  Sequence<Real> ahead = sequence;
  ahead.state = ahead.memory = {};
  Sequence<Real> back = ahead;
  const std::vector<Real> input = reversed(sequence.input, size, sequence);
  back.input = input;
  std::vector<Real> timespans;
  if (sequence.timespans.size() > 1) back.timespans = timespans = reversed(sequence.timespans, size, sequence);
  BidirectionalResult<Real> result;
  result.forward = forward.run(ahead);
  result.backward = backward.run(back);
  if (size.return_sequences)
    result.backward.output = reversed(std::span<const Real>(result.backward.output), size, sequence);
  const auto first = static_cast<std::size_t>(size.outputs), second = static_cast<std::size_t>(other.outputs);
  const std::size_t rows = result.forward.output.size() / first;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto append = [&](const std::vector<Real>& from, std::size_t width) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(r * width);
      result.output.insert(result.output.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
    };
    append(result.forward.output, first);
    append(result.backward.output, second);
  }
  return result;
}

}  // namespace

template <class Real>
std::vector<SequenceResult<Real>> run_stacked(std::span<const StackedLayer<Real>> layers,
                                              const Sequence<Real>& sequence) {
  std::vector<Stage<Real>> stages;
  for (const StackedLayer<Real>& layer : layers) stages.push_back(stage(layer));
  return stack(stages, sequence);
}

std::vector<SequenceResult<float>> run_stacked(std::span<const Runner* const> layers, const Sequence<float>& sequence) {
  std::vector<Stage<float>> stages;
  for (const Runner* layer : layers) stages.push_back(stage(*layer));
  return stack(stages, sequence);
}

template <class Real>
BidirectionalResult<Real> run_bidirectional(const StackedLayer<Real>& forward, const StackedLayer<Real>& backward,
                                            const Sequence<Real>& sequence) {
  return both_ways(stage(forward), stage(backward), sequence);
}

BidirectionalResult<float> run_bidirectional(const Runner& forward, const Runner& backward,
                                             const Sequence<float>& sequence) {
  return both_ways(stage(forward), stage(backward), sequence);
}

#define TSR_INSTANTIATE(Real)                                                                                        \
  template TSR_API std::vector<SequenceResult<Real>> run_stacked(std::span<const StackedLayer<Real>>,                \
                                                                 const Sequence<Real>&);                             \
  template TSR_API BidirectionalResult<Real> run_bidirectional(const StackedLayer<Real>&, const StackedLayer<Real>&, \
                                                               const Sequence<Real>&);
TSR_INSTANTIATE(float)
TSR_INSTANTIATE(double)
#undef TSR_INSTANTIATE

}  // namespace tessera::ncp
