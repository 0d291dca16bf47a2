#pragma once

// A network as programs hold it: read from a file, of the zoo, or built (network_builder.h). A Session runs it, a
// Target plans it. Copies share it; it never changes.

#include "tessera/core/export.h"
#include "tessera/session/port.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Graph;
struct ImportOptions;  // io/onnx/import.h

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

// A network of an ONNX file.
TSR_API Network load_network(const std::filesystem::path& model);
TSR_API Network load_network(const std::filesystem::path& model, const ImportOptions& options);

// Well-known networks with seeded weights, and small trained ones, by name; an Error for another name lists those
// there are.
TSR_API Network zoo_network(std::string_view name, std::int64_t batch = 1);
TSR_API std::vector<std::string> zoo_names();

}  // namespace tessera
