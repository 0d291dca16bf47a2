#include "config_file.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <istream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::cli {
namespace {

// A line for each thing that is wrong.
using Problems = std::vector<std::string>;

std::string place(const std::string& file, const toml::source_position& at) {
  return fmt::format("{}:{}:{}", file, at.line, at.column);
}

std::vector<const CLI::App*> commands_below(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
}

// The command's own, and those of its groups, which have no name.
std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> options = app.get_options();
  for (const CLI::App* group : app.get_subcommands([](const CLI::App* below) { return below->get_name().empty(); }))
    for (const CLI::Option* option : options_of(*group)) options.push_back(option);
  return options;
}

// --config itself, --help and --version are no settings.
bool is_setting(const CLI::Option& option) { return option.get_configurable(); }

std::string key_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name(true) : option.get_lnames().front();
}

const CLI::Option* find_option(const CLI::App& app, std::string_view key) {
  for (const CLI::Option* option : options_of(app)) {
    const auto& names = option->get_lnames();
    const bool named = std::find(names.begin(), names.end(), key) != names.end();
    if (is_setting(*option) && (named || (option->get_positional() && option->get_name(true) == key))) return option;
  }
  return nullptr;
}

const CLI::App* find_command(const CLI::App& app, std::string_view name) {
  for (const CLI::App* command : commands_below(app))
    if (command->get_name() == name) return command;
  return nullptr;
}

// Every command that takes the option, as a table of the file names it: "run", "ncp.train".
void find_tables(const CLI::App& app, std::string_view key, const std::string& above, std::vector<std::string>& out) {
  for (const CLI::App* command : commands_below(app)) {
    const std::string table = above + command->get_name();
    if (find_option(*command, key) != nullptr) out.push_back(table);
    find_tables(*command, key, table + ".", out);
  }
}

// As the command line would have it; nothing: a value that no option takes.
std::optional<std::string> word_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  return std::nullopt;
}

bool takes_several(const CLI::Option& option) {
  return option.get_expected_max() > 1 || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

class Reader {
 public:
  Reader(const CLI::App& program, std::string file) : program_(program), file_(std::move(file)) {
    named_.push_back(&program);
    while (!named_.back()->get_subcommands().empty()) named_.push_back(named_.back()->get_subcommands().front());
  }

  struct Setting {
    CLI::ConfigItem item;
    const CLI::Option* option;
    std::string at;
  };

  void read(const toml::table& table) {
    read(table, program_, {});
    if (problems_.empty()) return;
    fail(Code::invalid_argument, Hint{"`tessera COMMAND --help` shows the options of a command"}, "{}",
         fmt::join(problems_, "\n"));
  }

  // Those that the command line's command takes: what its own table says comes first, and wins.
  std::vector<Setting>& settings() { return settings_; }

 private:
  void read(const toml::table& table, const CLI::App& app, const std::vector<std::string>& path) {
    for (const auto& [key, node] : table)
      if (const auto* below = node.as_table()) read_command(key, *below, app, path);
    for (const auto& [key, node] : table)
      if (!node.is_table()) read_option(key, node, app, path);
  }

  void read_command(const toml::key& key, const toml::table& table, const CLI::App& app,
                    std::vector<std::string> path) {
    const CLI::App* command = find_command(app, key.str());
    if (command == nullptr) {
      std::vector<std::string> names;
      for (const CLI::App* other : commands_below(app)) names.push_back(other->get_name());
      const std::string of = path.empty() ? "" : fmt::format(" below {}", fmt::join(path, " "));
      return report(
          key, fmt::format("there is no command '{}'{}{}", key.str(), of, did_you_mean(std::string(key.str()), names)));
    }
    path.emplace_back(key.str());
    read(table, *command, path);
  }

  void read_option(const toml::key& key, const toml::node& node, const CLI::App& app,
                   const std::vector<std::string>& path) {
    const CLI::Option* option = find_option(app, key.str());
    const CLI::Option* common = find_option(program_, key.str());
    if (option == nullptr && common == nullptr) return report(key, unknown(key.str(), app, path));
    const bool own = option != nullptr && &app != &program_;
    if (option == nullptr) option = common;
    CLI::ConfigItem item;
    if (own) item.parents = path;
    item.name = key_of(*option);
    if (const std::string wrong = read_value(node, *option, item.inputs); !wrong.empty())
      return report(key, fmt::format("{} {}", key.str(), wrong));
    if (path.size() < named_.size() && std::equal(path.begin(), path.end(), named_.begin() + 1, is_named))
      settings_.push_back({std::move(item), option, place(file_, key.source().begin)});
  }

  static bool is_named(const std::string& name, const CLI::App* command) { return command->get_name() == name; }

  // What is wrong with it, or nothing.
  static std::string read_value(const toml::node& node, const CLI::Option& option, std::vector<std::string>& words) {
    if (option.get_expected_max() == 0) {
      if (!node.is_boolean()) return "is on or off: true or false";
      words.push_back(*word_of(node));
      return {};
    }
    const auto* list = node.as_array();
    if (list != nullptr && !takes_several(option)) return "takes one value, not a list";
    if (list != nullptr && list->empty()) return "has an empty list";
    const auto add = [&](const toml::node& one) {
      std::optional<std::string> word = word_of(one);
      if (word) words.push_back(std::move(*word));
      return word.has_value();
    };
    constexpr const char* kNotAWord = "is a string, a number, true or false, or a list of them";
    if (list == nullptr) return add(node) ? "" : kNotAWord;
    return std::all_of(list->begin(), list->end(), add) ? "" : kNotAWord;
  }

  std::string unknown(std::string_view key, const CLI::App& app, const std::vector<std::string>& path) const {
    std::vector<std::string> names;
    for (const CLI::App* takes : {&app, &program_})
      for (const CLI::Option* option : options_of(*takes))
        if (is_setting(*option)) names.push_back(key_of(*option));
    const std::string name(key);
    if (!path.empty())
      return fmt::format("'tessera {}' has no option '{}'{}", fmt::join(path, " "), key, did_you_mean(name, names));
    std::vector<std::string> tables;
    find_tables(program_, key, "", tables);
    if (!tables.empty())
      return fmt::format("'{}' is not an option of every command: write it in the table of one, [{}]", key,
                         fmt::join(tables, "], ["));
    for (const CLI::App* command : commands_below(program_)) names.push_back(command->get_name());
    return fmt::format("no option that every command takes is called '{}'{}", key, did_you_mean(name, names));
  }

  void report(const toml::key& key, const std::string& what) {
    problems_.push_back(place(file_, key.source().begin) + ": " + what);
  }

  const CLI::App& program_;
  const std::string file_;
  std::vector<const CLI::App*> named_;  // on the command line: the program, the command, the one below it
  std::vector<Setting> settings_;
  Problems problems_;
};

toml::table parse(const std::string& text, const std::string& file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    std::string what(error.description());
    while (!what.empty() && what.back() == '.') what.pop_back();
    fail(Code::parse, Hint{"the file is TOML: quiet = true, or a table [run] with threads = 2"},
         "{}: not valid TOML: {}", place(file, error.source().begin), what);
  }
}

}  // namespace

std::shared_ptr<const ConfigFile> ConfigFile::add_to(CLI::App& program) {
  const std::shared_ptr<ConfigFile> file(new ConfigFile(program));
  program.config_formatter(file);
  program.set_config("--config", "", "Options from a TOML file, a table for each command; the command line wins")
      ->check([](const std::string& path) {
        return std::filesystem::is_regular_file(path) ? std::string() : fmt::format("there is no file '{}'", path);
      })
      ->type_name("FILE");
  return file;
}

std::string ConfigFile::origin(const CLI::ParseError& error) const {
  const std::string_view text = error.what();
  const auto found = origins_.find(std::string(text.substr(0, text.find(':'))));
  return found == origins_.end() ? "" : fmt::format("that is what {} says", found->second);
}

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& in) const {
  const std::string file = program_.get_config_ptr()->as<std::string>();
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Reader reader(program_, file);
  reader.read(parse(text, file));
  std::vector<CLI::ConfigItem> items;
  for (Reader::Setting& setting : reader.settings()) {
    if (setting.option->empty()) origins_.emplace(setting.option->get_name(), setting.at);
    items.push_back(std::move(setting.item));
  }
  return items;
}

}  // namespace tessera::cli
