#include "tessera/targets/cuda/liquid/layer_runner.h"

#include "tessera/core/error.h"
#include "tessera/ncp/graph_layer.h"
#include "tessera/targets/cuda/device/context.h"
#include "tessera/targets/cuda/device/memory.h"
#include "tessera/targets/cuda/device/stream.h"
#include "tessera/targets/cuda/kernels/kernel_library.h"
#include "tessera/targets/cuda/kernels/liquid/cfc.h"
#include "tessera/targets/cuda/kernels/liquid/ltc.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::cuda {

namespace {

constexpr std::size_t kKeptSizes = 4;  // of sequences

GpuSpec spec_of(const DeviceProperties& device) {
  GpuSpec out;
  out.arch = "sm_90a";
  out.multiprocessors = device.multiprocessors;
  out.clock_hz = 1e3 * device.clock_khz;
  out.l2_bytes = device.l2_bytes;
  out.shared_bytes = device.shared_bytes_per_block + 1024;  // what the device keeps of each block
  return out;
}

// Weights of a layer's cells as the operators have them: masks, signs of dialects and softplus are in the numbers.
struct CellConstants {
  std::vector<Cfc> cfc{};
  std::optional<Ltc> ltc{};
  std::vector<std::vector<const Array*>> operands{};  // of each cell, as in Node::inputs; null where there is none
};

CellConstants constants_of(const tessera::Graph& graph) {
  CellConstants out;
  for (const Node& node : graph.nodes) {
    if (const auto* cfc = std::get_if<Cfc>(&node.op))
      out.cfc.push_back(*cfc);
    else if (const auto* ltc = std::get_if<Ltc>(&node.op))
      out.ltc = *ltc;
    else
      continue;
    std::vector<const Array*>& operands = out.operands.emplace_back();
    for (const ValueId id : node.inputs)
      operands.push_back(id == kNoValue || !graph.value(id).constant ? nullptr : &*graph.value(id).constant);
  }
  return out;
}

std::span<const float> floats(const Array* array) {
  return array == nullptr ? std::span<const float>{} : array->as<float>();
}

std::span<const float> parameter(const ncp::ParameterSet<float>& set, std::string_view name) {
  const int i = set.find(name);
  return i < 0 ? std::span<const float>{} : std::span(set.items[static_cast<std::size_t>(i)].values);
}

// to[i] = from[i] weights[i] + biases[i], rows of as many as there are weights or biases; none: as it is.
void map_rows(std::span<float> values, std::size_t width, std::span<const float> weights,
              std::span<const float> biases) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!weights.empty()) values[i] *= weights[i % width];
    if (!biases.empty()) values[i] += biases[i % width];
  }
}

}  // namespace

struct LayerRunner::State {
  // For sequences of one size.
  struct Ready {
    std::int64_t batch = 0, steps = 0;
    LiquidTimes times = LiquidTimes::none;
    bool one_time = false, first = false;
    std::variant<std::monostate, PreparedCfc, PreparedLtc> prepared{};
    std::variant<std::monostate, PreparedCfc::Bound, PreparedLtc::Bound> bound{};
    Memory x{}, times_memory{}, first_memory{}, states{}, last{}, output{};
    std::string kernel{};
  };

  ncp::Layer layer;
  ncp::ParameterSet<float> parameters;
  LiquidPrecision precision;
  ncp::LayerSizes sizes{};
  Context context{};
  KernelLibrary library{context};
  Stream stream{context};
  GpuSpec gpu = spec_of(context.properties());
  tessera::Graph graph{};  // of the layer: its weights
  std::deque<Ready> ready{};
  std::string kernel{};
  std::vector<float> input{}, states{};

  State(ncp::Layer l, ncp::ParameterSet<float> p, LiquidPrecision precise)
      : layer(std::move(l)), parameters(std::move(p)), precision(precise), sizes(ncp::sizes(layer)) {
    check(!sizes.mixed_memory, Code::unsupported, "cuda: there are no kernels for layers with mixed memory");
    graph = ncp::to_graph(layer, parameters);
  }

  void prepare_cfc(Ready& to, const ncp::CfcLayer& cfc) {
    const CellConstants cells = constants_of(graph);
    CfcProblem p{.batch = static_cast<int>(to.batch), .steps = static_cast<int>(to.steps), .inputs = cfc.inputs};
    p.mode = cells.cfc.front().mode;
    p.activation = cells.cfc.front().activation;
    p.head = cells.cfc.front().head;
    p.times = to.times;
    p.projection = cfc.projection;
    p.projects_last_only = !cfc.return_sequences;
    p.batch_first = cfc.batch_first;
    p.precision = precision;
    CfcWeights weights;
    for (const std::vector<const Array*>& operands : cells.operands) {
      CfcProblem::Cell& shape = p.cells.emplace_back();
      CfcWeights::Cell& cell = weights.cells.emplace_back();
      cell.heads = {floats(operands[Cfc::kHeads]), floats(operands[Cfc::kBiases])};
      cell.decay = floats(operands.size() > Cfc::kDecay ? operands[Cfc::kDecay] : nullptr);
      shape.units = static_cast<int>(cell.heads.biases.size()) / (p.mode == Cfc::Mode::pure ? 1 : 4);
      for (std::size_t i = Cfc::kBackbone; i + 1 < operands.size(); i += 2) {
        cell.backbone.push_back({floats(operands[i]), floats(operands[i + 1])});
        shape.backbone.push_back(static_cast<int>(cell.backbone.back().biases.size()));
      }
    }
    weights.projection = {parameter(parameters, "fc.weight"), parameter(parameters, "fc.bias")};
    const CfcPlan plan = plan_cfc(p, gpu);
    if (plan.row == nullptr)
      fail(Code::unsupported, "cuda: no kernel takes this CfC layer: {} {}", plan.refused.back().row->name,
           plan.refused.back().refusal.text());
    to.kernel = fmt::format("{} in clusters of {}", plan.row->name, plan.offer.cluster);
    const auto& prepared = to.prepared.emplace<PreparedCfc>(library, p, *plan.row, plan.offer, weights);
    to.bound = prepared.bind(tensors(to));
  }

  void prepare_ltc(Ready& to, const ncp::LtcLayer& ltc) {
    const CellConstants cells = constants_of(graph);
    LtcProblem p{.batch = static_cast<int>(to.batch),
                 .steps = static_cast<int>(to.steps),
                 .inputs = ltc.wiring.inputs,
                 .units = ltc.wiring.units,
                 .solver = cells.ltc->solver,
                 .unfolds = cells.ltc->unfolds,
                 .epsilon = cells.ltc->epsilon,
                 .times = to.times,
                 .batch_first = ltc.batch_first};
    const std::vector<const Array*>& operands = cells.operands.front();
    const LtcWeights weights{floats(operands[Ltc::kMembrane]), floats(operands[Ltc::kSensory]),
                             floats(operands[Ltc::kRecurrent])};
    set_fan_in(p, weights);
    const LtcPlan plan = plan_ltc(p, gpu);
    if (plan.row == nullptr)
      fail(Code::unsupported, "cuda: no kernel takes this LTC layer: {} {}", plan.refused.back().row->name,
           plan.refused.back().refusal.text());
    to.kernel = fmt::format("{} in clusters of {}", plan.row->name, plan.offer.cluster);
    const auto& prepared = to.prepared.emplace<PreparedLtc>(library, p, *plan.row, plan.offer, weights);
    to.bound = prepared.bind(tensors(to));
  }

  LiquidTensors tensors(const Ready& of) const {
    const auto address = [](const Memory& memory) { return static_cast<float*>(memory.data()); };
    return {.x = address(of.x),
            .times = address(of.times_memory),
            .one_time = of.one_time,
            .first = address(of.first_memory),
            .states = address(of.states),
            .last = address(of.last),
            .output = address(of.output)};
  }

  Ready& ready_for(const ncp::Sequence<float>& sequence) {
    const std::int64_t rows = sequence.batch * sequence.steps;
    const auto given = static_cast<std::int64_t>(sequence.timespans.size());
    const LiquidTimes times = given == 0                    ? LiquidTimes::none
                              : given == 1 || given == rows ? LiquidTimes::each_step
                                                            : LiquidTimes::each_unit;
    const bool one_time = given == 1, first = !sequence.state.empty();
    for (Ready& one : ready)
      if (one.batch == sequence.batch && one.steps == sequence.steps && one.times == times &&
          one.one_time == one_time && one.first == first)
        return one;
    if (ready.size() >= kKeptSizes) ready.pop_front();
    Ready& to = ready.emplace_back();
    to.batch = sequence.batch, to.steps = sequence.steps, to.times = times;
    to.one_time = one_time, to.first = first;
    const auto memory = [&](std::int64_t count) { return Memory(context, 4 * count); };
    to.x = memory(rows * sizes.inputs);
    to.times_memory = memory(given);
    to.first_memory = memory(static_cast<std::int64_t>(sequence.state.size()));
    to.states = memory(rows * sizes.state);
    to.last = memory(sequence.batch * sizes.state);
    const auto* cfc = std::get_if<ncp::CfcLayer>(&layer);
    if (cfc != nullptr && cfc->projection > 0)
      to.output = memory((sizes.return_sequences ? rows : sequence.batch) * sizes.outputs);
    try {
      if (cfc != nullptr)
        prepare_cfc(to, *cfc);
      else
        prepare_ltc(to, std::get<ncp::LtcLayer>(layer));
    } catch (...) {
      ready.pop_back();
      throw;
    }
    return to;
  }
};

LayerRunner::LayerRunner(ncp::Layer layer, ncp::ParameterSet<float> parameters, LiquidPrecision precision)
    : state_(std::make_unique<State>(std::move(layer), std::move(parameters), precision)) {}

LayerRunner::~LayerRunner() = default;

const ncp::Layer& LayerRunner::layer() const { return state_->layer; }
std::string LayerRunner::kernel() const { return state_->kernel; }
std::string LayerRunner::device() const { return state_->context.properties().name; }

void LayerRunner::run(const ncp::Sequence<float>& sequence, ncp::SequenceResult<float>& result) {
  State& s = *state_;
  ncp::check_sequence(s.layer, sequence);
  check(!sequence.dropout_seed, Code::unsupported, "cuda: there are no kernels with dropout");
  const auto count = [](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); };
  const std::int64_t rows = sequence.batch * sequence.steps, outputs = s.sizes.outputs, units = s.sizes.state;
  result.memory.clear();
  result.states.clear();
  result.state.resize(count(sequence.batch, units));
  result.output.resize(count(s.sizes.return_sequences ? rows : sequence.batch, outputs));
  if (sequence.batch == 0) return;
  s.context.make_current();
  State::Ready& ready = s.ready_for(sequence);
  s.kernel = ready.kernel;
  const bool is_ltc = std::holds_alternative<ncp::LtcLayer>(s.layer);
  s.input.assign(sequence.input.begin(), sequence.input.end());
  if (is_ltc)
    map_rows(s.input, static_cast<std::size_t>(s.sizes.inputs), parameter(s.parameters, "rnn_cell.input_w"),
             parameter(s.parameters, "rnn_cell.input_b"));
  ready.x.write(s.stream, std::as_bytes(std::span(s.input)));
  ready.times_memory.write(s.stream, std::as_bytes(sequence.timespans));
  ready.first_memory.write(s.stream, std::as_bytes(sequence.state));
  std::visit(
      [&](const auto& bound) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(bound)>, std::monostate>) bound.launch(s.stream);
      },
      ready.bound);
  ready.last.read(s.stream, std::as_writable_bytes(std::span(result.state)));
  const bool projects = ready.output.bytes() > 0;
  if (projects) {
    ready.output.read(s.stream, std::as_writable_bytes(std::span(result.output)));
    return s.stream.synchronize();
  }
  // Outputs are some of the units: the first of an LTC, the last of a CfC.
  const bool sequences = s.sizes.return_sequences;
  if (sequences) {
    s.states.resize(count(rows, units));
    ready.states.read(s.stream, std::as_writable_bytes(std::span(s.states)));
  }
  s.stream.synchronize();
  const std::vector<float>& from = sequences ? s.states : result.state;
  const std::int64_t first = is_ltc ? 0 : units - outputs;
  for (std::int64_t r = 0; r < (sequences ? rows : sequence.batch); ++r)
    std::copy_n(from.begin() + r * units + first, outputs, result.output.begin() + r * outputs);
  if (is_ltc)
    map_rows(result.output, static_cast<std::size_t>(outputs), parameter(s.parameters, "rnn_cell.output_w"),
             parameter(s.parameters, "rnn_cell.output_b"));
}

}  // namespace tessera::cuda
