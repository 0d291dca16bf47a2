#include "tessera/session/calibration.h"

#include "tessera/graph/passes/pass.h"
#include "tessera/session/session.h"

#include <memory>
#include <utility>

namespace tessera {

tensix::Calibration calibrate(const Graph& graph, std::vector<Array> images) {
  tensix::Calibration out;
  out.network = std::make_shared<tensix::LoweredGraph>(tensix::lower(graph, {.host_fallback = true}));
  out.inputs = std::move(images);
  SessionOptions plain;
  for (const Pass& pass : all_passes())
    if (pass.name != "constant_folding") plain.passes_off.emplace_back(pass.name);
  plain.passes_off.emplace_back(kChainPass);
  const Session session(out.network->graph, plain);
  session.observe(out.inputs, [&](const std::string& value, const Array& x) { out.values.insert_or_assign(value, x); });
  out.outputs = session.run(out.inputs);
  return out;
}

}  // namespace tessera
