#pragma once

// The file of --config: TOML whose keys are the long names of options. Keys at the top are options that every command
// takes; a table has those of the command it is named after, [ncp.train] of `tessera ncp train`.
//
//   quiet = true
//   [run]
//   threads = 2
//
// The command line wins. A key that names nothing is an Error, in whatever table it is.

#include <CLI/CLI.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {

class ConfigFile final : public CLI::Config {
 public:
  // Adds --config to the program.
  static std::shared_ptr<const ConfigFile> add_to(CLI::App& program);

  // "that is what run.toml:3:1 says", where the complaint is about a value of the file; otherwise empty.
  std::string origin(const CLI::ParseError& error) const;

  // For CLI11.
  std::vector<CLI::ConfigItem> from_config(std::istream& in) const override;
  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }

 private:
  explicit ConfigFile(const CLI::App& program) : program_(program) {}

  const CLI::App& program_;
  mutable std::map<std::string, std::string> origins_;  // by the option's name, as CLI11's messages begin with it
};

}  // namespace tessera::cli
