#pragma once

// A network as callers name it: a file, or one of the zoo.

#include "tessera/session/network.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::python {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;
using Dimensions = std::map<std::string, std::int64_t>;

// A file, or a network of the zoo where no file has that name.
Network network_of(const std::filesystem::path& model, const std::optional<Shapes>& shapes,
                   const std::optional<Dimensions>& dims, std::int64_t batch);

}  // namespace tessera::python
