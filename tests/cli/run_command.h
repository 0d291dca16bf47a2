#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tessera {

struct CommandResult {
  int status = -1;    // exit status; 128 + signal if it was killed
  int killed_by = 0;  // that signal, or 0
  std::string out;
  std::string err;
};

// Runs the built tessera with these words and with these variables added to the environment. Neither stream is a
// terminal. An `output` other than "" receives standard output instead.
CommandResult run_tessera(std::vector<std::string> words,
                          const std::vector<std::pair<std::string, std::string>>& environment = {},
                          const std::string& output = "");

// The same, with a signal sent after so many milliseconds. SIGINT has its default action, which what runs in the
// background has not.
CommandResult interrupt_tessera(std::vector<std::string> words, int signal, int milliseconds);

}  // namespace tessera
