#pragma once

// A model file without its large weights, for the parser to read: it would copy each of them.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::onnx {

struct WeightsApart {
  std::string rest;  // the message, where large raw_data of the graph's initialisers is left out
  std::vector<std::span<const std::byte>> raw;  // of each initialiser in turn; empty: in the message as ever
};

// None if the file is not as it should be, or unusual (two graphs, two raw_data in a tensor): the parser decides then.
std::optional<WeightsApart> weights_apart(std::span<const std::byte> model);

}  // namespace tessera::onnx
