#pragma once

// How a subcommand joins the command line: a file of its own defines add_<name>(app, context), which adds the parser
// and its callback, and commands.def gets one line. Callbacks run after the whole line has been understood; they throw
// tessera::Error and print through the context.

#include "tessera/report/table.h"
#include "tessera/target/view.h"

#include <CLI/CLI.hpp>

#include <string_view>

namespace tessera::cli {

// What the flags that every command takes were set to.
struct Context {
  Format format = Format::table;
  bool quiet = false;
  bool wide = false;  // tables are as wide as they are

  // Standard output, with an Error if it cannot take the text (a full disk).
  void print(std::string_view text) const;
  void print(const Table& table) const;
  void print(const View& view) const;
  // Whether people read the output: a table or Markdown.
  bool for_people() const { return format == Format::table || format == Format::markdown; }
};

#define TSR_COMMAND(name) void add_##name(CLI::App& app, const Context& context);
#include "commands.def"
#undef TSR_COMMAND

}  // namespace tessera::cli
