#include "tessera/graph/passes/pass.h"

#include "tessera/core/error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::array kPasses{
    Pass{"constant_folding", "computes what depends on constants and known shapes only", fold_constants},
    Pass{"dead_code", "drops what no output needs", remove_dead_code},
};

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

void run_passes(Graph& graph, const PassOptions& options) {
  for (const std::string& name : options.off) {
    if (std::any_of(kPasses.begin(), kPasses.end(), [&](const Pass& pass) { return pass.name == name; })) continue;
    std::vector<std::string_view> names;
    for (const Pass& pass : kPasses) names.push_back(pass.name);
    fail(Code::not_found, "there is no pass '{}', only {}", name, fmt::join(names, ", "));
  }
  if (options.verify) verify(graph);
  infer_types(graph);
  for (const Pass& pass : kPasses) {
    if (std::find(options.off.begin(), options.off.end(), pass.name) != options.off.end()) continue;
    with_context(fmt::format("in pass {}", pass.name), [&] {
      const bool changed = pass.run(graph);
      if (options.verify) verify(graph);
      if (changed) infer_types(graph);
    });
  }
}

}  // namespace tessera
