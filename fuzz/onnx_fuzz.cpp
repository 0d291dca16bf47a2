#include "fuzz.h"

#include "tessera/io/onnx/import.h"

#include <optional>

int fuzz_one(std::span<const std::uint8_t> input) {
  std::optional<tessera::Graph> graph;
  try {
    graph = tessera::import_onnx_bytes(std::as_bytes(input));
  } catch (const tessera::Error& error) {
    return tessera::fuzz::refused(error);
  }
  std::size_t bytes = 0;
  for (const tessera::Value& value : graph->values)
    if (value.constant) bytes += value.constant->bytes().size();
  tessera::fuzz::require(bytes <= 64 * (input.size() + 1024), "no more constants than the file has");
  tessera::verify(*graph);
  tessera::infer_types(*graph);
  return 0;
}
