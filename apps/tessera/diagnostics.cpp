#include "diagnostics.h"

#include "world.h"

#include "tessera/core/text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {
namespace {

bool use_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour && *no_colour) return false;
  if (terminal && std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDERR_FILENO) == 1;
}

void print(std::string_view message, const std::vector<std::string>& context, std::string_view hint) {
  const bool colour = use_colour();
  const std::string who = in_a_world() && world_began() ? rank_text(world(), world().rank()) + ": " : "";
  fmt::print(stderr, "{}{} {}\n", who, colour ? "\033[1;31merror:\033[0m" : "error:", message);
  for (const std::string& line : context) fmt::print(stderr, "  {}\n", line);
  if (!hint.empty()) fmt::print(stderr, "{} {}\n", colour ? "\033[1;33mhint:\033[0m" : "hint:", hint);
}

// The commands that were named, outermost first: tessera, machines, show.
std::vector<const CLI::App*> named_commands(const CLI::App& app) {
  std::vector<const CLI::App*> named = {&app};
  while (!named.back()->get_subcommands().empty()) named.push_back(named.back()->get_subcommands().front());
  return named;
}

std::vector<std::string> flags_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> flags;
  for (const CLI::App* command : commands)
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

}  // namespace

int report_error(const Error& error) {
  print(error.message(), error.context(), error.hint());
  return error.code() == Code::internal ? kInternalError : kUserError;
}

int report_internal_error(const char* what) {
  print(what, {}, "this is a bug in tessera");
  return kInternalError;
}

int report_usage_error(const CLI::App& app, const CLI::ParseError& error, const std::string& origin) {
  const std::vector<const CLI::App*> commands = named_commands(app);
  std::string path;
  for (const CLI::App* command : commands) path += (path.empty() ? "" : " ") + command->get_name();

  std::string message = error.what();
  const std::vector<std::string> unknown = app.remaining(true);
  const auto flag =
      std::find_if(unknown.begin(), unknown.end(), [](const auto& word) { return word.starts_with('-'); });
  if (flag != unknown.end()) {
    const std::string name = flag->substr(0, flag->find('='));
    message = fmt::format("unknown option '{}' for '{}'{}", name, path, did_you_mean(name, flags_of(commands)));
  } else if (!unknown.empty()) {
    const std::vector<std::string> names = subcommands_of(*commands.back());
    message =
        commands.size() == 1
            ? fmt::format("unknown command '{}'{}", unknown.front(), did_you_mean(unknown.front(), names))
            : fmt::format("'{}' does not accept '{}'{}", path, unknown.front(), did_you_mean(unknown.front(), names));
  } else if (commands.size() == 1 && dynamic_cast<const CLI::RequiredError*>(&error)) {
    message = "no command was given";
  }
  std::vector<std::string> context;
  if (!origin.empty()) context.push_back(origin);
  print(message, context, fmt::format("see `{} --help`", path));
  return kUsageError;
}

}  // namespace tessera::cli
