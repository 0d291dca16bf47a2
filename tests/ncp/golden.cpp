#include "golden.h"

#include "tessera/core/array.h"
#include "tessera/io/safetensors.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace tessera::ncp {
namespace {

std::vector<double> values_of(const SafetensorsTensor& tensor) {
  return Array(tensor.type, Shape(tensor.shape), std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end()))
      .to_double();
}

}  // namespace

Sequence<double> GoldenCase::sequence() const {
  Sequence<double> out{.batch = batch, .steps = steps, .input = at("input")};
  if (has("timespans")) out.timespans = at("timespans");
  if (has("initial_state")) out.state = at("initial_state");
  if (has("initial_memory")) out.memory = at("initial_memory");
  return out;
}

std::vector<std::string> golden_names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_TEST_DATA "/ncp"))
    if (entry.path().extension() == ".safetensors") out.push_back(entry.path().stem());
  std::sort(out.begin(), out.end());
  return out;
}

GoldenCase load_golden(const std::string& name) {
  const SafetensorsFile file(TESSERA_TEST_DATA "/ncp/" + name + ".safetensors");
  GoldenCase out;
  out.name = name;
  out.layer = layer_from_json(file.metadata().at("layer"));
  out.batch = std::max(std::stoll(file.metadata().at("batch")), 1LL);
  out.steps = std::stoll(file.metadata().at("steps"));
  out.parameters = out.gradients = zeros<double>(parameter_list(out.layer));
  for (const SafetensorsTensor& tensor : file.tensors()) {
    const auto into = [&](ParameterSet<double>& set, std::string_view prefix) {
      const int at = set.find(tensor.name.substr(prefix.size()));
      if (at < 0) throw std::runtime_error("unknown parameter " + tensor.name);
      set.items[static_cast<std::size_t>(at)].values = values_of(tensor);
    };
    if (tensor.name.starts_with("parameters."))
      into(out.parameters, "parameters.");
    else if (tensor.name.starts_with("gradients."))
      into(out.gradients, "gradients.");
    else
      out.values[tensor.name] = values_of(tensor);
  }
  return out;
}

double tolerance(double epsilon, double length, const std::vector<double>& values) {
  double largest = 1;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return epsilon * length * largest;
}

}  // namespace tessera::ncp
