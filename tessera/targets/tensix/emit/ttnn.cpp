#include "tessera/targets/tensix/emit/ttnn.h"

#include "tessera/core/error.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/emit/ttnn_prelude.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"
#include "tessera/targets/tensix/plan/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tessera::tensix {
namespace {

using tensix::LayerConfig;
using tensix::LoweredNode;
using tensix::Placement;
using tensix::PlannedMove;
using tensix::PlannedStep;

constexpr std::int64_t kTraceRegionBytes = 64 << 20;

class Writer final : public TtnnCall {
 public:
  Writer(const tensix::LoweredGraph& network, const tensix::CardPlan& plan, const std::string& weights_file)
      : given_(network), network_(tensix::planned_network(network, plan)), plan_(plan) {
    script_.weights_file = weights_file;
    for (const LoweredNode& node : network_.nodes) nodes_[node.name] = &node;
  }

  emit::Script run() && {
    refuse_host_layers();
    for (const ValueId id : network_.graph.inputs) {
      const Extent2d matrix = network_.matrix(id);
      const auto fold = network_.folds.find(id);
      const Shape shape = fold == network_.folds.end() ? Shape{1, 1, matrix.height, matrix.width} : fold->second.rows();
      places_[value(id)] = {shape, DType::bfloat16, Layout::row_major, kDramMemoryConfig};
      owner_[value(id)] = value(id);
    }
    check(plan_.steps.size() == network_.nodes.size(), Code::invalid_argument,
          "the plan has {} steps, the network {} operators: it was made for another one", plan_.steps.size(),
          network_.nodes.size());
    std::string layers;
    for (const PlannedStep& step : plan_.steps) layers += layer_text(step);
    script_.text = head() + std::string(kTtnnHead.substr(1)) + std::string(emit::kReadSafetensors) + "\n\n" + facts() +
                   layers + std::string(kTtnnTail.substr(1));
    return std::move(script_);
  }

 private:
  const std::string& value(ValueId id) const { return network_.graph.value(id).name; }

  void refuse_host_layers() const {
    std::vector<std::string> found;
    for (const LoweredNode& node : network_.nodes)
      if (node.layer.is<HostLayer>()) found.push_back(fmt::format("'{}' ({})", node.name, node.op));
    check(found.empty(), Code::unsupported,
          Hint{"cut the model before them, or replace them by operators that TTNN has"},
          "{} of {} operators have no TTNN call: {}", found.size(), network_.nodes.size(), fmt::join(found, ", "));
  }

  std::string head() const {
    return fmt::format(
        R"("""{} on {}, as planned by Tessera: {} layers, {:.1f} us of kernels predicted for a batch of {}{}.

    python FILE.py [--check] [--input x.npy] [--output DIR] [--runs N]

Needs ttnn (made for 0.81.1) and numpy, and its weights beside it. Every layer runs with the planned configuration; one
that the card refuses makes the script end with 1. With --check, and on a mocked card (TT_METAL_MOCK_CLUSTER_DESC_PATH),
each layer's use of L1 is compared with the plan's.
"""

)",
        emit::py_comment(plan_.model), emit::py_comment(plan_.machine), plan_.steps.size(), plan_.kernels_ns / 1000,
        plan_.batch, plan_.request.mesh == 1 ? "" : fmt::format(" on each of {} cards", plan_.request.mesh));
  }

  std::string facts() const {
    std::string text =
        fmt::format("WEIGHTS_FILE = {}\n", script_.weights.empty() ? emit::py("") : emit::py(script_.weights_file));
    std::vector<std::string> inputs, outputs;
    for (const ValueId id : network_.graph.inputs)
      inputs.push_back(fmt::format("{}: {}", emit::py(value(id)), shape_tuple(id)));
    for (const ValueId id : network_.graph.outputs) {
      const auto pixels = network_.pixels.find(id);
      const int columns = network_.columns_of(id);
      outputs.push_back(fmt::format("{}: ({}, {}{})", emit::py(value(id)), shape_tuple(id),
                                    pixels == network_.pixels.end() ? 1 : pixels->second,
                                    columns == 1 ? "" : fmt::format(", {}", columns)));
    }
    std::vector<std::string> folds;
    for (const auto& [id, f] : network_.folds)
      folds.push_back(fmt::format("{}: ({}, {}, {}, {}, {}, {})", emit::py(value(id)), f.height, f.width, f.by_h,
                                  f.by_w, f.top, f.left));
    text += emit::py_call(0, "INPUTS = {", inputs, "}");
    text += fmt::format("PASS = {}  # images that go through the layers at a time; 0: all\n",
                        plan_.pass_images * plan_.request.mesh);
    text += fmt::format("IMAGES = {}  # of those, side by side in channels\n", plan_.grouped_images);
    text += emit::py_call(0, "FOLDS = {", folds, "}  # height, width, pixels in one, padding above and left");
    std::vector<std::string> places;
    for (const tensix::CardPlan::Input& input : plan_.placed_inputs)
      places.push_back(fmt::format("{}: {}", emit::py(input.value), py_memory(input.memory)));
    text += emit::py_call(0, "PLACES = {", places, "}");
    text += emit::py_call(0, "OUTPUTS = {", outputs, "}");
    text += fmt::format(
        "INPUT_DTYPE = ttnn.bfloat16\nCARDS = {}\nL1_SMALL = {}\nTRACE, QUEUES, TRACE_REGION = {}, {}, {}\n\n",
        plan_.request.mesh, plan_.request.l1_small_bytes, emit::py(plan_.metal_trace), plan_.command_queues,
        plan_.metal_trace ? kTraceRegionBytes : 0);
    return text;
  }

  // Of all cards together: each has a batch of its own.
  std::string shape_tuple(ValueId id) const {
    std::vector<std::int64_t> extents;
    const Shape shape = given_.graph.value(id).type.shape();
    for (int d = 0; d < shape.rank(); ++d) extents.push_back(d == 0 ? shape[d] * plan_.request.mesh : shape[d]);
    return emit::py_tuple(extents);
  }

  const Placement& place_of(const std::string& name) const {
    const auto found = places_.find(name);
    check(found != places_.end(), Code::invalid_argument, "the plan reads '{}' before it is there", name);
    return found->second;
  }

  // --- the step that is written, as rows of operators ask for it ---
  const std::string& node() const override { return node_->name; }
  const std::string& op() const override { return node_->op; }
  std::size_t inputs() const override { return inputs_.size(); }
  const Placement& place(std::size_t i) const override { return place_of(inputs_[i]); }
  std::string input(std::size_t i) const override { return at(inputs_[i]); }
  std::string result() const override { return result_; }
  Extent2d input_matrix() const override { return network_.matrix(node_->inputs[0]); }
  Extent2d output_matrix() const override { return network_.matrix(node_->outputs[0]); }
  const LayerConfig& config() const override { return config_; }
  void in_place_of(std::size_t i) override { in_place_of_ = inputs_[i]; }
  void keep_weight(const std::string& name, const Constant& array, std::vector<std::int64_t> shape) override {
    script_.weights.push_back({name, std::move(shape), array});
  }
  std::string move_to_dram(std::size_t i) override {
    const std::string& x = inputs_[i];
    places_[x].memory = kDramMemoryConfig;
    owner_[x] = fmt::format("{} for {}", x, node_->name);
    return fmt::format("    {0} = {1}\n", at(x), py_in_dram(at(x)));
  }
  bool may_consume(std::size_t i) const override {
    const std::string& name = inputs_[i];
    if (std::find(frees_.begin(), frees_.end(), name) == frees_.end()) return false;
    const std::string& owner = owner_.at(name);
    return std::count_if(owner_.begin(), owner_.end(), [&](const auto& each) { return each.second == owner; }) == 1;
  }

  static std::string at(const std::string& name) { return fmt::format("v[{}]", emit::py(name)); }

  std::string layer_text(const PlannedStep& step) {
    const auto found = nodes_.find(step.node);
    check(found != nodes_.end(), Code::invalid_argument, "the plan has a step '{}', which the network has not",
          step.node);
    const LoweredNode& node = *found->second;
    std::string text;
    for (const PlannedMove& move : step.moves) {
      text += fmt::format("\n@layer({}, {}, l1={})\ndef _(v):\n", emit::py(move.value),
                          emit::py(tensix::name(move.kind)), move.l1_peak_bytes);
      if (!move.why.empty()) text += fmt::format("    # {}\n", emit::py_comment(move.why));
      text += move.kind == PlannedMove::Kind::slide
                  ? fmt::format("    v[{0}] = ttnn.move(v[{0}])\n\n", emit::py(move.value))
                  : fmt::format("    v[{0}] = ttnn.to_memory_config(v[{0}], {1})\n\n", emit::py(move.value),
                                py_memory(move.to));
      places_[move.value].memory = move.to;
      owner_[move.value] = fmt::format("{} before {}", move.value, step.node);
    }
    inputs_.clear();
    for (const ValueId id : node.inputs) inputs_.push_back(value(id));
    const std::string result = value(node.outputs[0]);
    result_ = at(result);
    in_place_of_.reset();
    config_ = step.config;
    frees_ = step.frees;
    node_ = &node;
    const CardOp& row = *node.layer.op();
    std::string body = row.emit(node.layer, *this);
    if (!row.takes_memory_config && step.config.memory == BufferType::dram)
      body += fmt::format("    {0} = ttnn.to_memory_config({0}, DRAM)\n", at(result));
    const Placement& y = step.result;
    std::vector<std::string> head{emit::py(step.node), emit::py(step.op),
                                  fmt::format("l1={}", step.predicted.l1_peak_bytes),
                                  fmt::format("makes=({}, {}, {}, {}, {})", emit::py(result), emit::py_list(y.shape),
                                              py_dtype(y.dtype), py_layout(y.layout), py_memory(y.memory))};
    if (!step.frees.empty()) {
      std::string gone;
      for (const std::string& name : step.frees) gone += (gone.empty() ? "" : ", ") + emit::py(name);
      head.push_back(fmt::format("frees=[{}]", gone));
    }
    text += emit::py_call(0, "\n@layer(", head);
    text += "def _(v):\n";
    if (!step.why.empty()) text += fmt::format("    # {}\n", emit::py_comment(step.why));
    text += body + "\n";
    places_[result] = y;
    owner_[result] = in_place_of_ ? owner_.at(*in_place_of_) : result;
    for (const std::string& name : step.frees) owner_.erase(name);
    return text;
  }

  const tensix::LoweredGraph& given_;
  const tensix::LoweredGraph network_;
  const tensix::CardPlan& plan_;
  emit::Script script_;
  std::map<std::string, const LoweredNode*> nodes_;
  std::map<std::string, Placement> places_;
  std::map<std::string, std::string> owner_;  // of live values: whose memory it is
  const LoweredNode* node_ = nullptr;         // the step that is written
  std::vector<std::string> inputs_;           // of it
  std::vector<std::string> frees_;            // after it
  std::string result_;                        // what it makes, in Python
  std::optional<std::string> in_place_of_;
  LayerConfig config_;
};

}  // namespace

emit::Script ttnn_script(const tensix::LoweredGraph& network, const tensix::CardPlan& plan,
                         const std::string& weights_file) {
  return Writer(network, plan, weights_file).run();
}

}  // namespace tessera::tensix
