#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tessera {

struct CommandResult {
  int status = -1;  // exit status; 128 + signal if it was killed
  std::string out;
  std::string err;
};

// Runs the built tessera with these words and with these variables added to the environment. Neither stream is a
// terminal. An `output` other than "" receives standard output instead.
CommandResult run_tessera(std::vector<std::string> words,
                          const std::vector<std::pair<std::string, std::string>>& environment = {},
                          const std::string& output = "");

}  // namespace tessera
