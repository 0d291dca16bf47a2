#include "tessera/graph/passes/pass.h"

#include "tessera/core/error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::array kPasses{
    Pass{"constant_folding", "computes what depends on constants and known shapes only", fold_constants},
    Pass{"matmul_to_gemm", "makes products with a constant matrix dense layers", matmul_to_gemm},
    Pass{"fold_batch_norm", "moves scales and shifts of channels into weights and biases", fold_batch_norm},
    Pass{"fold_pads", "makes padding with zeros part of what follows it", fold_pads},
    Pass{"eliminate_duplicates", "computes once what is computed twice", eliminate_duplicates},
    Pass{"fuse_epilogue", "gives activations, residual sums and pools to the product they follow", fuse_epilogue},
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
