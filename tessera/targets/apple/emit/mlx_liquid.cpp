#include "tessera/core/error.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/apple/emit/mlx.h"
#include "tessera/targets/apple/emit/mlx_prelude.h"

#include <fmt/format.h>

#include <variant>

namespace tessera::apple {
namespace {

std::string_view activation_name(ncp::Activation activation) {
  switch (activation) {
    case ncp::Activation::lecun_tanh: return "lecun_tanh";
    case ncp::Activation::silu: return "silu";
    case ncp::Activation::relu: return "relu";
    case ncp::Activation::tanh: return "tanh";
    case ncp::Activation::gelu: return "gelu";
  }
  return "";
}

std::string_view head_name(ncp::DialectRules::Head head) {
  switch (head) {
    case ncp::DialectRules::Head::tanh: return "tanh";
    case ncp::DialectRules::Head::lecun_tanh: return "lecun_tanh";
    case ncp::DialectRules::Head::none: return "none";
  }
  return "";
}

std::string facts(const ncp::CfcLayer& layer) {
  const ncp::DialectRules rules = ncp::rules(layer.dialect);
  std::vector<std::string> cells;
  if (layer.wiring) {
    for (std::size_t l = 0; l < layer.wiring->layers.size(); ++l)
      cells.push_back(fmt::format("(\"rnn_cell.layer_{}.\", {}, [])", l, layer.wiring->layers[l].neurons.size()));
  } else {
    // Activations and dropouts between the layers have numbers too.
    std::vector<std::int64_t> indices;
    std::int64_t index = 0;
    for (std::size_t l = 0; l < layer.backbone.size(); ++l) {
      indices.push_back(index);
      index += l > 0 && layer.backbone_dropout > 0 ? 3 : 2;
    }
    cells.push_back(fmt::format("(\"rnn_cell.\", {}, {})", layer.units, emit::py_list(indices)));
  }
  return fmt::format("MODE, ACTIVATION, HEAD, TIME_SIGN = \"{}\", \"{}\", \"{}\", {}\n{}",
                     layer.mode == ncp::CfcMode::pure      ? "pure"
                     : layer.mode == ncp::CfcMode::no_gate ? "no_gate"
                                                           : "default",
                     activation_name(layer.activation), head_name(rules.head), rules.time_sign,
                     emit::py_call(0, "CELLS = [", cells, "]"));
}

std::string facts(const ncp::LtcLayer& layer) {
  return fmt::format("SOLVER, UNFOLDS, EPSILON, SOFTPLUS = \"{}\", {}, {}, {}\n",
                     layer.solver == ncp::OdeSolver::explicit_euler ? "explicit"
                     : layer.solver == ncp::OdeSolver::runge_kutta  ? "runge_kutta"
                                                                    : "semi_implicit",
                     layer.ode_unfolds, emit::py(layer.epsilon), emit::py(layer.implicit_constraints));
}

}  // namespace

emit::Script mlx_script(const ncp::Layer& layer, const ncp::ParameterSet<float>& parameters, const std::string& model,
                        const std::string& weights_file) {
  ncp::check_parameters(layer, parameters);
  const ncp::LayerSizes sizes = ncp::sizes(layer);
  const bool cfc = std::holds_alternative<ncp::CfcLayer>(layer);
  emit::Script script;
  script.weights_file = weights_file;
  for (const ncp::Parameter<float>& each : parameters.items)
    script.weights.push_back({each.info.name, each.info.shape,
                              std::make_shared<const Array>(Array::of<float>(Shape(each.info.shape), each.values))});
  const char* const order = sizes.batch_first ? "batch, time" : "time, batch";
  script.text = fmt::format(R"("""{}: a liquid layer ({}) in MLX, written by Tessera.

    python FILE.py [--input x=x.npy] [--input elapsed=t.npy] [--output DIR] [--runs N] [--cpu]

Needs mlx and numpy, and its weights beside it. x: {}, inputs; elapsed: {}. Results are the outputs
and the last state.
"""

)",
                            emit::py_comment(model), cfc ? "CfC" : "LTC", order, order);
  script.text += std::string(kMlxHead.substr(1)) + std::string(emit::kReadSafetensors) + "\n\n";
  script.text += fmt::format("WEIGHTS_FILE = {}\n", emit::py(weights_file));
  script.text += fmt::format("INPUTS = {{\"x\": ({0}, {1}), \"elapsed\": ({0})}}  # by default\n",
                             sizes.batch_first ? "1, 16" : "16, 1", sizes.inputs);
  script.text += "OUTPUTS = [\"y\", \"state\"]\nFIXED = False\n";
  script.text += fmt::format("STATE, READOUT, SEQUENCES, BATCH_FIRST = {}, {}, {}, {}\n", sizes.state, sizes.readout,
                             emit::py(sizes.return_sequences), emit::py(sizes.batch_first));
  script.text += std::visit([](const auto& l) { return facts(l); }, layer) + "\n\n";
  script.text += cfc ? kMlxCfc.substr(1) : kMlxLtc.substr(1);
  script.text += kMlxLiquid.substr(1);
  script.text += kMlxTail.substr(1);
  return script;
}

}  // namespace tessera::apple
