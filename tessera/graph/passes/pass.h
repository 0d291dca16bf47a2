#pragma once

// Rewrites of a graph that keep what it computes. Each is a file of this folder and a line in pipeline.cpp.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Pass {
  std::string_view name;  // what switches it off
  std::string_view what;  // one line for people
  bool (*run)(Graph&);    // whether it changed anything
};

struct PassOptions {
  std::vector<std::string> off;  // names of passes to leave out
  bool verify = true;            // check the rules of graphs after each
};

// In the order in which they run.
TSR_API std::span<const Pass> all_passes();

// Runs the passes that are not switched off; types are inferred before the first and after each that changed something.
// A name that no pass has is an Error that lists the names, and then the graph is as it was.
TSR_API void run_passes(Graph& graph, const PassOptions& options = {});

// Nodes whose result is known become constants: those that read only constants, and shapes of values of known shape.
// Results that are large, and nodes that fail, are left to the run.
TSR_API bool fold_constants(Graph& graph);

// Drops nodes that no output of the graph needs, and values that nothing refers to; ids change. Inputs of the graph
// stay.
TSR_API bool remove_dead_code(Graph& graph);

}  // namespace tessera
