#pragma once

// tessera plan MODEL --emit WHAT FILE: the network as code for another machine's own library.

#include "command.h"
#include "model_argument.h"

#include "tessera/machine/machine.h"
#include "tessera/target/script.h"
#include "tessera/targets/registry.h"

#include <string>
#include <vector>

namespace tessera::cli {

struct EmitArgument {
  std::vector<std::string> words;  // what and where; none: nothing is written

  bool given() const { return !words.empty(); }
  EmittedLanguage language() const { return find_language(words.at(0)); }  // an Error for a word that is none
  const std::string& script() const { return words.at(1); }
};

void add_emit_option(CLI::App& command, EmitArgument& argument);

// For languages that follow no plan. `machine`: none where it was not said.
void emit_network(const EmitArgument& emit, const ModelArgument& model, const Machine* machine, const Context& context);

// For languages that follow one: the script, an Error if the language has no word for something; and writing it, with
// the word about it.
emit::Script script_of(const EmitArgument& emit, const NetworkPlan& plan);
void write_script(const EmitArgument& emit, const emit::Script& script, const Context& context);

}  // namespace tessera::cli
