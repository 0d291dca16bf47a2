// tessera completion: scripts for shells, and the words that they ask for.

#include "completion.h"

#include "command.h"

#include "tessera/machine/machine_file.h"
#include "tessera/session/network.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

std::string lines(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + "\n";
  return text;
}

std::string completion(const std::string& what, const CLI::App& program) {
  if (what == "networks") return lines(zoo_names());
  if (what == "devices") {
    std::vector<std::string> names = machine_names();
    names.insert(names.begin(), {"cpu", "cuda"});
    return lines(names);
  }
  const std::vector<CommandEntry> table = command_table(program);
  if (what == "bash") return bash_completion(table);
  return what == "zsh" ? zsh_completion(table) : fish_completion(table);
}

}  // namespace

void add_completion(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand(
      "completion",
      "Print a script that completes this command's words in a shell: `source <(tessera completion bash)`");
  auto what = std::make_shared<std::string>();
  command
      ->add_option("what", *what,
                   "The shell that the script is for; networks and devices print the words that scripts ask for")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "networks", "devices"}))
      ->type_name("SHELL");
  command->callback([what, &app, &context] { context.print(completion(*what, app)); });
}

}  // namespace tessera::cli
