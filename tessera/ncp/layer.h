#pragma once

// Recurrent layers of liquid networks as descriptions: what they compute, which parameters they have under which names,
// and how those begin. Definitions, names and defaults are those of ncps 1.0.1 for PyTorch.

#include "tessera/core/export.h"
#include "tessera/ncp/parameters.h"
#include "tessera/ncp/wiring.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::ncp {

enum class CfcMode { standard, pure, no_gate };  // upstream calls the first "default"
enum class Activation { lecun_tanh, silu, relu, tanh, gelu };
// Whose weights these are. They differ in the sign of the gate's time, in what the heads pass through, in where dropout
// stands, and in how the pure mode begins.
enum class Dialect { torch, keras, mlx, paper };
enum class Mapping { affine, linear, none };
enum class OdeSolver { semi_implicit, explicit_euler, runge_kutta };

struct DialectRules {
  enum class Head { tanh, none, lecun_tanh };
  int time_sign = 1;  // of time_a in the gate
  Head head = Head::tanh;
  bool dropout_after_first = false;  // the first backbone layer has dropout as well
  bool constant_pure_start = false;  // w_tau = 0 and A = 1 instead of random ones
};
TSR_API DialectRules rules(Dialect dialect);

struct CfcLayer {
  int inputs = 0;
  int units = 0;                   // unless there is a wiring
  std::optional<Wiring> wiring{};  // one cell per layer of the wiring, without backbone
  CfcMode mode = CfcMode::standard;
  Activation activation = Activation::lecun_tanh;
  std::vector<int> backbone{128};  // widths; none: the heads see inputs and state
  double backbone_dropout = 0;
  Dialect dialect = Dialect::torch;
  int projection = 0;         // width of a linear layer after the readout; 0: none
  bool mixed_memory = false;  // an LSTM cell makes the state that the cell starts from
  bool return_sequences = true;
  bool batch_first = true;
  bool operator==(const CfcLayer&) const = default;
};

struct LtcLayer {
  Wiring wiring{};
  OdeSolver solver = OdeSolver::semi_implicit;
  int ode_unfolds = 6;
  double epsilon = 1e-8;
  bool implicit_constraints = true;  // softplus keeps w, cm and gleak positive; otherwise apply_constraints() has to
  Mapping input_mapping = Mapping::affine;
  Mapping output_mapping = Mapping::affine;
  bool mixed_memory = false;
  bool return_sequences = true;
  bool batch_first = true;
  bool operator==(const LtcLayer&) const = default;
};

using Layer = std::variant<CfcLayer, LtcLayer>;

// Sizes that every layer has.
struct LayerSizes {
  int inputs = 0;
  int state = 0;
  int readout = 0;  // of the cell
  int outputs = 0;  // after a projection
  bool mixed_memory = false;
  bool return_sequences = true;
  bool batch_first = true;
};
// Refuses descriptions that make no sense.
TSR_API LayerSizes sizes(const Layer& layer);

// Order, names, shapes and what is frozen, as in upstream's state_dict.
TSR_API std::vector<ParameterInfo> parameter_list(const Layer& layer);

struct ParameterCount {
  std::int64_t trainable = 0;
  std::int64_t total = 0;
};
TSR_API ParameterCount count_parameters(const Layer& layer);

// Upstream's distributions, drawn by an engine of ours: the numbers are not PyTorch's.
TSR_API ParameterSet<double> initial_parameters(const Layer& layer, std::uint64_t seed);

// An Error that names every parameter that is missing, unknown, of another shape, or not finite.
template <class Real>
TSR_API void check_parameters(const Layer& layer, const ParameterSet<Real>& parameters);

// Explicit constraints of an LTC layer: negative w, sensory_w, cm and gleak become 0. Nothing for any other layer.
template <class Real>
TSR_API void apply_constraints(const Layer& layer, ParameterSet<Real>& parameters);

// Weights for another dialect: time_a changes its sign where the gate's time does. What the heads pass through is not a
// matter of weights.
template <class Real>
TSR_API void convert_dialect(ParameterSet<Real>& parameters, Dialect from, Dialect to);

TSR_API std::string layer_to_json(const Layer& layer);
TSR_API Layer layer_from_json(std::string_view text);

}  // namespace tessera::ncp
