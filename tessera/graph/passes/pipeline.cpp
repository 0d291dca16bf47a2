#include "tessera/graph/passes/pass.h"

#include "tessera/core/error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

namespace tessera {
namespace {

constexpr std::array kPasses{
    Pass{"fuse_quantization", "computes in integers between dequantising and quantising", fuse_quantization},
    Pass{"eliminate_shape_arithmetic", "settles shapes that are computed at run time, drops what does nothing",
         eliminate_shape_arithmetic},
    Pass{"constant_folding", "computes what depends on constants and known shapes only", fold_constants},
    Pass{"eliminate_transposes", "moves transposes until they cancel, merges reshapes", eliminate_transposes},
    Pass{"recognize_activations", "finds activations and norms that are spelled out", recognize_activations},
    Pass{"matmul_to_gemm", "makes products with a constant matrix dense layers", matmul_to_gemm},
    Pass{"fold_batch_norm", "moves scales and shifts of channels into weights and biases", fold_batch_norm},
    Pass{"fold_pads", "makes padding with zeros part of what follows it", fold_pads},
    Pass{"eliminate_duplicates", "computes once what is computed twice", eliminate_duplicates},
    Pass{"fuse_epilogue", "gives activations, residual sums and pools to the product they follow", fuse_epilogue},
    Pass{"dead_code", "drops what no output needs", remove_dead_code},
};

// What one pass leaves may be work for another before it. Two rounds do nearly always, and the last changes nothing.
constexpr int kMaxRounds = 8;

bool is_off(const PassOptions& options, const Pass& pass) {
  return std::find(options.off.begin(), options.off.end(), pass.name) != options.off.end();
}

bool run_round(Graph& graph, const PassOptions& options);

bool run_rounds(Graph& graph, const PassOptions& options) {
  if (options.verify) verify(graph);
  infer_types(graph);
  for (int round = 0; round < kMaxRounds; ++round)
    if (!run_round(graph, options)) return round > 0;
  return true;
}

// A body after the passes; the same one if they change nothing or cannot say its types. Shapes that a model declares
// for the inputs of a body do not bind what it is run with, so that only those given here count.
std::shared_ptr<const Graph> improved(const std::shared_ptr<const Graph>& body, std::span<const TensorType> given,
                                      const PassOptions& options) {
  if (body == nullptr || body->inputs.size() != given.size()) return body;
  Graph copy = *body;
  std::vector<TensorType> declared;
  for (std::size_t i = 0; i < given.size(); ++i) {
    TensorType& type = copy.value(copy.inputs[i]).type;
    declared.push_back(type);
    type.dims = given[i].dims;
  }
  try {
    if (!run_rounds(copy, options)) return body;
  } catch (const Error&) {
    return body;  // a branch for other shapes than these
  }
  for (std::size_t i = 0; i < given.size(); ++i) copy.value(copy.inputs[i]).type = declared[i];
  return std::make_shared<const Graph>(std::move(copy));
}

bool improve_bodies(Graph& graph, const PassOptions& options) {
  bool changed = false;
  const auto improve = [&](std::shared_ptr<const Graph>& body, std::span<const TensorType> given) {
    std::shared_ptr<const Graph> better = improved(body, given, options);
    changed = changed || better != body;
    body = std::move(better);
  };
  for (Node& node : graph.nodes) {
    std::vector<TensorType> given;
    const auto captures_from = [&](std::size_t first) {
      for (std::size_t i = first; i < node.inputs.size(); ++i)
        given.push_back(node.inputs[i] == kNoValue ? TensorType{} : graph.value(node.inputs[i]).type);
    };
    if (auto* choice = std::get_if<If>(&node.op)) {
      captures_from(1);
      improve(choice->then_branch, given);
      improve(choice->else_branch, given);
    } else if (auto* loop = std::get_if<Loop>(&node.op)) {
      // Iteration, condition and carried values: what a later round brings may have another shape than the first.
      const std::size_t own = 2 + static_cast<std::size_t>(loop->carried);
      given.assign(own, TensorType(ElementType::float32, std::nullopt));
      captures_from(own);
      improve(loop->body, given);
    }
  }
  return changed;
}

bool run_round(Graph& graph, const PassOptions& options) {
  bool any = false;
  for (const Pass& pass : kPasses) {
    if (is_off(options, pass)) continue;
    with_context(fmt::format("in pass {}", pass.name), [&] {
      const bool changed = pass.run(graph);
      if (options.verify) verify(graph);
      if (changed) infer_types(graph);
      any = any || changed;
    });
  }
  return improve_bodies(graph, options) || any;
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

void run_passes(Graph& graph, const PassOptions& options) {
  for (const std::string& name : options.off) {
    if (std::any_of(kPasses.begin(), kPasses.end(), [&](const Pass& pass) { return pass.name == name; })) continue;
    std::vector<std::string_view> names;
    for (const Pass& pass : kPasses) names.push_back(pass.name);
    fail(Code::not_found, "there is no pass '{}', only {}", name, fmt::join(names, ", "));
  }
  run_rounds(graph, options);
}

}  // namespace tessera
