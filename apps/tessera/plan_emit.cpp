#include "plan_emit.h"

#include "plan_argument.h"
#include "progress.h"

#include "tessera/io/emit/script.h"

#include <fmt/format.h>

#include <optional>

namespace tessera::cli {
namespace {

void tell_written(const std::string& file, const emit::Script& script, const Context& context) {
  if (context.quiet || context.format != Format::table) return;
  context.print(fmt::format("written to {}{}\n", file,
                            script.weights.empty() ? "" : fmt::format(", weights to {}", script.weights_file)));
}

}  // namespace

void add_emit_option(CLI::App& command, EmitArgument& argument) {
  command
      .add_option("--emit", argument.words,
                  "Write the network as a Python script with its weights beside it: ttnn (the plan for a card), mlx, "
                  "or nki (fused convolutions for a NeuronCore)")
      ->expected(2)
      ->type_name("WHAT FILE");
}

void emit_network(const EmitArgument& emit, const ModelArgument& model, const Machine* machine,
                  const Context& context) {
  Emitted done;
  {
    std::optional<Progress> progress;
    const auto [target, language] = emit.language();
    done = target.emit({.language = language.name,
                        .script = emit.script(),
                        .model = model.model,
                        .machine = machine,
                        .load = [&] { return load_network(model); },
                        .on_progress =
                            [&](std::size_t at, std::size_t all, const std::string& what) {
                              if (!progress) progress.emplace("planning " + model.model, all, context.quiet);
                              progress->at(at, what);
                            }});
  }
  emit::save_script(emit.script(), done.script);
  if (!done.view.parts.empty()) context.print(done.view);
  tell_written(emit.script(), done.script, context);
}

emit::Script script_of(const EmitArgument& emit, const NetworkPlan& plan) {
  const auto [target, language] = emit.language();
  return target.emit(plan, language.name, emit::weights_file_of(emit.script()));
}

void write_script(const EmitArgument& emit, const emit::Script& script, const Context& context) {
  emit::save_script(emit.script(), script);
  tell_written(emit.script(), script, context);
}

}  // namespace tessera::cli
