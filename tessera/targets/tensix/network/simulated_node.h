#pragma once

// A node of a simulated network while it runs, as the rows of operators ask for it (ops/node_run.h).

#include "tessera/targets/tensix/network/simulation_run.h"
#include "tessera/targets/tensix/ops/node_run.h"

namespace tessera::tensix {

class SimulatedNode final : public NodeRun {
 public:
  SimulatedNode(SimulationRun& run, const LoweredNode& node) : run_(run), node_(node) {}

  std::size_t inputs() const override { return node_.inputs.size(); }
  const DeviceTensor& input(std::size_t i) const override { return run_.values.at(node_.inputs[i]); }
  bool may_consume(std::size_t i) const override { return run_.values.may_consume(node_.inputs[i]); }
  void replace_input(std::size_t i, DeviceTensor copy) override { run_.values.put(node_.inputs[i], std::move(copy)); }
  Extent2d input_matrix() const override { return run_.network.matrix(node_.inputs[0]); }
  Extent2d output_matrix() const override { return run_.network.matrix(node_.outputs[0]); }

  LayerConfig config() const override { return config_of(run_.options.layers, node_.name); }
  ComputeConfig compute() const override;
  DType result_dtype() const override { return config().dtype.value_or(run_.options.dtype); }
  DType weights_dtype() const override { return config().weights_dtype.value_or(run_.options.weights_dtype); }
  DType input_dtype() const override { return run_.input_dtype(); }
  bool strict() const override { return run_.strict; }

  DeviceTensor send_weights(const Shape& shape, DType dtype,
                            const std::function<std::vector<float>()>& values) override;

  void note(const std::string& text) override { run_.note(text); }
  DeviceTensor fit(const Body& body, bool keeps_inputs) override;
  DeviceTensor near_or_far(const Body& near, const Body& far) override;
  DeviceTensor convolution(const ConvLayer& layer) override { return run_conv(run_, node_, layer); }

 private:
  SimulationRun& run_;
  const LoweredNode& node_;
};

}  // namespace tessera::tensix
