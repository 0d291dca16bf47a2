#pragma once

// The command line as data: every command with its options, as the parsers know them. The manual page and the
// completion of shells are made from it, so that they say what the command takes.

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::cli {

// What a word of the command line can be, for a shell that completes it.
enum class WordKind : std::uint8_t {
  any,      // a number, a name that only the model knows
  choice,   // one of a list
  file,     // a path
  folder,   // a path too
  network,  // of the zoo, or a file
  device,   // a machine by name, or a file
};

struct OptionEntry {
  std::vector<std::string> names;  // "--quiet", "-q"; a positional word has none
  std::string value;               // "FILE"; empty: a flag
  WordKind kind = WordKind::any;   // of the value
  std::vector<std::string> choices;
  std::string limits;    // "INT in [1 - 4096]", or empty
  std::string standard;  // what is taken without it, or empty
  std::string help;
  bool required = false, repeated = false;

  bool takes_value() const { return !value.empty(); }
};

struct CommandEntry {
  std::string path;  // "tessera ncp train"
  std::string help;
  std::vector<std::string> commands;  // the names of those below it
  std::vector<OptionEntry> options;   // its own; those of the first entry may follow any command
  std::vector<OptionEntry> words;     // positional, in order
};

// The program itself first, then every command in the order of --help, each followed by those below it.
std::vector<CommandEntry> command_table(const CLI::App& program);

// One line without Markdown's quotes of code: for shells, whose own quotes they would be.
std::string unquoted(std::string text);

}  // namespace tessera::cli
