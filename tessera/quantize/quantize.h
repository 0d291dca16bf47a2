#pragma once

// Quantizes a float32 network to int8: standard ONNX with QuantizeLinear and DequantizeLinear nodes.
//
//   const Network network = load_network("model.onnx");
//   const QuantizedNetwork small = quantize(network, samples);   // samples: inputs like those it will see
//   export_onnx(small.network.graph(), "model_int8.onnx");
//
// Weights become int8, symmetric, with one scale per output channel. Activations become uint8 with a zero point; their
// scales come from the samples.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/session/network.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// How the range of a value is chosen from what was seen.
enum class RangeMethod : std::uint8_t {
  min_max,     // everything
  percentile,  // all but a small fraction at each end
  entropy,     // what keeps the distribution: least Kullback-Leibler divergence
  mse,         // least mean squared error
};
TSR_API std::string_view name(RangeMethod method);
TSR_API std::optional<RangeMethod> parse_range_method(std::string_view text);

struct QuantizeOptions {
  RangeMethod method = RangeMethod::mse;
  double percentile = 99.99;              // RangeMethod::percentile: how many values lie inside the range, in %
  bool per_channel = true;                // weights: one scale per output channel
  std::vector<std::string> exclude = {};  // nodes by name, or all of an operator: "MatMul"
  // Targets: the least correlation with the float32 outputs, and the largest fraction of samples whose top class may
  // change. Where one is missed, the costliest layers stay in float32.
  std::optional<double> min_pcc = {};
  std::optional<double> max_drop = {};
  int threads = 0;  // 0: all that the process may use
  // Called between samples; an exception ends the work.
  std::function<void(std::string_view what, std::size_t done, std::size_t total)> progress = {};
};

// Compared with the float32 outputs, over all samples.
struct QuantizedAccuracy {
  std::optional<double> pcc;   // the lowest of all outputs; none if every output is constant
  double max_relative = 0;     // largest error divided by the largest magnitude of that output
  std::optional<double> drop;  // fraction of samples whose top class changes; none if no output has classes
};

struct QuantizedLayer {
  std::string node, op;
  bool bytes = false;
  std::string reason;               // why it stays in float32
  double low = 0, high = 0;         // range of its quantized result
  std::optional<double> signal_db;  // signal-to-error ratio of its result, all layers before it quantized
  std::optional<double> pcc_alone;  // PCC of the outputs with only this layer quantized; measured only for a target
};

struct QuantizedNetwork {
  Network network;
  std::vector<QuantizedLayer> layers;  // Conv, Gemm and MatMul, in the order of the graph
  QuantizedAccuracy accuracy;
  std::size_t weight_bytes_before = 0, weight_bytes = 0;
  bool kept = true;  // false: the targets are missed even with a single quantized layer
};

// `samples`: one element per run, the network's inputs in order.
TSR_API QuantizedNetwork quantize(const Network& network, std::span<const std::vector<Array>> samples,
                                  const QuantizeOptions& options = {});

}  // namespace tessera
