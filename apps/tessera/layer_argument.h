#pragma once

// Layers of a text file where a command takes a network: FILE.txt:NAME for one, FILE.txt for all of them.

#include "tessera/graph/zoo/layer.h"

#include <optional>
#include <string>
#include <string_view>

namespace tessera::cli {

bool is_layer_file(std::string_view word);  // FILE.txt

// The layer that FILE.txt:NAME means; nothing if the word is not of that form. A file without the name, or without a
// file of that name, is an Error.
std::optional<ConvLayer> find_layer(const std::string& word);

}  // namespace tessera::cli
