#pragma once

// tessera plan MODEL --emit WHAT FILE: the network as code for another machine's own library.

#include "command.h"
#include "model_argument.h"

#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <string>
#include <vector>

namespace tessera::cli {

struct EmitArgument {
  std::vector<std::string> words;  // what and where; none: nothing is written

  bool given() const { return !words.empty(); }
  // Whether it takes a plan for a card.
  bool for_card() const { return given() && words[0] == "ttnn"; }
};

void add_emit_option(CLI::App& command, EmitArgument& argument);
void check_emit(const EmitArgument& argument);  // an Error for a word that is none

// MLX and NKI: which need no plan for a Tensix card. `device` may be empty for MLX.
void emit_network(const EmitArgument& emit, const ModelArgument& model, const std::string& device,
                  const Context& context);

// TTNN.
void emit_card_plan(const EmitArgument& emit, const tensix::LoweredGraph& network, const tensix::CardPlan& plan,
                    const Context& context);

}  // namespace tessera::cli
