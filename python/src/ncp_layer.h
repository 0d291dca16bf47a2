#pragma once

// A liquid layer with its parameters, as the models of tessera.ncps hold it.

#include "tessera/ncp/layer.h"
#include "tessera/ncp/runner.h"

#include <memory>
#include <utility>

namespace tessera::python {

class NcpLayer {
 public:
  NcpLayer(ncp::Layer layer, ncp::ParameterSet<float> parameters)
      : layer_(std::move(layer)), parameters_(std::move(parameters)) {}

  const ncp::Layer& layer() const { return layer_; }
  const ncp::ParameterSet<float>& parameters() const { return parameters_; }
  void set_parameters(ncp::ParameterSet<float> parameters) {
    ncp::check_parameters(layer_, parameters);
    parameters_ = std::move(parameters);
    runner_.reset();
  }
  // Packed when it is first asked for, and again after the parameters have changed. Whoever runs keeps it meanwhile.
  std::shared_ptr<const ncp::Runner> runner() {
    if (!runner_) runner_ = std::make_shared<const ncp::Runner>(layer_, parameters_);
    return runner_;
  }

 private:
  ncp::Layer layer_;
  ncp::ParameterSet<float> parameters_;
  std::shared_ptr<const ncp::Runner> runner_;
};

}  // namespace tessera::python
