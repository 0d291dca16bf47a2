#pragma once

// Answers of the real ttnn about convolutions, read from tests/data/ttnn.

#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace tessera::tensix::card_golden {

using Json = nlohmann::json;

inline Json load(const std::string& name) {
  std::ifstream file(std::string(TESSERA_TEST_DATA) + "/ttnn/" + name);
  return Json::parse(file);
}

// One record a line.
inline std::vector<Json> load_lines(const std::string& name) {
  std::ifstream file(std::string(TESSERA_TEST_DATA) + "/ttnn/" + name);
  std::vector<Json> out;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) out.push_back(Json::parse(line));
  return out;
}

inline TensorMemoryLayout memory_layout(const std::string& kind) {
  if (kind.starts_with("HEIGHT")) return TensorMemoryLayout::height_sharded;
  if (kind.starts_with("WIDTH")) return TensorMemoryLayout::width_sharded;
  return kind.starts_with("BLOCK") ? TensorMemoryLayout::block_sharded : TensorMemoryLayout::interleaved;
}

inline DType dtype(const std::string& text) {
  for (DType type : {DType::bfloat16, DType::float32, DType::bfloat8_b, DType::bfloat4_b})
    if (name(type) == text) return type;
  throw std::runtime_error("no dtype " + text);
}

inline Machine board(const std::string& name) {
  if (name == "n150") return load_machine("wormhole_n150");
  if (name == "n300") return load_machine("wormhole_n300");
  if (name == "p100") return load_machine("blackhole_p100");
  Machine machine = load_machine("blackhole_p150");
  if (name == "p150_12x10") machine.tensix->grid_x = 12;
  if (name == "p150_11x10") machine.tensix->grid_x = 11;
  return machine;
}

}  // namespace tessera::tensix::card_golden
