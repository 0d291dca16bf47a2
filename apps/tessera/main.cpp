// The tessera command. Each subcommand lives in a file of its own and adds itself to the parser here.

#include "tessera/core/error.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>

namespace {

constexpr int kUserError = 1;
constexpr int kUsageError = 2;
constexpr int kInternalError = 70;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Plans, runs and simulates networks on tile machines.", "tessera"};
  app.set_version_flag("--version", TESSERA_VERSION);
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  } catch (const tessera::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return error.code() == tessera::Code::internal ? kInternalError : kUserError;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\nhint: this is a fault of tessera itself\n", error.what());
    return kInternalError;
  }
  return 0;
}
