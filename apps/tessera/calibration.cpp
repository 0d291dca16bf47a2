#include "calibration.h"

#include "tessera/core/error.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/session/session.h"

#include <memory>
#include <utility>

namespace tessera::cli {
namespace {

Model small_model(const ModelArgument& argument, std::int64_t images) {
  if (argument.batch <= images || !argument.inputs.empty()) return load_model(argument);
  ModelArgument one = argument;
  one.batch = images;
  try {
    return load_model(one);
  } catch (const Error&) {
    return load_model(argument);  // its batch cannot be changed
  }
}

}  // namespace

tensix::Calibration calibration_of(const ModelArgument& argument, std::int64_t images) {
  Model model = small_model(argument, images);
  tensix::Calibration out;
  out.network = std::make_shared<tensix::LoweredGraph>(tensix::lower(model.graph, {.host_fallback = true}));
  out.inputs = std::move(model.inputs);
  SessionOptions plain;
  for (const Pass& pass : all_passes())
    if (pass.name != "constant_folding") plain.passes_off.emplace_back(pass.name);
  plain.passes_off.emplace_back(kChainPass);
  const Session session(out.network->graph, plain);
  session.observe(out.inputs, [&](const std::string& value, const Array& x) { out.values.insert_or_assign(value, x); });
  out.outputs = session.run(out.inputs);
  return out;
}

}  // namespace tessera::cli
