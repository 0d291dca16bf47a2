#pragma once

#include "tessera/core/error.h"

#include <CLI/CLI.hpp>

#include <string>

namespace tessera::cli {

constexpr int kUserError = 1;
constexpr int kUsageError = 2;
constexpr int kInternalError = 70;
constexpr int kInterrupted = 130;  // as shells have it of what Ctrl-C ended

// Thrown by a command that has said everything and ends so.
struct EndsWith {
  int exit_code = 0;
};

// Each prints `error:`, the context and `hint:` to standard error, in colour where a terminal shows it and NO_COLOR
// is not set, and returns the exit status.
int report_error(const Error& error);
int report_internal_error(const char* what);
// `origin`: where the word was read that the complaint is about, if not on the command line.
int report_usage_error(const CLI::App& app, const CLI::ParseError& error, const std::string& origin = {});

}  // namespace tessera::cli
