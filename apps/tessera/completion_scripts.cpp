#include "completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {
namespace {

// A word of a shell, whatever is in it.
std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// What may follow, as the functions of the scripts read it: a kind, and the words of a choice.
std::string offer(const OptionEntry& entry) {
  switch (entry.kind) {
    case WordKind::any: return "any";
    case WordKind::choice: return fmt::format("words {}", fmt::join(entry.choices, " "));
    case WordKind::file: return "files";
    case WordKind::folder: return "folders";
    case WordKind::network: return "networks";
    case WordKind::device: return "devices";
  }
  return "any";
}

// A command's options and those that every command takes. Its own come first: they hide others of the same name.
std::vector<OptionEntry> options_of(const CommandEntry& command, const CommandEntry& program) {
  std::vector<OptionEntry> options = command.options;
  if (command.path == program.path) return options;
  for (const OptionEntry& option : program.options) {
    const bool hidden = std::any_of(options.begin(), options.end(), [&](const OptionEntry& own) {
      return !own.names.empty() && !option.names.empty() && own.names.front() == option.names.front();
    });
    const bool of_program = option.names.front() == "--version";
    if (!hidden && !of_program) options.push_back(option);
  }
  return options;
}

// For bash and zsh alike. `_tessera_offer PATH OPTION` and `_tessera_offer PATH 2` (the second positional word) leave
// in `offer` what may stand there; nothing: it is a flag, or there is no such word.
std::string offer_function(const std::vector<CommandEntry>& table) {
  std::string text = "_tessera_offer() {\n  case \"$1 $2\" in\n";
  for (const CommandEntry& command : table) {
    for (const OptionEntry& option : options_of(command, table.front()))
      for (const std::string& name : option.names)
        if (option.takes_value())
          text +=
              fmt::format("    {}) offer={} ;;\n", shell_word(command.path + " " + name), shell_word(offer(option)));
    for (std::size_t i = 0; i < command.words.size(); ++i) {
      const OptionEntry& word = command.words[i];
      text += fmt::format("    {}{}) offer={} ;;\n", shell_word(fmt::format("{} {}", command.path, i + 1)),
                          word.repeated ? " | " + shell_word(command.path + " +") : "", shell_word(offer(word)));
    }
  }
  return text + "    *) offer= ;;\n  esac\n}\n";
}

// Both shells: goes through the words before the one that is completed. Leaves the command that they name in `place`,
// the number of positional words in `count`, and the option that waits for its value in `pending`.
constexpr std::string_view kWalk = R"sh(_tessera_walk() {
  local word offer
  place=tessera count=0 pending=
  for word in "$@"; do
    if [[ $word == '=' ]]; then continue; fi
    if [[ -n $pending ]]; then pending=; continue; fi
    if [[ $word == -* ]]; then
      _tessera_offer "$place" "$word"
      if [[ -n $offer ]]; then pending=$word; fi
      continue
    fi
    case "$place $word" in
      COMMANDS) place="$place $word" count=0 ;;
      *) count=$((count + 1)) ;;
    esac
  done
}
)sh";

std::string walk_function(const std::vector<CommandEntry>& table) {
  std::vector<std::string> paths;
  for (const CommandEntry& command : table)
    if (command.path != table.front().path) paths.push_back(shell_word(command.path));
  std::string text(kWalk);
  constexpr std::string_view kMark = "COMMANDS";
  return text.replace(text.find(kMark), kMark.size(), fmt::format("{}", fmt::join(paths, " | ")));
}

constexpr std::string_view kBashDriver = R"sh(
_tessera_complete() { # _tessera_complete OFFER WORD
  local kind=${1%% *} known=
  case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "${1#* }" -- "$2") ;;
    folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
    networks | devices) known=$("${COMP_WORDS[0]}" completion "$kind" 2>/dev/null) ;;&
    networks | devices | files)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -W "$known" -- "$2"; compgen -f -- "$2")
      ;;
  esac
}

_tessera() {
  local place count pending offer word=$2
  COMPREPLY=()
  if [[ $word == '=' ]]; then word=; fi
  _tessera_walk "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  if [[ -n $pending ]]; then
    _tessera_offer "$place" "$pending"
    _tessera_complete "$offer" "$word"
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_tessera_options "$place")" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "$(_tessera_commands "$place")" -- "$word")
    _tessera_offer "$place" "$((count + 1))"
    if [[ -z $offer ]]; then _tessera_offer "$place" "+"; fi
    if [[ ${#COMPREPLY[@]} -eq 0 && -n $offer ]]; then _tessera_complete "$offer" "$word"; fi
  fi
}
complete -F _tessera tessera
)sh";

constexpr std::string_view kZshDriver = R"sh(
_tessera_complete() { # _tessera_complete OFFER
  case ${1%% *} in
    words) compadd -- ${=1#* } ;;
    folders) _files -/ ;;
    networks | devices)
      compadd -- ${(f)"$(${words[1]} completion ${1%% *} 2>/dev/null)"}
      _files
      ;;
    files) _files ;;
  esac
}

_tessera() {
  local place count pending offer word=${words[CURRENT]}
  local -a described
  _tessera_walk "${(@)words[2,CURRENT-1]}"
  if [[ -z $pending && $word == --*=* ]]; then
    pending=${word%%=*}
    compset -P '*='
  fi
  if [[ -n $pending ]]; then
    _tessera_offer "$place" "$pending"
    _tessera_complete "$offer"
  elif [[ $word == -* ]]; then
    _tessera_options "$place"
    _describe -o option described
  else
    _tessera_commands "$place"
    if (( ${#described} )); then _describe command described; fi
    _tessera_offer "$place" "$((count + 1))"
    if [[ -z $offer ]]; then _tessera_offer "$place" "+"; fi
    if [[ -n $offer ]]; then _tessera_complete "$offer"; fi
  fi
}
)sh";

// "'tessera run') BODY ;;" for every command that `body` has something to say of.
template <class Body>
std::string by_command(std::string_view function, const std::vector<CommandEntry>& table, const Body& body) {
  std::string text = fmt::format("{}() {{\n  case $1 in\n", function);
  for (const CommandEntry& command : table)
    if (const std::string line = body(command); !line.empty())
      text += fmt::format("    {}) {} ;;\n", shell_word(command.path), line);
  return text + "  esac\n}\n";
}

const CommandEntry& entry_at(const std::vector<CommandEntry>& table, const std::string& path) {
  return *std::find_if(table.begin(), table.end(), [&](const CommandEntry& entry) { return entry.path == path; });
}

// "--format:What it does", as zsh's _describe takes it.
std::string described(const std::string& word, std::string help) {
  help = unquoted(std::move(help));
  std::string escaped;
  for (const char c : word) escaped += c == ':' ? std::string("\\:") : std::string(1, c);
  return shell_word(escaped + ":" + help);
}

}  // namespace

std::string bash_completion(const std::vector<CommandEntry>& table) {
  const auto commands = [](const CommandEntry& command) {
    return command.commands.empty()
               ? ""
               : fmt::format("echo {}", shell_word(fmt::format("{}", fmt::join(command.commands, " "))));
  };
  const auto options = [&](const CommandEntry& command) {
    std::vector<std::string> names;
    for (const OptionEntry& option : options_of(command, table.front()))
      names.insert(names.end(), option.names.begin(), option.names.end());
    return fmt::format("echo {}", shell_word(fmt::format("{}", fmt::join(names, " "))));
  };
  return "# bash completion for tessera, written by `tessera completion bash`\n\n" +
         by_command("_tessera_commands", table, commands) + "\n" + by_command("_tessera_options", table, options) +
         "\n" + offer_function(table) + "\n" + walk_function(table) + std::string(kBashDriver);
}

std::string zsh_completion(const std::vector<CommandEntry>& table) {
  const auto commands = [&](const CommandEntry& command) {
    std::string words;
    for (const std::string& name : command.commands)
      words += " " + described(name, entry_at(table, command.path + " " + name).help);
    return words.empty() ? words : fmt::format("described=({} )", words);
  };
  const auto options = [&](const CommandEntry& command) {
    std::string words;
    for (const OptionEntry& option : options_of(command, table.front()))
      for (const std::string& name : option.names) words += " " + described(name, option.help);
    return fmt::format("described=({} )", words);
  };
  return "#compdef tessera\n# zsh completion for tessera, written by `tessera completion zsh`\n\n" +
         by_command("_tessera_commands", table, commands) + "\n" + by_command("_tessera_options", table, options) +
         "\n" + offer_function(table) + "\n" + walk_function(table) + std::string(kZshDriver) +
         // Read by the completion system the file is the function's body; sourced it registers the function.
         "\nif [[ ${funcstack[1]-} == _tessera ]]; then _tessera \"$@\"; else compdef _tessera tessera; fi\n";
}

std::string fish_completion(const std::vector<CommandEntry>& table) {
  std::vector<std::string> paths;
  for (const CommandEntry& command : table) paths.push_back(shell_word(command.path));
  std::string text = "# fish completion for tessera, written by `tessera completion fish`\n\n";
  text += fmt::format("set -g __tessera_paths {}\n", fmt::join(paths, " "));
  text += R"fish(
function __tessera_at
    set -l path tessera
    for word in (commandline -opc)[2..-1]
        if contains -- "$path $word" $__tessera_paths
            set path "$path $word"
        end
    end
    test "$path" = "$argv[1]"
end

complete -c tessera -f
)fish";
  const auto offered = [](const OptionEntry& entry) -> std::string {
    switch (entry.kind) {
      case WordKind::any: return "";
      case WordKind::choice: return fmt::format(" -a {}", shell_word(fmt::format("{}", fmt::join(entry.choices, " "))));
      case WordKind::file: return " -F";
      case WordKind::folder: return " -a '(__fish_complete_directories)'";
      case WordKind::network: return " -F -a '(tessera completion networks)'";
      case WordKind::device: return " -F -a '(tessera completion devices)'";
    }
    return "";
  };
  for (const CommandEntry& command : table) {
    const bool program = command.path == table.front().path;
    const std::string here = program ? "" : fmt::format(" -n \"__tessera_at {}\"", shell_word(command.path));
    for (const std::string& name : command.commands)
      text += fmt::format("complete -c tessera -n \"__tessera_at {}\" -a {} -d {}\n", shell_word(command.path), name,
                          shell_word(unquoted(entry_at(table, command.path + " " + name).help)));
    for (const OptionEntry& word : command.words)
      if (const std::string words = offered(word); !words.empty())
        text += fmt::format("complete -c tessera{}{}\n", here, words);
    for (const OptionEntry& option : command.options) {
      text += fmt::format("complete -c tessera{}", here);
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      const bool file = option.kind != WordKind::any && option.kind != WordKind::choice;
      if (option.takes_value()) text += (file ? " -r" : " -x") + offered(option);
      text += fmt::format(" -d {}\n", shell_word(unquoted(option.help)));
    }
  }
  return text;
}

}  // namespace tessera::cli
