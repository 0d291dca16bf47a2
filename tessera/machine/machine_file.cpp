#include "tessera/machine/machine_file.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/installed_data.h"
#include "tessera/core/text.h"
#include "tessera/machine/internal/field_reader.h"
#include "tessera/machine/internal/fields.h"
#include "tessera/machine/internal/machine_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using internal::Document;
using internal::FieldReader;

const std::vector<std::string> kFamilies = {"tensix", "neuron", "unified", "cpu", "gpu"};

Document parse(const fs::path& path) {
  const std::string text = read_text_file(path, internal::kMachineFileBytes);
  try {
    return {path.string(), toml::parse(text, path.string())};
  } catch (const toml::parse_error& error) {
    // The parser's sentences end with a full stop at times; ours do not.
    std::string what(error.description());
    while (!what.empty() && what.back() == '.') what.pop_back();
    const toml::source_position at = error.source().begin;
    internal::fail_with_problems(path.string(), {{path.string(), at.line, at.column, "not valid TOML: " + what}});
  }
}

// The file and what it inherits from, nearest first.
std::vector<Document> read_chain(const fs::path& path) {
  std::vector<Document> chain;
  std::set<fs::path> seen;
  for (fs::path next = path; !next.empty();) {
    seen.insert(fs::weakly_canonical(next));
    chain.push_back(parse(next));
    const toml::node* inherits = chain.back().root.get("inherits");
    if (!inherits) break;
    const auto refuse = [&](std::string text) {
      const toml::source_position at = inherits->source().begin;
      internal::fail_with_problems(path.string(), {{chain.back().path, at.line, at.column, std::move(text)}});
    };
    if (!inherits->is_string()) refuse("'inherits' must be the name of a machine");
    const std::string name = inherits->as_string()->get();
    // A machine of the same name elsewhere is what a file that refines it means, not itself.
    std::optional<fs::path> base =
        internal::machine_path(name, next.has_parent_path() ? next.parent_path() : fs::path("."));
    if (!base)
      refuse(fmt::format("inherits from '{}', which is no machine{}", name, did_you_mean(name, machine_names())));
    if (seen.contains(fs::weakly_canonical(*base)))
      refuse(fmt::format("inherits from '{}', which in the end inherits from this file", name));
    next = std::move(*base);
  }
  return chain;
}

template <class Spec>
void read_spec(FieldReader& reader, std::optional<Spec>& spec) {
  internal::read_fields(reader, spec.emplace());
}

}  // namespace

std::optional<fs::path> internal::machine_path(std::string_view name, const fs::path& beside) {
  std::vector<fs::path> directories = machine_directories();
  if (!beside.empty()) directories.insert(directories.begin(), beside);
  for (const fs::path& directory : directories) {
    std::error_code ignored;
    fs::path path = directory / (std::string(name) + ".toml");
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return std::nullopt;
}

std::vector<fs::path> machine_directories() {
  std::vector<fs::path> directories;
  std::error_code ignored;
  if (const char* variable = std::getenv("TESSERA_MACHINES")) {
    std::string_view rest = variable;
    while (!rest.empty()) {
      const std::string_view item = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      if (item.empty()) continue;
      check(fs::is_directory(item, ignored), Code::not_found,
            Hint{"TESSERA_MACHINES is a list of directories with machine files, separated by ':'"},
            "TESSERA_MACHINES names '{}', which is not a directory", item);
      directories.emplace_back(item);
    }
  }
  if (std::optional<fs::path> installed = installed_data_folder("machines"))
    directories.push_back(std::move(*installed));
  for (const std::string_view built_in : {TESSERA_SOURCE_MACHINES, TESSERA_PREFIX_MACHINES})
    if (fs::is_directory(built_in, ignored)) directories.emplace_back(built_in);
  return directories;
}

std::vector<std::string> machine_names() {
  std::set<std::string> names;
  for (const fs::path& directory : machine_directories()) {
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
      if (entry->path().extension() == ".toml") names.insert(entry->path().stem().string());
    if (error) fail(Code::io, "cannot list {}: {}", directory.string(), error.message());
  }
  return {names.begin(), names.end()};
}

Machine load_machine_file(const fs::path& path) {
  std::vector<Document> chain = read_chain(path);
  // The reader takes the documents; positions of the two names are needed before that.
  const auto position_of = [&](const Document& document, std::string_view key) {
    const toml::node* node = document.root.get(key);
    return node ? node->source().begin : toml::source_position{1, 1};
  };
  const toml::source_position name_at = position_of(chain.front(), "name");
  const toml::source_position family_at = position_of(chain.front(), "family");
  std::vector<std::pair<std::string, std::string>> families;  // of each file that says one
  for (const Document& document : chain)
    if (const auto family = document.root["family"].value<std::string>()) families.emplace_back(document.path, *family);
  const bool named = chain.front().root.contains("name");

  FieldReader reader(std::move(chain));
  Machine machine;
  machine.path = path.string();
  machine.name = named ? reader.top_text("name", true) : path.stem().string();
  machine.title = reader.top_text("title", true);
  machine.family = reader.top_text("family", true);
  if (!machine.name.empty() && machine.name != path.stem().string())
    reader.add_problem(
        {machine.path, name_at.line, name_at.column,
         fmt::format("'name' is '{}', but the file is called '{}'", machine.name, path.filename().string())});
  for (const auto& [file, family] : families)
    if (family != machine.family)
      reader.add_problem({machine.path, family_at.line, family_at.column,
                          fmt::format("'family' is '{}', but {} is of the family '{}'", machine.family, file, family)});

  if (machine.family == "tensix") {
    read_spec(reader, machine.tensix);
  } else if (machine.family == "neuron") {
    read_spec(reader, machine.neuron);
  } else if (machine.family == "unified") {
    read_spec(reader, machine.unified);
  } else if (machine.family == "cpu") {
    read_spec(reader, machine.cpu);
  } else if (machine.family == "gpu") {
    read_spec(reader, machine.gpu);
  } else {
    // Without a family no key is known, and calling them all unknown would bury the cause.
    if (!machine.family.empty())
      reader.add_problem({machine.path, family_at.line, family_at.column,
                          fmt::format("'family' is '{}', but it must be one of {}{}", machine.family,
                                      fmt::join(kFamilies, ", "), did_you_mean(machine.family, kFamilies))});
    reader.fail();
  }
  machine.figures = reader.finish();
  return machine;
}

Machine load_machine(std::string_view name_or_path) {
  check(!name_or_path.empty(), Code::invalid_argument, "the name of a machine is empty");
  if (name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".toml"))
    return load_machine_file(name_or_path);
  if (const std::optional<fs::path> path = internal::machine_path(name_or_path)) return load_machine_file(*path);

  const std::vector<std::string> names = machine_names();
  std::string hint = names.empty() ? "no machine files were found; TESSERA_MACHINES names directories to look in"
                                   : fmt::format("the machines are {}", fmt::join(names, ", "));
  fail(Code::not_found, Hint{std::move(hint)}, "there is no machine '{}'{}", name_or_path,
       did_you_mean(name_or_path, names));
}

}  // namespace tessera
