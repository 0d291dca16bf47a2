#pragma once

// Answers of the real ttnn, read from tests/data/ttnn, and how ours are held against them.

#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/tensor_spec.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace tessera::tensix::golden {

using Json = nlohmann::json;

inline Json load(const std::string& name) {
  std::ifstream file(std::string(TESSERA_TEST_DATA) + "/ttnn/" + name + ".json");
  return Json::parse(file);
}

inline Machine board(const std::string& name) {
  if (name == "n150") return load_machine("wormhole_n150");
  if (name == "n300") return load_machine("wormhole_n300");
  if (name == "p100") return load_machine("blackhole_p100");
  return load_machine("blackhole_p150");
}

inline CoreRangeSet grid(const Json& ranges) {
  std::vector<CoreRange> out;
  for (const Json& r : ranges) out.emplace_back(CoreCoord{r[0], r[1]}, CoreCoord{r[2], r[3]});
  return CoreRangeSet(std::move(out));
}

inline Layout layout(const Json& text) { return text == "TILE" ? Layout::tile : Layout::row_major; }
inline ShardOrientation orientation(const Json& text) {
  return text == "C" ? ShardOrientation::col_major : ShardOrientation::row_major;
}
inline BufferType buffer_type(const std::string& text) {
  for (BufferType type : {BufferType::dram, BufferType::l1, BufferType::l1_small, BufferType::trace})
    if (name(type) == text) return type;
  throw std::runtime_error("no buffer type " + text);
}
inline TensorMemoryLayout memory_layout(const std::string& kind) {
  if (kind == "HEIGHT") return TensorMemoryLayout::height_sharded;
  if (kind == "WIDTH") return TensorMemoryLayout::width_sharded;
  return TensorMemoryLayout::block_sharded;
}

inline std::set<std::string> numbers(const std::string& text) {
  static const std::regex number("[0-9]+");
  return {std::sregex_token_iterator(text.begin(), text.end(), number), {}};
}

// Our refusals have our own sentences; every number of the real one must be in them. "BFLOAT8_B" is no number.
inline std::string missing_numbers(const std::string& real, const std::string& ours) {
  static const std::regex names("BFLOAT[0-9]+_B|[0-9]D|L1|\\. The L1_SMALL region.*|Derive the shard grid.*");
  const std::set<std::string> have = numbers(ours);
  std::string missing;
  for (const std::string& n : numbers(std::regex_replace(real, names, "")))
    if (!have.contains(n)) missing += n + " ";
  return missing;
}

}  // namespace tessera::tensix::golden
