// tessera trainium run and explain: any kernel of a script on a simulated NeuronCore. The script runs in a Python
// interpreter, which prints what this command prints.

#include "arguments.h"
#include "command.h"
#include "diagnostics.h"
#include "python_program.h"
#include "trainium.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {
namespace {

// Exit status of the words below: the interpreter has no tessera.
constexpr int kNoTessera = 86;
constexpr const char* kProgram = R"python(
import sys
try:
    from tessera.nki._program import main
except ImportError as error:
    print(f"{sys.executable}: {error}", file=sys.stderr)
    sys.exit(86)
sys.exit(main())
)python";

struct ScriptOptions {
  std::string file, kernel, grid, device = "trainium2", output, trace, html, python;
  std::vector<std::string> inputs, settings;
  std::uint64_t seed = 42;
  bool without_values = false;
};

void add_script_options(CLI::App& command, ScriptOptions& o) {
  command.add_option("script", o.file, "A script with kernels")->type_name("FILE.py")->required();
  command.add_option("--kernel", o.kernel, "Its name in the script; not needed where the script has one kernel only")
      ->type_name("NAME");
  command
      .add_option("--input", o.inputs,
                  "An array: uniform numbers of [0, 1) of that shape (float32 without a type), or those of a file")
      ->type_name("NAME=SHAPE[:TYPE]|NAME=FILE.npy");
  command.add_option("--set", o.settings, "Another argument of the kernel: a number, a tuple, True, a word")
      ->type_name("NAME=VALUE");
  command.add_option("--grid", o.grid, "A launch grid")->type_name("N[,N...]");
  command.add_option("--device", o.device, "A Trainium machine that `tessera machines` lists, or a file")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--seed", o.seed, "Of the numbers")->check(seed_number())->type_name("N")->capture_default_str();
  command.add_option("--trace", o.trace, "Write a trace that Perfetto opens: a row for each engine and queue")
      ->type_name("FILE.json");
  command.add_option("--html", o.html, "Write a page: engines and DMA over time, the longest chain, what would help")
      ->type_name("FILE.html");
  command.add_option("--python", o.python, "The interpreter; otherwise the variable TESSERA_PYTHON, or python3")
      ->type_name("PATH");
}

void run_script(std::string_view action, const ScriptOptions& o, const Context& context) {
  const std::string python = python_interpreter(o.python);
  std::vector<std::string> words{python,
                                 "-c",
                                 kProgram,
                                 std::string(action),
                                 o.file,
                                 "--device",
                                 o.device,
                                 fmt::format("--seed={}", o.seed),
                                 fmt::format("--format={}", name(context.format))};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.push_back(fmt::format("{}={}", option, value));
  };
  add("--kernel", o.kernel);
  add("--grid", o.grid);
  add("--output", o.output);
  add("--trace", o.trace);
  add("--html", o.html);
  for (const std::string& each : o.inputs) add("--input", each);
  for (const std::string& each : o.settings) add("--set", each);
  if (o.without_values) words.emplace_back("--without-values");
  if (context.quiet) words.emplace_back("--quiet");
  if (context.wide) words.emplace_back("--wide");
  offer_own_package();
  const int status = run_python(std::move(words), "tessera", {});
  check(
      status != kNoTessera, Code::not_found,
      Hint{"`pip install .` in the sources puts it there; or name another interpreter with --python or TESSERA_PYTHON"},
      "the Python interpreter '{}' cannot import tessera", python);
  if (status != 0) throw EndsWith{status};  // it has said why
}

}  // namespace

void add_trainium_scripts(CLI::App& trainium, const Context& context) {
  const auto add = [&](const char* action, const char* what) {
    CLI::App* command = trainium.add_subcommand(action, what);
    auto o = std::make_shared<ScriptOptions>();
    add_script_options(*command, *o);
    command->callback([o, action, &context] { run_script(action, *o, context); });
    return std::pair(command, o);
  };
  const auto [run, o] = add("run", "Any kernel of a script for neuronxcc.nki or nki: what it gives, and its time");
  run->add_option("--output", o->output, "Write what it gives there, a .npy file each")->type_name("FOLDER");
  run->add_flag("--without-values", o->without_values, "Times only");
  add("explain", "Why a kernel of a script takes its time: the longest chain of instructions, and what would help");
}

}  // namespace tessera::cli
