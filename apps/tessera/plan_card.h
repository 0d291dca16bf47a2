#pragma once

// tessera plan MODEL --device CARD: options of its own, and what it does.

#include "command.h"
#include "model_argument.h"
#include "plan_emit.h"

#include "tessera/machine/machine.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

struct BatchesArgument {
  std::string list;  // empty: --batch alone
  std::string goal = "throughput", max_latency;
};

struct CardRequestArgument {
  std::string objective = "device";
  double min_pcc = 0, budget_s = 20;
  std::optional<std::int64_t> max_reshards;
  std::vector<std::string> pins;
  std::int64_t l1_small_bytes = 32768, mesh = 1;
  int command_queues = 2;
  bool no_trace = false, partial = false;
  bool budget_given = false;
  EmitArgument emit;
  std::vector<std::string> reports;
  BatchesArgument batches;
};

// --objective, --min-pcc, --max-reshards, --pin, --budget, --partial, --mesh, --cq, --no-trace, --l1-small, --html:
// returned, so that they can be refused where there is no card.
std::vector<CLI::Option*> add_card_request(CLI::App& command, CardRequestArgument& argument);

// An Error unless the plan file, the reports, the script and its weights can be written, each to a file of its own:
// before time is spent on what they hold.
void check_outputs(const CardRequestArgument& request, const std::string& file);

// Searches, shows, and writes `file` unless that is empty, and the reports that were asked for. The first interrupt
// ends the search with the best plan so far, which is written and shown as ever before the process ends by the signal;
// the second ends it at once.
void plan_for_card(const ModelArgument& model, const CardRequestArgument& request, const Machine& machine,
                   const std::string& file, const Context& context);

}  // namespace tessera::cli
