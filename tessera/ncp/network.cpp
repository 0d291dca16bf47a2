#include "tessera/ncp/internal/network.h"

#include <fmt/format.h>

#include <utility>

namespace tessera::ncp {
namespace {

template <class Real>
WiredCfcCell<Real> make_cell(const CfcLayer& layer, const ParameterSet<Real>& p) {
  WiredCfcCell<Real> out;
  if (!layer.wiring) {
    out.cells.emplace_back(layer, p, "rnn_cell.", layer.inputs, layer.units);
    return out;
  }
  int inputs = layer.inputs;
  for (std::size_t l = 0; l < layer.wiring->layers.size(); ++l) {
    const int hidden = static_cast<int>(layer.wiring->layers[l].neurons.size());
    out.cells.emplace_back(layer, p, fmt::format("rnn_cell.layer_{}.", l), inputs, hidden);
    inputs = hidden;
  }
  return out;
}

template <class Real>
LtcCell<Real> make_cell(const LtcLayer& layer, const ParameterSet<Real>& p) {
  return LtcCell<Real>(layer, p);
}

template <class Real>
std::vector<Real> slice(const std::vector<Real>& from, std::size_t first, int count) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + count};
}

template <class Real>
std::vector<Real> forward(const WiredCfcCell<Real>& wired, const ParameterSet<Real>& p, std::vector<Real> x,
                          const std::vector<Real>& h, const Elapsed<Real>& ts, const DropoutKey& key) {
  std::vector<Real> next;
  for (const CfcCell<Real>& cell : wired.cells) {
    const std::size_t at = next.size(), count = static_cast<std::size_t>(cell.hidden);
    x = cell.forward(p, x, slice(h, at, cell.hidden), ts.of(at, count), key);
    next.insert(next.end(), x.begin(), x.end());
  }
  return next;
}

template <class Real>
void backward(const WiredCfcCell<Real>& wired, const ParameterSet<Real>& p, const std::vector<Real>& x,
              const std::vector<Real>& h, const Elapsed<Real>& ts, const DropoutKey& key,
              const std::vector<Real>& d_next, std::vector<Real>& dx, std::vector<Real>& dh,
              std::vector<Real>& d_elapsed, ParameterSet<Real>& gradients) {
  std::vector<std::vector<Real>> in{x};
  std::size_t at = 0;
  for (const CfcCell<Real>& cell : wired.cells) {
    const auto count = static_cast<std::size_t>(cell.hidden);
    in.push_back(cell.forward(p, in.back(), slice(h, at, cell.hidden), ts.of(at, count), key));
    at += count;
  }
  std::vector<Real> from_above;  // what the layer above asks of this one's new state
  for (std::size_t l = wired.cells.size(); l-- > 0;) {
    const CfcCell<Real>& cell = wired.cells[l];
    at -= static_cast<std::size_t>(cell.hidden);
    std::vector<Real> d = slice(d_next, at, cell.hidden);
    for (std::size_t i = 0; i < from_above.size(); ++i) d[i] += from_above[i];
    std::vector<Real> d_in(in[l].size()), d_own(d.size()), d_times(d.size());
    cell.backward(p, in[l], slice(h, at, cell.hidden), ts.of(at, d.size()), key, d, d_in, d_own, d_times, gradients);
    for (std::size_t i = 0; i < d_own.size(); ++i) dh[at + i] += d_own[i];
    for (std::size_t i = 0; i < d_own.size(); ++i) d_elapsed[at + i] += d_times[i];
    from_above = std::move(d_in);
  }
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += from_above[i];
}

}  // namespace

template <class Real>
Network<Real>::Network(const Layer& layer, const ParameterSet<Real>& parameters)
    : p_(parameters),
      cell_(std::visit([&](const auto& l) -> decltype(cell_) { return make_cell(l, parameters); }, layer)),
      readout_(static_cast<std::size_t>(sizes(layer).readout)) {
  if (sizes(layer).mixed_memory) memory_.emplace(parameters);
  if (parameters.find("fc.weight") >= 0) projection_ = find_linear(parameters, "fc");
}

template <class Real>
void Network<Real>::step(const std::vector<Real>& x, StepState<Real>& now, const Elapsed<Real>& ts,
                         const DropoutKey& key) const {
  if (memory_) memory_->forward(p_, x, now.state, now.memory);
  if (const auto* wired = std::get_if<WiredCfcCell<Real>>(&cell_))
    now.state = forward(*wired, p_, x, now.state, ts, key);
  else
    now.state = std::get<LtcCell<Real>>(cell_).forward(p_, x, now.state, ts);
}

template <class Real>
void Network<Real>::step_backward(const std::vector<Real>& x, const StepState<Real>& before, const Elapsed<Real>& ts,
                                  const DropoutKey& key, StepState<Real>& d, std::vector<Real>& dx,
                                  std::vector<Real>& d_elapsed, ParameterSet<Real>& gradients) const {
  StepState<Real> start = before;
  if (memory_) memory_->forward(p_, x, start.state, start.memory);
  std::vector<Real> d_start(start.state.size());
  if (const auto* wired = std::get_if<WiredCfcCell<Real>>(&cell_))
    backward(*wired, p_, x, start.state, ts, key, d.state, dx, d_start, d_elapsed, gradients);
  else
    std::get<LtcCell<Real>>(cell_).backward(p_, x, start.state, ts, d.state, dx, d_start, d_elapsed, gradients);
  d.state = std::move(d_start);
  if (memory_) memory_->backward(p_, x, before.state, before.memory, dx, d.state, d.memory, gradients);
}

// The last layer's state of a CfC; an LTC maps its motor neurons, which come first.
template <class Real>
std::vector<Real> Network<Real>::readout(const std::vector<Real>& state) const {
  if (const auto* ltc = std::get_if<LtcCell<Real>>(&cell_)) return ltc->readout(p_, state);
  return {state.end() - static_cast<std::ptrdiff_t>(readout_), state.end()};
}

template <class Real>
std::vector<Real> Network<Real>::output(const std::vector<Real>& state) const {
  std::vector<Real> out = readout(state);
  return projection_ ? apply(*projection_, p_, out) : out;
}

template <class Real>
void Network<Real>::output_backward(const std::vector<Real>& state, const std::vector<Real>& d_output,
                                    std::vector<Real>& d_state, ParameterSet<Real>& gradients) const {
  std::vector<Real> d = d_output;
  if (projection_) {
    d.assign(readout_, Real{0});
    apply_backward(*projection_, p_, readout(state), d_output, d, gradients);
  }
  if (const auto* ltc = std::get_if<LtcCell<Real>>(&cell_))
    return ltc->readout_backward(p_, state, d, d_state, gradients);
  for (std::size_t i = 0; i < readout_; ++i) d_state[d_state.size() - readout_ + i] += d[i];
}

template class Network<float>;
template class Network<double>;

}  // namespace tessera::ncp
