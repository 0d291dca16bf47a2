#include "tessera/session/network.h"

#include "tessera/graph/graph.h"
#include "tessera/io/named_networks.h"
#include "tessera/io/onnx/import.h"

#include <utility>

namespace tessera {
namespace {

std::vector<Port> network_ports(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<Port> ports;
  for (const ValueId id : ids) ports.push_back({graph.value(id).name, graph.value(id).type});
  return ports;
}

}  // namespace

Network::Network(Graph graph) : graph_(std::make_shared<const Graph>(std::move(graph))) {}

const std::string& Network::name() const { return graph_->name; }
std::vector<Port> Network::inputs() const { return network_ports(*graph_, graph_->inputs); }
std::vector<Port> Network::outputs() const { return network_ports(*graph_, graph_->outputs); }

Network load_network(const std::filesystem::path& model) { return Network(import_onnx(model)); }
Network load_network(const std::filesystem::path& model, const ImportOptions& options) {
  return Network(import_onnx(model, options));
}

Network zoo_network(std::string_view name, std::int64_t batch) { return Network(make_named_network(name, batch)); }

std::vector<std::string> zoo_names() { return network_names(); }

}  // namespace tessera
