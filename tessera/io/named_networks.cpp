#include "tessera/io/named_networks.h"

#include "tessera/core/error.h"
#include "tessera/core/installed_data.h"
#include "tessera/core/text.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/io/onnx/import.h"
#include "tessera/io/onnx/metadata.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Where the command or library stands in an installed tree its own folder counts; then the sources and the prefix.
std::vector<fs::path> network_folders() {
  std::vector<fs::path> folders;
  if (std::optional<fs::path> installed = installed_data_folder("networks")) folders.push_back(std::move(*installed));
  std::error_code ignored;
  for (const std::string_view built_in : {TESSERA_SOURCE_NETWORKS, TESSERA_PREFIX_NETWORKS})
    if (fs::is_directory(built_in, ignored)) folders.emplace_back(built_in);
  return folders;
}

std::map<std::string, fs::path> trained_networks() {
  std::map<std::string, fs::path> found;
  for (const fs::path& folder : network_folders()) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      if (entry->path().extension() == ".onnx") found.try_emplace(entry->path().stem().string(), entry->path());
  }
  return found;
}

}  // namespace

std::vector<NamedNetwork> named_networks() {
  std::vector<NamedNetwork> all;
  for (const ZooModel& model : zoo()) all.push_back({std::string(model.name), std::string(model.description), false});
  if (has_onnx())
    for (const auto& [name, file] : trained_networks()) all.push_back({name, onnx_metadata(file)["doc_string"], true});
  std::sort(all.begin(), all.end(), [](const NamedNetwork& a, const NamedNetwork& b) { return a.name < b.name; });
  return all;
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const ZooModel& model : zoo()) names.emplace_back(model.name);
  if (has_onnx())
    for (const auto& [name, file] : trained_networks()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

bool is_network_name(std::string_view name) {
  const std::vector<std::string> names = network_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool means_named_network(const std::string& model) {
  std::error_code ignored;
  return is_network_name(model) && (!fs::exists(model, ignored) || fs::is_directory(model, ignored));
}

std::optional<fs::path> trained_network_file(std::string_view name) {
  const std::map<std::string, fs::path> trained = trained_networks();
  const auto found = trained.find(std::string(name));
  return found == trained.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::string, std::string> model_metadata(const std::string& model) {
  std::error_code ignored;
  if (!has_onnx()) return {};
  if (fs::is_regular_file(model, ignored) && fs::path(model).extension() == ".onnx") return onnx_metadata(model);
  const std::optional<fs::path> file = means_named_network(model) ? trained_network_file(model) : std::nullopt;
  return file ? onnx_metadata(*file) : std::map<std::string, std::string>{};
}

Graph make_named_network(std::string_view name, std::int64_t batch) {
  check(batch >= 1, Code::invalid_argument, "a batch of {} cannot be run, at least 1 is needed", batch);
  const auto models = zoo();
  if (std::any_of(models.begin(), models.end(), [&](const ZooModel& model) { return model.name == name; }))
    return make_zoo_model(name, batch);
  if (const std::optional<fs::path> file = has_onnx() ? trained_network_file(name) : std::nullopt) {
    Graph graph = import_onnx(*file, {.shapes = {}, .dimensions = {{"batch", batch}}});
    graph.name = name;
    return graph;
  }
  const std::vector<std::string> names = network_names();
  fail(Code::not_found, Hint{fmt::format("there are {}", fmt::join(names, ", "))}, "there is no network '{}'{}", name,
       did_you_mean(name, names));
}

}  // namespace tessera
