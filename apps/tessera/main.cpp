// The tessera command. Each subcommand lives in a file of its own and is listed in commands.def.

#include "command.h"
#include "config_file.h"
#include "diagnostics.h"
#include "world.h"

#include "tessera/core/error.h"
#include "tessera/core/file_system.h"
#include "tessera/report/view_text.h"

#include <CLI/CLI.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

namespace tessera::cli {

void Context::print(std::string_view text) const {
  if (launched_rank() != 0) return;  // one of several that would print the same
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) fail(Code::io, "cannot write the output: {}", std::generic_category().message(errno));
}

namespace {

// Columns of the terminal that people look at; COLUMNS says it for others.
std::optional<int> terminal_columns() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const int given = columns == nullptr ? 0 : std::atoi(columns);
  return given > 0 ? std::optional(given) : std::nullopt;
}

}  // namespace

void Context::print(const Table& table) const {
  const std::optional<int> columns = wide || format != Format::table ? std::nullopt : terminal_columns();
  print(columns ? render_text(table, *columns) : render(table, format));
}

void Context::print(const View& view) const {
  print(render(view, format, quiet, wide || format != Format::table ? std::nullopt : terminal_columns()));
}

namespace {

void add_global_options(CLI::App& app, Context& context) {
  app.set_version_flag("--version", "tessera " TESSERA_VERSION, "Print the version and exit");
  const auto set_format = [&context](const std::string& text) {
    context.format = parse_format(text).value_or(Format::table);  // checked below
  };
  app.add_option_function<std::string>("--format", set_format, "Output format: table, md, csv or json")
      ->check(CLI::IsMember({"table", "md", "csv", "json"}))
      ->type_name("FORMAT")
      ->default_str("table");
  app.add_flag("--quiet,-q", context.quiet, "Print results only: no progress, no remarks");
  app.add_flag("--wide", context.wide, "Print tables at full width instead of fitting them to the terminal");
}

// No option means anything by an empty word: `-o "$FILE"` with nothing in FILE would be as good as no -o.
void refuse_empty_words(CLI::App& app) {
  const CLI::Validator given([](std::string& word) { return word.empty() ? "is empty" : ""; }, "");
  for (CLI::Option* option : app.get_options())
    if (option->get_expected_max() > 0) option->check(given);
  for (CLI::App* command : app.get_subcommands(nullptr)) refuse_empty_words(*command);
}

// Another thread that has said why this process ends is about to end it.
void speak_once() {
  while (world_began() && !first_to_speak()) std::this_thread::sleep_for(std::chrono::seconds(1));
}

// The others, who may wait for this process, are told that it ends.
int ended(int exit_code) {
  if (world_began()) world().leave(exit_code);
  return exit_code;
}

int run(int argc, char** argv) {
  Context context;
  CLI::App app{"Plans, runs and simulates convolutional and liquid networks on tile machines.", "tessera"};
  app.require_subcommand(1);
  app.fallthrough();  // inherited: global flags may follow the subcommand
  add_global_options(app, context);
  const std::shared_ptr<const ConfigFile> config = ConfigFile::add_to(app);
#define TSR_COMMAND(name) add_##name(app, context);
#include "commands.def"
#undef TSR_COMMAND
  refuse_empty_words(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    return launched_rank() == 0 ? report_usage_error(app, error, config->origin(error)) : kUserError;
  } catch (const Error& error) {
    speak_once();
    return ended(report_error(error));
  } catch (const EndsWith& end) {
    return ended(end.exit_code);
  } catch (const std::bad_alloc&) {
    speak_once();
    return ended(
        report_error(Error(Code::out_of_memory, "out of memory: the system cannot provide what this command needs")));
  } catch (const std::filesystem::filesystem_error& error) {
    speak_once();
    return ended(report_error(as_error(error)));
  } catch (const std::exception& error) {
    speak_once();
    return ended(report_internal_error(error.what()));
  }
  return 0;
}

}  // namespace
}  // namespace tessera::cli

int main(int argc, char** argv) { return tessera::cli::run(argc, argv); }
