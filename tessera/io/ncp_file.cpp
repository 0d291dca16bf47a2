#include "tessera/io/ncp_file.h"

#include "tessera/core/array.h"
#include "tessera/core/error.h"
#include "tessera/io/internal/ncp_keys.h"
#include "tessera/io/safetensors.h"

#include <algorithm>

namespace tessera {
namespace {

using internal::kNcpLayerKey;

ncp::ParameterSet<float> parameters_of(const SafetensorsFile& file, const ncp::Layer& layer, std::string_view prefix) {
  ncp::ParameterSet<float> found;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    if (!tensor.name.starts_with(prefix)) continue;
    const Array array(tensor.type, Shape(tensor.shape),
                      std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end()));
    const std::vector<double> values = array.to_double();
    ncp::Parameter<float> item;
    item.info.name = tensor.name.substr(prefix.size());
    item.info.shape = tensor.shape;
    item.values.assign(values.begin(), values.end());
    found.items.push_back(std::move(item));
  }
  // In the order of the layer; what it does not know comes last, and is then complained about.
  const std::vector<ncp::ParameterInfo> wanted = parameter_list(layer);
  ncp::ParameterSet<float> ordered;
  for (const ncp::ParameterInfo& info : wanted) {
    const int at = found.find(info.name);
    if (at < 0) continue;
    ordered.items.push_back(std::move(found.items[static_cast<std::size_t>(at)]));
    ordered.items.back().info.trainable = info.trainable;
    found.items.erase(found.items.begin() + at);
  }
  for (auto& item : found.items) ordered.items.push_back(std::move(item));
  check_parameters(layer, ordered);
  return ordered;
}

}  // namespace

ncp::ParameterSet<float> load_ncp_parameters(const std::filesystem::path& path, const ncp::Layer& layer,
                                             std::string_view prefix) {
  return with_context("while reading the parameters of a layer from " + path.string(),
                      [&] { return parameters_of(SafetensorsFile(path), layer, prefix); });
}

NcpFile load_ncp_file(const std::filesystem::path& path) {
  return with_context("while reading a layer from " + path.string(), [&] {
    const SafetensorsFile file(path);
    const auto description = file.metadata().find(std::string(kNcpLayerKey));
    check(description != file.metadata().end(), Code::parse, Hint{"describe the layer, and load its parameters alone"},
          "the file does not say what layer it holds");
    ncp::Layer layer = ncp::layer_from_json(description->second);
    ncp::ParameterSet<float> parameters = parameters_of(file, layer, {});
    return NcpFile{std::move(layer), std::move(parameters)};
  });
}

void save_ncp_file(const std::filesystem::path& path, const ncp::Layer& layer,
                   const ncp::ParameterSet<float>& parameters) {
  check_parameters(layer, parameters);
  std::vector<SafetensorsTensor> tensors;
  for (const ncp::Parameter<float>& item : parameters.items)
    tensors.push_back({item.info.name, ElementType::float32, item.info.shape, std::as_bytes(std::span(item.values))});
  save_safetensors(path, tensors, {{std::string(kNcpLayerKey), ncp::layer_to_json(layer)}});
}

}  // namespace tessera
