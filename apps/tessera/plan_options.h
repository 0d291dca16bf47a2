#pragma once

// What `tessera plan` is asked for: the fields of a PlanRequest, and what is written beside the plan.

#include "command.h"
#include "model_argument.h"
#include "plan_emit.h"

#include "tessera/target/target.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

struct PlanArgument {
  PlanRequest request;  // what is read as it stands
  std::vector<std::string> pins;
  std::string batches, goal, max_latency;
  std::vector<std::filesystem::path> reports;
  EmitArgument emit;
  std::string file;  // -o
};

// --objective, --min-pcc, --max-reshards, --pin, --budget, --partial, --mesh, --cq, --no-trace, --l1-small, --html,
// --batches, --goal, --max-latency, --emit, --output.
void add_plan_options(CLI::App& command, PlanArgument& argument);

// All of it as a request. Pins, lists and times that make no sense are an Error.
PlanRequest plan_request(const PlanArgument& argument);
// Those of --threads, --isa and the others of a session that were given.
void set_kernel_fields(PlanRequest& request, const SessionArgument& session, const CLI::App& command);

// An Error unless the plan file, the reports, the script and its weights can be written, each to a file of its own:
// before time is spent on what they hold.
void check_outputs(const PlanArgument& argument, const Target& target);

}  // namespace tessera::cli
