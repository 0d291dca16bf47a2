// tessera.quantize: a network of int8 from one of float32.

#include "arrays.h"
#include "bind.h"
#include "network_argument.h"

#include "tessera/core/error.h"
#include "tessera/io/named_networks.h"
#include "tessera/io/onnx/export.h"
#include "tessera/quantize/quantize.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

// A dict by name, a list or tuple in order, or the array of the only input.
std::vector<Array> sample_of(const std::vector<Port>& ports, nb::handle sample) {
  std::vector<Array> inputs;
  if (nb::isinstance<nb::dict>(sample)) {
    const auto named = nb::borrow<nb::dict>(sample);
    for (const Port& port : ports) {
      check(named.contains(port.name.c_str()), Code::invalid_argument, "a sample has no input '{}' ({})", port.name,
            port.type.to_string());
      inputs.push_back(import_host_array(named[port.name.c_str()], port.type.type));
    }
    check(nb::len(named) == ports.size(), Code::invalid_argument, "a sample has {} inputs, and the network takes {}",
          nb::len(named), ports.size());
    return inputs;
  }
  if (nb::isinstance<nb::list>(sample) || nb::isinstance<nb::tuple>(sample)) {
    const auto arrays = nb::borrow<nb::sequence>(sample);
    const std::size_t given = nb::len(arrays);
    check(given == ports.size(), Code::invalid_argument, "a sample has {} inputs, and the network takes {}", given,
          ports.size());
    for (std::size_t i = 0; i < given; ++i)
      inputs.push_back(import_host_array(nb::object(arrays[i]), ports[i].type.type));
    return inputs;
  }
  check(ports.size() == 1, Code::invalid_argument,
        "a sample is one array, and the network takes {} inputs: give a dict or a list of them", ports.size());
  inputs.push_back(import_host_array(sample, ports[0].type.type));
  return inputs;
}

template <class T>
nb::object or_none(const std::optional<T>& value) {
  return value ? nb::object(nb::cast(*value)) : nb::none();
}

nb::dict row_of(const QuantizedLayer& layer) {
  nb::dict row;
  row["node"] = layer.node;
  row["op"] = layer.op;
  row["int8"] = layer.bytes;
  row["reason"] = layer.reason;
  row["low"] = layer.low;
  row["high"] = layer.high;
  row["signal_db"] = or_none(layer.signal_db);
  row["pcc_alone"] = or_none(layer.pcc_alone);
  return row;
}

nb::dict quantize_model(const std::filesystem::path& model, const std::filesystem::path& output,
                        const nb::iterable& samples, const std::string& method, double percentile, bool per_channel,
                        const std::vector<std::string>& exclude, std::optional<double> min_pcc,
                        std::optional<double> max_drop, int threads, const std::optional<Shapes>& shapes,
                        const std::optional<Dimensions>& dims, std::int64_t batch) {
  QuantizeOptions options;
  const std::optional<RangeMethod> known = parse_range_method(method);
  check(known.has_value(), Code::invalid_argument, "method is 'min-max', 'percentile', 'entropy' or 'mse', not '{}'",
        method);
  check(threads >= 0, Code::invalid_argument, "{} threads cannot run anything", threads);
  options.method = *known;
  options.percentile = percentile;
  options.per_channel = per_channel;
  options.exclude = exclude;
  options.min_pcc = min_pcc;
  options.max_drop = max_drop;
  options.threads = threads;
  const Network network = network_of(model, shapes, dims, batch);
  std::vector<std::vector<Array>> runs;
  for (const nb::handle sample : samples) runs.push_back(sample_of(network.inputs(), sample));
  // Ctrl-C is heard between samples.
  options.progress = [](std::string_view, std::size_t, std::size_t) {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
  std::optional<QuantizedNetwork> made;
  {
    const nb::gil_scoped_release release;
    made = quantize(network, runs, options);
    if (made->kept) export_onnx(made->network.graph(), output, {.metadata = model_metadata(model.string())});
  }
  check(made->kept, Code::invalid_argument, Hint{"try another method=, or exclude layers with exclude="},
        "the accuracy target is missed even with a single int8 layer (PCC {:.5f})", made->accuracy.pcc.value_or(0));
  nb::list layers;
  for (const QuantizedLayer& layer : made->layers) layers.append(row_of(layer));
  nb::dict out;
  out["layers"] = layers;
  out["pcc"] = or_none(made->accuracy.pcc);
  out["max_relative"] = made->accuracy.max_relative;
  out["drop"] = or_none(made->accuracy.drop);
  out["constant_bytes"] = made->weight_bytes;
  out["constant_bytes_before"] = made->weight_bytes_before;
  return out;
}

}  // namespace

void bind_quantize(nb::module_& module) {
  module.def(
      "quantize", quantize_model, "model"_a, "output"_a, "samples"_a, nb::kw_only(), "method"_a = "mse",
      "percentile"_a = QuantizeOptions{}.percentile, "per_channel"_a = true, "exclude"_a = std::vector<std::string>{},
      "min_pcc"_a = nb::none(), "max_drop"_a = nb::none(), "threads"_a = 0, "shapes"_a = nb::none(),
      "dims"_a = nb::none(), "batch"_a = 1,
      nb::sig("def quantize(model: str | os.PathLike[str], output: str | os.PathLike[str], "
              "samples: collections.abc.Iterable[object], *, method: str = 'mse', percentile: float = 99.99, "
              "per_channel: bool = True, exclude: list[str] = [], min_pcc: float | None = None, "
              "max_drop: float | None = None, threads: int = 0, shapes: dict[str, list[int]] | None = None, "
              "dims: dict[str, int] | None = None, batch: int = 1) -> tessera.results.Quantized"),
      "Quantizes a float32 network to int8 and writes it to the ONNX file `output`.\n\n"
      "`samples` are inputs like those the network will see: for each run an array, or a dict or list of arrays.\n"
      "`method` chooses the range of each activation: 'min-max', 'percentile', 'entropy' or 'mse'.\n"
      "With `min_pcc` or `max_drop`, the most sensitive layers stay in float32 to reach that target.");
}

}  // namespace tessera::python
