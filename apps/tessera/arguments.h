#pragma once

// Words of the command line as values: numbers, shapes, layers of a file.

#include "tessera/graph/zoo/layer.h"
#include "tessera/io/onnx/import.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

// Finite, and not less than `least`; above 0; from `least` to `most`.
CLI::Validator number_from(double least);
CLI::Validator positive_number();
CLI::Validator number_between(double least, double most);

// Digits only: no sign but that of a negative number, no fraction, nothing that does not fit.
CLI::Validator whole_number(std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max());

// From 0 to 2^64 - 1.
CLI::Validator seed_number();

// NAME:1x3x224x224 words and NAME=8 words, as import takes them. Names may have colons and equal signs in them: the
// last one counts.
ImportOptions parse_import_options(const std::vector<std::string>& shapes, const std::vector<std::string>& dimensions);

// Layers of a text file where a command takes a network: FILE.txt:NAME for one, FILE.txt for all of them.
bool is_layer_file(std::string_view word);  // FILE.txt

// The layer that FILE.txt:NAME means; nothing if the word is not of that form. A file without the name, or without a
// file of that name, is an Error.
std::optional<ConvBlock> find_layer(const std::string& word);

}  // namespace tessera::cli
