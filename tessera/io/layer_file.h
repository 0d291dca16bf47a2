#pragma once

// Convolutions as text, one on each line, to measure (shapes/*.txt):
//
//   # what follows a hash is left out
//   resnet50:res2b_2b n1 h56 w56 ic64 oc64 k3x3 s1 p1 bias relu x2
//
// A name, then words in any order:
//   n1          batch (1 if left out)         s1      stride (1)
//   h56 w56     extents of the input          p1      padding on every side (0)
//   ic64 oc64   channels in and out           g1      groups (1)
//   k3x3, k3    the kernel                    x2      how often the network has it (1)
//   bias, relu, pool2   what follows, in this order; pool2 is a maximum over 2x2 in steps of 2

#include "tessera/core/export.h"
#include "tessera/graph/zoo/layer.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace tessera {

// Refuses lines that are not so, with their number and what is wrong; names twice; and text without any layer.
TSR_API std::vector<ConvBlock> parse_layers(std::string_view text);
TSR_API std::vector<ConvBlock> load_layers(const std::filesystem::path& path);

}  // namespace tessera
