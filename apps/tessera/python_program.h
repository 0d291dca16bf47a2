#pragma once

// Programs of a Python interpreter that the user names.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

// The one asked for; "": TESSERA_PYTHON, or else python3.
std::string python_interpreter(const std::string& asked);

struct ProgramOutput {
  std::filesystem::path out, err;  // files
};

// Runs words[0], found on PATH, without a shell and without input; returns its exit status (128 + signal). Without
// `output` it writes where this program does. `package`: what the interpreter is to have, for the error if there is
// no such interpreter.
int run_python(std::vector<std::string> words, const std::string& package,
               const std::optional<ProgramOutput>& output = {});

// Lets Python programs that are run from now on find the package tessera that was built or installed with this
// command, if there is one beside it.
void offer_own_package();

}  // namespace tessera::cli
