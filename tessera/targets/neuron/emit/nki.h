#pragma once

// The convolutions of a network that a NeuronCore runs as one fused kernel (convolution, bias, maximum pool), each with
// the schedule that was found for it, as an NKI script that checks them against numpy.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"
#include "tessera/io/emit/script.h"
#include "tessera/targets/neuron/plan/tune.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera::neuron {

struct NkiLayer {
  std::string node;
  neuron::ConvProblem problem;  // of the image with its padding around it
  std::int64_t pad_h = 0, pad_w = 0;
  bool relu = false;  // behind it; the maximum of a pool comes to the same before and after
  neuron::ConvSchedule schedule;
  double simulated_us = 0;
};
struct NkiRefusal {
  std::string node, reason;
};
struct NkiNetwork {
  emit::Script script;
  std::vector<NkiLayer> layers;
  std::vector<NkiRefusal> left_out;  // convolutions, with the rule that they break
  std::int64_t other_operators = 0;  // that are neither
};

// An Error with all reasons if no layer fits. `progress` is told of each convolution before its search.
TSR_API NkiNetwork nki_network(Graph graph, const NeuronSpec& spec, const std::string& model,
                               const std::string& weights_file,
                               const std::function<void(const std::string&)>& progress = {});

}  // namespace tessera::neuron
