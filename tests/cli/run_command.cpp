#include "run_command.h"

#include "tessera/core/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

namespace tessera {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

CommandResult run(std::vector<std::string> words, const Environment& environment, const std::string& output,
                  const std::function<void(pid_t child)>& meanwhile) {
  std::string directory = (std::filesystem::temp_directory_path() / "tessera-cli-XXXXXX").string();
  if (!::mkdtemp(directory.data())) return ADD_FAILURE() << "no temporary directory", CommandResult{};
  const std::string out = output.empty() ? directory + "/out" : output;
  const std::string err = directory + "/err";
  words.insert(words.begin(), TESSERA_CLI);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  const pid_t child = ::fork();
  if (child == 0) {
    const int out_fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err_fd = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out_fd < 0 || err_fd < 0 || ::dup2(out_fd, 1) < 0 || ::dup2(err_fd, 2) < 0) ::_exit(126);
    ::unsetenv("TESSERA_MACHINES");  // what the developer has set is no part of the test
    for (const auto& [key, value] : environment) ::setenv(key.c_str(), value.c_str(), 1);
    ::signal(SIGINT, SIG_DFL);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  CommandResult result;
  int status = 0;
  if (child > 0) meanwhile(child);
  if (child < 0 || ::waitpid(child, &status, 0) != child) return ADD_FAILURE() << "cannot run tessera", result;
  if (WIFSIGNALED(status)) result.killed_by = WTERMSIG(status);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (output.empty()) result.out = read_text_file(out);
  result.err = read_text_file(err);
  std::filesystem::remove_all(directory);
  return result;
}

}  // namespace

CommandResult run_tessera(std::vector<std::string> words, const Environment& environment, const std::string& output) {
  return run(std::move(words), environment, output, [](pid_t) {});
}

CommandResult interrupt_tessera(std::vector<std::string> words, int signal, int milliseconds) {
  return run(std::move(words), {}, "", [&](pid_t child) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ::kill(child, signal);
  });
}

}  // namespace tessera
