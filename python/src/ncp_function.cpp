#include "ncp_function.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>

namespace tessera::python {
namespace {

// Of layers in training that wait to be used again: each keeps the memory of a forward pass.
constexpr std::size_t kMostIdle = 16;

template <class Real>
std::span<const Real> span_of(const Real* from, std::int64_t count) {
  if (from == nullptr) return {};
  return {from, static_cast<std::size_t>(count)};
}

template <class Real>
ncp::Sequence<Real> sequence_of(const ncp::LayerSizes& sizes, const FunctionArguments<Real>& given) {
  const std::int64_t states = given.batch * sizes.state;
  return {given.batch,
          given.steps,
          span_of(given.input, given.batch * given.steps * sizes.inputs),
          span_of(given.timespans, given.timespan_count),
          span_of(given.state, states),
          span_of(given.memory, states),
          given.dropout_seed,
          given.differentiate_timespans};
}

template <class Real>
void put(const std::vector<Real>& from, Real* to) {
  if (to != nullptr) std::copy(from.begin(), from.end(), to);
}

template <class Real>
void put(const ncp::SequenceResult<Real>& from, const FunctionResults<Real>& to) {
  put(from.output, to.output);
  put(from.state, to.state);
  put(from.memory, to.memory);
}

template <class Real>
void put(const ncp::SequenceGradients<Real>& from, const FunctionGradients<Real>& to) {
  put(from.input, to.input);
  put(from.timespans, to.timespans);
  put(from.state, to.state);
  put(from.memory, to.memory);
  for (std::size_t i = 0; i < to.parameters.size(); ++i) put(from.parameters.items[i].values, to.parameters[i]);
}

// What gradients of results are as spans: zeros where the output has none.
template <class Real>
class Given {
 public:
  Given(const ncp::LayerSizes& sizes, const ncp::Sequence<Real>& sequence, const ResultGradients<Real>& by) {
    const std::int64_t count = sequence.batch * (sizes.return_sequences ? sequence.steps : 1) * sizes.outputs;
    if (by.output == nullptr) zeros_.resize(static_cast<std::size_t>(count));
    output = by.output == nullptr ? std::span<const Real>(zeros_) : span_of(by.output, count);
    state = span_of(by.state, sequence.batch * sizes.state);
    memory = span_of(by.memory, sequence.batch * sizes.state);
  }
  std::span<const Real> output, state, memory;

 private:
  std::vector<Real> zeros_;
};

template <class Real>
ncp::ParameterSet<Real> set_of(const std::vector<ncp::ParameterInfo>& list, const std::vector<const Real*>& from) {
  ncp::ParameterSet<Real> out;
  for (std::size_t i = 0; i < list.size(); ++i) out.items.push_back({list[i], {from[i], from[i] + list[i].count()}});
  return out;
}

class ReferenceCall final : public FunctionCall<double> {
 public:
  ReferenceCall(ncp::Layer layer, ncp::ParameterSet<double> parameters, const ncp::Sequence<double>& sequence)
      : layer_(std::move(layer)), parameters_(std::move(parameters)), sequence_(sequence) {}
  void backward(const ResultGradients<double>& by, const FunctionGradients<double>& to) override {
    const Given<double> given(ncp::sizes(layer_), sequence_, by);
    put(ncp::differentiate_reference<double>(layer_, parameters_, sequence_, given.output, given.state, given.memory),
        to);
  }

 private:
  ncp::Layer layer_;
  ncp::ParameterSet<double> parameters_;
  ncp::Sequence<double> sequence_;
};

}  // namespace

struct NcpFunction::State {
  struct Trained {
    explicit Trained(const ncp::Layer& layer) : gradient(layer) {}
    ncp::Gradient gradient;
    std::uint64_t version = 0;  // of the parameters in it; 0: none
    ncp::SequenceResult<float> result{};
    ncp::SequenceGradients<float> gradients{};
  };

  ncp::Layer layer;
  std::vector<ncp::ParameterInfo> list;
  ncp::LayerSizes sizes;

  std::mutex mutex;  // of all below
  ncp::ParameterSet<float> parameters{};
  std::uint64_t version = 0;
  std::shared_ptr<const ncp::Runner> runner{};
  std::vector<std::unique_ptr<Trained>> idle{};

  explicit State(ncp::Layer from)
      : layer(std::move(from)), list(ncp::parameter_list(layer)), sizes(ncp::sizes(layer)) {}

  // Bytes are compared: whatever changed a tensor, it is seen. A set that does not fit leaves the last one.
  void take(const std::vector<const float*>& from) {
    bool same = version > 0;
    for (std::size_t i = 0; same && i < list.size(); ++i)
      same = std::memcmp(parameters.at(static_cast<int>(i)), from[i],
                         static_cast<std::size_t>(list[i].count()) * sizeof(float)) == 0;
    if (same) return;
    ncp::ParameterSet<float> next = set_of(list, from);
    ncp::check_parameters(layer, next);
    parameters = std::move(next);
    ++version;
    runner.reset();
  }
  std::shared_ptr<const ncp::Runner> runner_of(const std::vector<const float*>& from) {
    const std::scoped_lock lock(mutex);
    take(from);
    if (!runner) runner = std::make_shared<const ncp::Runner>(layer, parameters);
    return runner;
  }
  std::unique_ptr<Trained> trained_of(const std::vector<const float*>& from) {
    const std::scoped_lock lock(mutex);
    take(from);
    std::unique_ptr<Trained> out;
    if (idle.empty()) {
      out = std::make_unique<Trained>(layer);
    } else {
      out = std::move(idle.back());
      idle.pop_back();
    }
    if (out->version != version) out->gradient.set_parameters(parameters);
    out->version = version;
    return out;
  }
  void give_back(std::unique_ptr<Trained> trained) {
    const std::scoped_lock lock(mutex);
    if (idle.size() < kMostIdle) idle.push_back(std::move(trained));
  }

  class Call final : public FunctionCall<float> {
   public:
    Call(std::shared_ptr<State> state, std::unique_ptr<Trained> trained, const ncp::Sequence<float>& sequence)
        : state_(std::move(state)), trained_(std::move(trained)), sequence_(sequence) {}
    ~Call() override { state_->give_back(std::move(trained_)); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    void forward() { trained_->gradient.forward(sequence_, trained_->result); }
    const ncp::SequenceResult<float>& result() const { return trained_->result; }
    void backward(const ResultGradients<float>& by, const FunctionGradients<float>& to) override {
      if (went_back_) forward();  // the way back leaves nothing of the tape
      went_back_ = true;
      const Given<float> given(state_->sizes, sequence_, by);
      trained_->gradient.backward(given.output, trained_->gradients, given.state, given.memory);
      put(trained_->gradients, to);
    }

   private:
    std::shared_ptr<State> state_;
    std::unique_ptr<Trained> trained_;
    ncp::Sequence<float> sequence_;
    bool went_back_ = false;
  };
};

NcpFunction::NcpFunction(ncp::Layer layer) : state_(std::make_shared<State>(std::move(layer))) {}

const ncp::Layer& NcpFunction::layer() const { return state_->layer; }
const std::vector<ncp::ParameterInfo>& NcpFunction::parameters() const { return state_->list; }
const ncp::LayerSizes& NcpFunction::sizes() const { return state_->sizes; }

void NcpFunction::run(const FunctionArguments<float>& arguments, const FunctionResults<float>& results) const {
  put(state_->runner_of(arguments.parameters)->run(sequence_of(state_->sizes, arguments)), results);
}

void NcpFunction::run(const FunctionArguments<double>& arguments, const FunctionResults<double>& results) const {
  const auto parameters = set_of(state_->list, arguments.parameters);
  put(ncp::run_reference<double>(state_->layer, parameters, sequence_of(state_->sizes, arguments)), results);
}

std::unique_ptr<FunctionCall<float>> NcpFunction::call(const FunctionArguments<float>& arguments,
                                                       const FunctionResults<float>& results) const {
  auto call = std::make_unique<State::Call>(state_, state_->trained_of(arguments.parameters),
                                            sequence_of(state_->sizes, arguments));
  call->forward();
  put(call->result(), results);
  return call;
}

std::unique_ptr<FunctionCall<double>> NcpFunction::call(const FunctionArguments<double>& arguments,
                                                        const FunctionResults<double>& results) const {
  auto parameters = set_of(state_->list, arguments.parameters);
  const ncp::Sequence<double> sequence = sequence_of(state_->sizes, arguments);
  put(ncp::run_reference<double>(state_->layer, parameters, sequence), results);
  return std::make_unique<ReferenceCall>(state_->layer, std::move(parameters), sequence);
}

}  // namespace tessera::python
