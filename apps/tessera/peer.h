#pragma once

// ONNX Runtime, called through a Python interpreter that has it.

#include "tessera/core/array.h"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

struct PeerRequest {
  std::string python;           // "": TESSERA_PYTHON, or else python3
  std::filesystem::path model;  // an .onnx file
  std::vector<std::pair<std::string, const Array*>> inputs;
  bool intermediates = false;  // every value that a node of the model makes, unoptimised: needs the onnx package too
  int threads = 0;             // 0: as many as it likes
};
struct PeerResult {
  std::map<std::string, Array> values;  // outputs, and intermediates if asked for
  std::string version;                  // "onnxruntime 1.31.1"
};

// Runs the model there. What is missing (the interpreter, a package) is an Error that says how to get it.
PeerResult run_onnxruntime(const PeerRequest& request);

}  // namespace tessera::cli
