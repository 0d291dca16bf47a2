#pragma once

// Networks that can be had by name: those of the zoo, with seeded weights, and small trained ones, which are files of
// the folder networks/ that is installed with the library.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct NamedNetwork {
  std::string name;
  std::string description;
  bool trained = false;
};

TSR_API std::vector<NamedNetwork> named_networks();  // by name
TSR_API std::vector<std::string> network_names();
TSR_API bool is_network_name(std::string_view name);

// Whether a word that may be a name or a file means a network by name: there is one, and no file of that name. (A
// folder is no network.)
TSR_API bool means_named_network(const std::string& model);

// The file of a trained network; nothing for any other name.
TSR_API std::optional<std::filesystem::path> trained_network_file(std::string_view name);

// What the file of a model says of itself (onnx_metadata): an .onnx file's, or a network's by name. Nothing for
// networks that are in no file.
TSR_API std::map<std::string, std::string> model_metadata(const std::string& model);

// The network of that name; an Error with the names there are, or for a batch below 1.
TSR_API Graph make_named_network(std::string_view name, std::int64_t batch = 1);

}  // namespace tessera
