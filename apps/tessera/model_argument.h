#pragma once

// What the commands that run networks share: which network, with which inputs, and how.

#include "tessera/graph/graph.h"
#include "tessera/session/session.h"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tessera::cli {

struct ModelArgument {
  std::string model;
  std::vector<std::string> inputs, shapes, dimensions;
  std::int64_t batch = 0;    // 0: as the model says, 1 for the zoo
  std::int64_t rebatch = 0;  // 0: as the model says
  std::uint64_t seed = 0;
};

// MODEL, --shape, --dim, --batch, --rebatch, --seed: for commands that take no inputs, or others than --input.
void add_network_argument(CLI::App& command, ModelArgument& argument);
// The same and --input.
void add_model_argument(CLI::App& command, ModelArgument& argument);

struct Model {
  std::string name;  // stem of the file, or the zoo's
  Graph graph;
  std::vector<Array> inputs;  // given or random, in the graph's order
};

// Reads or builds the network alone. `file`: what is in the model's file, where it was read elsewhere; `folder`: with
// the files that it keeps weights in.
Graph load_graph(const ModelArgument& argument, std::span<const std::byte> file = {},
                 const std::filesystem::path& folder = {});

// Reads or builds the network and its inputs. An extent that nothing tells is an Error with the flags that would.
Model load_model(const ModelArgument& argument);

// --threads, --isa, --dtype, --weights, --exact, --without-pass, --without-kernel, --memory-limit, --plan.
struct SessionArgument {
  int threads = 0;
  bool exact = false;
  std::string isa, dtype = "f32", weights = "float32", plan;
  std::vector<std::string> passes_off, kernels_off;
  std::int64_t memory_limit_bytes = 0;
};
void add_session_argument(CLI::App& command, SessionArgument& argument);
// --loop-limit, for commands that run a network: of loops on this thread, from the parsing of the command line on.
void add_loop_limit(CLI::App& command);
SessionOptions session_options(const SessionArgument& argument);

}  // namespace tessera::cli
