#pragma once

// A liquid layer as a function of memory that others own, PyTorch's tensors above all: parameters come with each call,
// results and gradients go where the caller says. What is packed from parameters is kept until they change.

#include "tessera/ncp/gradient.h"
#include "tessera/ncp/runner.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera::python {

// All arrays are row-major, of the sizes that the layer and the call ask for.
template <class Real>
struct FunctionArguments {
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  const Real* input = nullptr;
  const Real* timespans = nullptr;  // null: 1
  std::int64_t timespan_count = 0;
  const Real* state = nullptr;   // null: zeros
  const Real* memory = nullptr;  // likewise
  std::vector<const Real*> parameters{};
  std::optional<std::uint64_t> dropout_seed{};
  bool differentiate_timespans = false;
};

template <class Real>
struct FunctionResults {
  Real* output = nullptr;
  Real* state = nullptr;
  Real* memory = nullptr;  // null without mixed memory
};

// Null: not wanted.
template <class Real>
struct FunctionGradients {
  Real* input = nullptr;
  Real* timespans = nullptr;
  Real* state = nullptr;
  Real* memory = nullptr;
  std::vector<Real*> parameters{};
};

// Gradients of the results; null: zeros.
template <class Real>
struct ResultGradients {
  const Real* output = nullptr;
  const Real* state = nullptr;
  const Real* memory = nullptr;
};

// A call that can be gone back over, as often as wanted, while what it was given stays where it is.
template <class Real>
class FunctionCall {
 public:
  FunctionCall() = default;
  virtual ~FunctionCall() = default;
  FunctionCall(const FunctionCall&) = delete;
  FunctionCall& operator=(const FunctionCall&) = delete;
  virtual void backward(const ResultGradients<Real>& by, const FunctionGradients<Real>& to) = 0;
};

class NcpFunction {
 public:
  explicit NcpFunction(ncp::Layer layer);

  const ncp::Layer& layer() const;
  const std::vector<ncp::ParameterInfo>& parameters() const;
  const ncp::LayerSizes& sizes() const;

  // Without a way back.
  void run(const FunctionArguments<float>& arguments, const FunctionResults<float>& results) const;
  void run(const FunctionArguments<double>& arguments, const FunctionResults<double>& results) const;
  // With one. In float64 the reference computes.
  std::unique_ptr<FunctionCall<float>> call(const FunctionArguments<float>& arguments,
                                            const FunctionResults<float>& results) const;
  std::unique_ptr<FunctionCall<double>> call(const FunctionArguments<double>& arguments,
                                             const FunctionResults<double>& results) const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // calls keep it
};

}  // namespace tessera::python
