#include "option_table.h"

#include "tessera/core/isa.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tessera::cli {
namespace {

// CLI11 describes a value by its type and its checks: "N:INT in [1 - 8]", "FORMAT:{table,md}".
struct ValueText {
  std::string name, limits;
  std::vector<std::string> choices;
};

ValueText value_text(const std::string& described) {
  ValueText text;
  text.name = described;
  for (const std::string_view mark : {":{", ":INT", ":FLOAT", ":UINT"}) {
    const std::size_t at = described.find(mark);
    if (at == std::string::npos) continue;
    text.name = described.substr(0, at);
    text.limits = described.substr(at + 1);
    break;
  }
  if (!text.limits.starts_with('{')) return text;
  std::string choice;
  for (const char c : text.limits.substr(1)) {
    if (c != ',' && c != '}') {
      choice += c;
      continue;
    }
    text.choices.push_back(std::exchange(choice, ""));
    if (c == '}') break;
  }
  text.limits.clear();
  return text;
}

bool has_name(const OptionEntry& entry, std::string_view name) {
  return std::find(entry.names.begin(), entry.names.end(), name) != entry.names.end();
}

WordKind kind_of(const OptionEntry& entry, std::string_view path) {
  if (!entry.choices.empty()) return WordKind::choice;
  if (has_name(entry, "--device")) return WordKind::device;
  if (path == "tessera machines show") return WordKind::device;
  if (entry.value == "MODEL") return WordKind::network;
  if (entry.value == "DIR") return WordKind::folder;
  const bool file = entry.value.starts_with("FILE") || entry.value.ends_with(".csv") || entry.value == "PATH" ||
                    entry.value == "INPUT";
  return file ? WordKind::file : WordKind::any;
}

OptionEntry entry_of(const CLI::Option& option, std::string_view path) {
  OptionEntry entry;
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  if (option.get_expected_max() > 0) {
    ValueText text = value_text(option.get_type_name());
    // A positional word of no type of its own is called as it is named.
    const bool nameless = text.name.empty() || (text.name == "TEXT" && option.get_positional());
    entry.value = nameless ? option.get_name(true) : std::move(text.name);
    entry.limits = std::move(text.limits);
    entry.choices = std::move(text.choices);
  }
  if (entry.value == "ISA")
    for (int isa = 0; isa <= static_cast<int>(Isa::amx); ++isa) entry.choices.emplace_back(name(static_cast<Isa>(isa)));
  entry.kind = kind_of(entry, path);
  entry.standard = option.get_default_str();
  entry.help = option.get_description();
  entry.required = option.get_required();
  entry.repeated = option.get_expected_max() > 1 || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return entry;
}

// Options of a group without a name are the command's own.
void add_options(const CLI::App& app, CommandEntry& entry) {
  for (const CLI::Option* option : app.get_options())
    (option->get_positional() ? entry.words : entry.options).push_back(entry_of(*option, entry.path));
  for (const CLI::App* group : app.get_subcommands([](const CLI::App* below) { return below->get_name().empty(); }))
    add_options(*group, entry);
}

void collect(const CLI::App& app, const std::string& path, std::vector<CommandEntry>& table) {
  CommandEntry entry;
  entry.path = path;
  entry.help = app.get_description();
  const auto below = app.get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
  for (const CLI::App* command : below) entry.commands.push_back(command->get_name());
  add_options(app, entry);
  table.push_back(std::move(entry));
  for (const CLI::App* command : below) collect(*command, path + " " + command->get_name(), table);
}

}  // namespace

std::vector<CommandEntry> command_table(const CLI::App& program) {
  std::vector<CommandEntry> table;
  collect(program, program.get_name(), table);
  return table;
}

std::string unquoted(std::string text) {
  std::erase(text, '`');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace tessera::cli
