#include "ncp.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/targets/apple/verdicts/guide.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace tessera::cli {
namespace {

const std::map<std::string, ncp::CfcMode> kModes = {
    {"default", ncp::CfcMode::standard}, {"pure", ncp::CfcMode::pure}, {"no_gate", ncp::CfcMode::no_gate}};
const std::map<std::string, ncp::Activation> kActivations = {{"lecun_tanh", ncp::Activation::lecun_tanh},
                                                             {"silu", ncp::Activation::silu},
                                                             {"relu", ncp::Activation::relu},
                                                             {"tanh", ncp::Activation::tanh},
                                                             {"gelu", ncp::Activation::gelu}};
const std::map<std::string, ncp::OdeSolver> kSolvers = {{"semi_implicit", ncp::OdeSolver::semi_implicit},
                                                        {"explicit", ncp::OdeSolver::explicit_euler},
                                                        {"rk4", ncp::OdeSolver::runge_kutta}};

template <class Map>
std::vector<std::string> keys(const Map& map) {
  std::vector<std::string> out;
  for (const auto& [key, value] : map) out.push_back(key);
  return out;
}

}  // namespace

void add_ncp_model_argument(CLI::App& command, NcpModelArgument& a) {
  command.add_option("--device", a.device, "host (measured), or a chip of `tessera ncp devices`: apple_m1, \"M4 Max\"")
      ->capture_default_str()
      ->type_name("NAME");
  command.add_option("--cell", a.cell, "cfc or ltc")->check(CLI::IsMember({"cfc", "ltc"}))->capture_default_str();
  command.add_option("--wiring", a.wiring, "A wiring recipe, as for `tessera ncp wiring`; default: fully connected")
      ->type_name("SPEC");
  command.add_option("--layer", a.layer_file, "JSON file of a layer, instead of the options that describe one")
      ->type_name("FILE");
  command
      .add_option("--units", a.units, "Number of units; default: the largest that the guide recommends for the device")
      ->check(CLI::Range(1, 32768))
      ->type_name("N");
  command.add_option("--inputs", a.inputs, "Number of inputs")
      ->check(CLI::Range(1, 32768))
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option("--backbone", a.backbone, "Widths of the backbone layers: 64,64; default: the guide's for the device")
      ->delimiter(',')
      ->check(CLI::Range(1, 32768))
      ->type_name("N,N");
  command.add_flag("--no-backbone", a.no_backbone, "No backbone: the heads read inputs and state directly");
  command.add_option("--mode", a.mode, "CfC: default, no_gate or pure")
      ->check(CLI::IsMember(keys(kModes)))
      ->capture_default_str();
  command.add_option("--activation", a.activation, "Activation of the backbone")
      ->check(CLI::IsMember(keys(kActivations)))
      ->capture_default_str();
  command.add_option("--solver", a.solver, "LTC: the ODE solver")
      ->check(CLI::IsMember(keys(kSolvers)))
      ->capture_default_str();
  command.add_option("--unfolds", a.unfolds, "LTC: solver steps per time step")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--projection", a.projection, "Width of a linear layer after the cell")
      ->check(CLI::Range(1, 32768));
  command.add_flag("--mixed-memory", a.mixed_memory, "Add an LSTM cell for the state");
  command.add_flag("--last-only", a.last_only, "Return only the output of the last step");
  command.add_option("--batch", a.batch, "Batch size; default: the largest that the guide recommends for the device")
      ->check(CLI::Range(1, 1 << 24))
      ->type_name("N");
  command.add_option("--length", a.length, "Sequence length in steps")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
}

ncp::Layer ncp_layer(const NcpModelArgument& a, const apple::DeviceProfile& device) {
  if (!a.layer_file.empty()) {
    check(a.wiring.empty() && a.units == 0 && a.backbone.empty(), Code::invalid_argument,
          "--layer {} already gives wiring, units and backbone", a.layer_file);
    return with_context("while reading " + a.layer_file,
                        [&] { return ncp::layer_from_json(read_text_file(a.layer_file)); });
  }
  check(a.wiring.empty() || a.units == 0, Code::invalid_argument,
        "--wiring {} already gives the number of units; leave out --units {}", a.wiring, a.units);
  check(!a.no_backbone || a.backbone.empty(), Code::invalid_argument,
        "--backbone and --no-backbone exclude each other");
  const int units = a.units > 0 ? a.units : device.get_optimal_hidden_size();
  if (a.cell == "ltc") {
    check(a.backbone.empty() && a.projection == 0, Code::invalid_argument, "an LTC has no backbone and no projection");
    ncp::LtcLayer layer;
    layer.wiring = ncp::build_wiring(
        a.wiring.empty() ? ncp::FullyConnectedSpec{.units = units} : ncp::parse_wiring_spec(a.wiring), a.inputs);
    layer.solver = kSolvers.at(a.solver);
    layer.ode_unfolds = a.unfolds;
    layer.mixed_memory = a.mixed_memory;
    layer.return_sequences = !a.last_only;
    return layer;
  }
  ncp::CfcLayer layer{.inputs = a.inputs};
  if (!a.wiring.empty()) {
    check(a.backbone.empty(), Code::invalid_argument, Hint{"--units N makes a layer with a backbone"},
          "a CfC over a wiring has no backbone");
    layer.wiring = ncp::build_wiring(ncp::parse_wiring_spec(a.wiring), a.inputs);
    layer.backbone.clear();
  } else {
    layer.units = units;
    layer.backbone = a.no_backbone ? std::vector<int>{} : !a.backbone.empty() ? a.backbone : device.backbone_units;
  }
  layer.mode = kModes.at(a.mode);
  layer.activation = kActivations.at(a.activation);
  layer.projection = a.projection;
  layer.mixed_memory = a.mixed_memory;
  layer.return_sequences = !a.last_only;
  return layer;
}

std::int64_t ncp_batch(const NcpModelArgument& a, const apple::DeviceProfile& device) {
  return a.batch > 0 ? a.batch : device.get_optimal_batch_size();
}

std::string ncp_layer_text(const ncp::Layer& layer) {
  const ncp::LayerSizes size = ncp::sizes(layer);
  if (const auto* ltc = std::get_if<ncp::LtcLayer>(&layer)) return "LTC " + to_string(ltc->wiring.spec);
  const auto& cfc = std::get<ncp::CfcLayer>(layer);
  if (cfc.wiring) return "CfC " + to_string(cfc.wiring->spec);
  return fmt::format("CfC {}, backbone [{}]", size.state, fmt::join(cfc.backbone, ", "));
}

}  // namespace tessera::cli
