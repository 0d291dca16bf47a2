// tessera man: the manual page, made from the options that the parsers know.

#include "command.h"
#include "option_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {
namespace {

// Text for roff: a backslash, a hyphen, and a dot or quote at the start of a line mean something there. Lists without
// blanks may be broken after a comma.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && out.ends_with(',')) out += "\\:";
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c != '`') {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

std::string heading(const OptionEntry& entry) {
  std::vector<std::string> names;
  for (const std::string& name : entry.names) names.push_back(bold(name));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (entry.takes_value()) text += (text.empty() ? "" : " ") + italic(entry.value);
  return text;
}

std::string about(const OptionEntry& entry) {
  std::string text = escaped(entry.help);
  if (!text.empty() && text.back() != '.') text += '.';
  if (!entry.choices.empty()) text += escaped(fmt::format(" One of {}.", fmt::join(entry.choices, ", ")));
  if (!entry.limits.empty()) text += escaped(fmt::format(" {}.", entry.limits));
  if (!entry.standard.empty()) text += escaped(fmt::format(" Default: {}.", entry.standard));
  if (entry.repeated && !entry.names.empty()) text += " May be given several times.";
  return text;
}

std::string described(const OptionEntry& entry) { return fmt::format(".TP\n{}\n{}\n", heading(entry), about(entry)); }

std::string synopsis(const CommandEntry& command) {
  std::string text = bold(command.path);
  for (const OptionEntry& word : command.words)
    text += word.required ? " " + italic(word.value) : " [" + italic(word.value) + "]";
  if (!command.commands.empty()) text += " " + italic("COMMAND");
  return text + " [" + italic("OPTION") + "]...";
}

bool is_help(const OptionEntry& entry) {
  return std::find(entry.names.begin(), entry.names.end(), "--help") != entry.names.end();
}

std::string section(const CommandEntry& command) {
  std::string text =
      fmt::format(".SS {}\n{}\n.PP\n{}.\n", bold(command.path), synopsis(command), escaped(command.help));
  for (const OptionEntry& word : command.words) text += described(word);
  for (const OptionEntry& option : command.options)
    if (!is_help(option)) text += described(option);
  return text;
}

// What has no option: kept complete by a test that looks for the names in the sources.
constexpr std::pair<std::string_view, std::string_view> kVariables[] = {
    {"TESSERA_MACHINES", "Folders with machine files, separated by colons. They are searched first."},
    {"TESSERA_ISA",
     "The most that kernels for the CPU may use: portable, avx2, avx512, avx512_vnni, avx512_bf16, amx."},
    {"TESSERA_THREADS", "How many threads there are, where --threads is not given."},
    {"TESSERA_DEVICE", "The machine that tessera.ttnn opens in Python."},
    {"TESSERA_PYTHON", "The Python interpreter that has ONNX Runtime, for tessera compare."},
    {"TESSERA_PEER_TIMEOUT", "Under mpirun: seconds after which a process that says nothing is taken for lost."},
    {"NO_COLOR", "If it is set, errors are printed without colour."},
    {"COLUMNS", "How wide tables may be, where the output is no terminal."},
};

constexpr std::pair<std::string_view, std::string_view> kStatus[] = {
    {"0", "Everything was done."},
    {"1", "The input, a file or the machine does not allow what was asked for. Nothing was changed."},
    {"2", "The command line makes no sense."},
    {"70", "A fault of tessera itself."},
    {"130", "Interrupted. What is on disk is complete, and the message says what there is."},
};

template <std::size_t N>
std::string listed(const std::pair<std::string_view, std::string_view> (&entries)[N]) {
  std::string text;
  for (const auto& [name, what] : entries) text += fmt::format(".TP\n{}\n{}\n", bold(name), escaped(what));
  return text;
}

std::string manual(const CLI::App& app) {
  const std::vector<CommandEntry> table = command_table(app);
  const CommandEntry& program = table.front();
  std::string about_program = program.help;
  while (about_program.ends_with('.')) about_program.pop_back();
  std::string name_line = about_program;
  if (!name_line.empty()) name_line[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name_line[0])));

  std::string page = fmt::format(".TH TESSERA 1 \"\" \"tessera {}\" \"User Commands\"\n.ad l\n", TESSERA_VERSION);
  page += fmt::format(".SH NAME\ntessera \\- {}\n.SH SYNOPSIS\n{}\n", escaped(name_line), synopsis(program));
  page += fmt::format(".SH DESCRIPTION\n{}.\n", escaped(about_program));
  page += "Options that every command takes may stand before or after its name.\n.SH OPTIONS\n";
  for (const OptionEntry& option : program.options) page += described(option);
  page += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < table.size(); ++i) page += section(table[i]);
  page += ".SH CONFIGURATION FILE\n";
  page += escaped(
      "The file of --config is TOML. Its keys are the long names of options without the hyphens. Keys at the top "
      "are options that every command takes; a table has those of the command it is named after. Options on "
      "the command line win.\n");
  page += ".PP\n.nf\nquiet = true\n\n[run]\nthreads = 2\ndtype = \"bf16\"\n\n[machines.show]\nformat = \"json\"\n.fi\n";
  page += ".SH ENVIRONMENT\n" + listed(kVariables) + ".SH EXIT STATUS\n" + listed(kStatus);
  return page;
}

}  // namespace

void add_man(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page: `tessera man | man -l -`");
  command->callback([&app, &context] { context.print(manual(app)); });
}

}  // namespace tessera::cli
