#include "tessera/scale/run_identity.h"

#include "tessera/core/array.h"
#include "tessera/core/sha256.h"
#include "tessera/graph/digest.h"
#include "tessera/graph/graph.h"
#include "tessera/kernel_plan/plan.h"
#include "tessera/session/session.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

namespace tessera {
namespace {

constexpr std::size_t kDigits = 16;

// Kernels and orders decide in which order products are summed. Shapes alone count here.
std::string kernels_digest(const Session& session) {
  std::vector<Array> inputs;
  for (const Port& port : session.inputs()) inputs.emplace_back(port.type.type, port.type.shape());
  std::string text;
  for (const std::shared_ptr<const Plan>& plan : session.plans(inputs))
    for (std::size_t s = 0; s < plan->steps.size(); ++s) {
      const Step& step = plan->steps[s];
      text += fmt::format("{} {}", plan->step_name(s), step.kernel == nullptr ? "" : step.kernel->name);
      for (const Order order : step.offer.inputs) text += fmt::format(" <{}", name(order));
      for (const Order order : step.offer.outputs) text += fmt::format(" >{}", name(order));
      text += '\n';
    }
  return sha256_hex(std::as_bytes(std::span(text)), kDigits);
}

std::string list(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string run_identity(const RunDescription& run, const Graph& graph, const Session& session,
                         const std::vector<Array>& samples) {
  const SessionOptions& options = session.options();
  std::string text = fmt::format("tessera {}\n", run.version);
  text += fmt::format("model {}{}\n", run.model, run.file.empty() ? "" : ", file " + sha256_hex(run.file, kDigits));
  text += fmt::format("network {}\nweights {}\n", network_digest(graph), weights_digest(graph));
  text += fmt::format("chunks of {}\n", run.chunk);
  text += fmt::format("values are {}, weights {}\n", name(options.storage), name(options.weights));
  text += fmt::format("arithmetic {}{}\n", name(session.isa()), options.exact ? ", exact" : "");
  text += fmt::format("without passes: {}\nwithout kernels: {}\n", list(options.passes_off), list(options.kernels_off));
  text += fmt::format("kernels {}\n", kernels_digest(session));
  for (std::size_t i = 0; i < samples.size(); ++i)
    text += fmt::format("input {} {} {}\n", session.inputs()[i].name, samples[i].to_string(),
                        sha256_hex(samples[i].bytes(), kDigits));
  return text;
}

}  // namespace tessera
