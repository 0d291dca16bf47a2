#pragma once

// A network as programs hold it: read from a file (io/onnx/import.h), built (network_builder.h) or of the zoo
// (zoo/zoo.h). A Session runs it, a Target plans it. Copies share it; it never changes.

#include "tessera/core/export.h"
#include "tessera/graph/port.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

struct Graph;

class TSR_API Network {
 public:
  explicit Network(Graph graph);

  const std::string& name() const;
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;

  // What planners and passes work on. Its header is not installed: programs only hand it on.
  const Graph& graph() const { return *graph_; }

 private:
  std::shared_ptr<const Graph> graph_;
};

}  // namespace tessera
