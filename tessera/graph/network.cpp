#include "tessera/graph/network.h"

#include "tessera/graph/graph.h"

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

}  // namespace tessera
