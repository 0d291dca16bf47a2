#pragma once

// ONNX models (opset 7 to 27, older forms where they mean the same) as graphs. Everything that a model asks for and we
// lack is found in one go. Nothing outside the model's folder is read; sizes are checked against the bytes that are
// there before anything is allocated.

#include "tessera/core/error.h"
#include "tessera/core/export.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tessera {

struct Graph;

struct ImportOptions {
  std::map<std::string, std::vector<std::int64_t>>
      shapes;                                      // of inputs, by name; must agree with extents that are fixed
  std::map<std::string, std::int64_t> dimensions;  // values for named extents ("batch")
};

struct ImportProblem {
  Code code = Code::unsupported;  // unsupported: a valid model that needs what we lack; anything else: a faulty model
  std::string node;               // name, or the name of its first output; empty: the model as a whole
  std::string op_type;
  std::string domain;  // empty: ONNX itself
  std::int64_t opset = 0;
  std::string attribute;  // or empty
  std::string reason;
  std::string fix;  // what would help, or empty

  TSR_API std::string to_string() const;
};

struct ImportReport {
  struct Operator {
    std::string domain, op_type;
    std::int64_t count = 0;
    bool supported = false;
  };

  std::vector<ImportProblem> problems;
  std::vector<std::string> notes;   // assumptions that were made
  std::vector<Operator> operators;  // what the model uses, functions and bodies included, by name
  std::map<std::string, std::int64_t> opsets;
  std::int64_t ir_version = 0;
  std::string producer;
};

// The graph, or one Error that lists every problem. Large weights stay in the file (and the files beside it) until
// someone asks for them: it may be replaced or removed, but not written to or cut short while the graph lives. A change
// is an Error when weights are to be read again, unless it happens in that very moment.
TSR_API Graph import_onnx(const std::filesystem::path& model, const ImportOptions& options = {});

// The same for a model in memory. Without a folder, tensors that live in other files are refused.
TSR_API Graph import_onnx_bytes(std::span<const std::byte> model, const std::filesystem::path& folder = {},
                                const ImportOptions& options = {});

// What import_onnx() would say, without throwing. (A file that cannot be read is still an Error.)
TSR_API ImportReport check_onnx(const std::filesystem::path& model, const ImportOptions& options = {});
TSR_API ImportReport check_onnx_bytes(std::span<const std::byte> model, const std::filesystem::path& folder = {},
                                      const ImportOptions& options = {});

// Whether this library was built with the importer.
TSR_API bool has_onnx();

}  // namespace tessera
