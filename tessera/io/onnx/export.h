#pragma once

// Graphs as ONNX models: opset 17 to 21, weights inside the file. What was fused is written as separate nodes, and
// liquid cells with constant weights as loops of arithmetic, so any runtime reads it.

#include "tessera/core/export.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct Graph;

struct ExportOptions {
  static constexpr std::int64_t kOldestOpset = 17, kNewestOpset = 21;
  static constexpr std::int64_t kMaxWeightBytes = 1'500'000'000;  // a file of protobuf ends at 2 GiB

  std::optional<std::int64_t> opset = {};  // without: the oldest that has every operator of the graph
  // Entries of metadata_props; "doc_string" is the model's own text. UTF-8.
  std::map<std::string, std::string> metadata = {};
};

// The bytes of the model. One Error lists every operator that the opset cannot express.
TSR_API std::vector<std::byte> export_onnx_bytes(const Graph& graph, const ExportOptions& options = {});

// Writes them to a file: readers see the old file or all of the new one.
TSR_API void export_onnx(const Graph& graph, const std::filesystem::path& file, const ExportOptions& options = {});

}  // namespace tessera
