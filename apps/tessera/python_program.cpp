#include "python_program.h"

#include "tessera/core/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

extern char** environ;

namespace tessera::cli {

namespace fs = std::filesystem;

std::string python_interpreter(const std::string& asked) {
  if (!asked.empty()) return asked;
  const char* named = std::getenv("TESSERA_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

int run_python(std::vector<std::string> words, const std::string& package, const std::optional<ProgramOutput>& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (output) {
    posix_spawn_file_actions_addopen(&actions, 1, output->out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, output->err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  check(error == 0, Code::not_found,
        Hint{fmt::format("name an interpreter that has {} with --python PATH or the variable TESSERA_PYTHON", package)},
        "cannot run the Python interpreter '{}': {}", words[0], std::generic_category().message(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    check(errno == EINTR, Code::io, "cannot wait for '{}': {}", words[0], std::generic_category().message(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void offer_own_package() {
  std::error_code error;
  const fs::path self = fs::canonical("/proc/self/exe", error);
  const fs::path package = self.parent_path() / "python";
  if (error || !fs::exists(package / "tessera" / "__init__.py", error)) return;
  const char* old = std::getenv("PYTHONPATH");
  const std::string path =
      old != nullptr && *old != '\0' ? fmt::format("{}:{}", package.string(), old) : package.string();
  ::setenv("PYTHONPATH", path.c_str(), 1);
}

}  // namespace tessera::cli
