#include "tessera/targets/neuron/emit/nki.h"

#include "tessera/core/refusal.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/neuron/emit/emit_nki.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tessera::neuron {
namespace {

constexpr std::string_view kNkiHead = R"py(
import json
import pathlib
import sys

)py";

constexpr std::string_view kNkiTail = R"py(

def run_layer(name, x, weights):
    """A layer of the network, from its input to its output, as the network has them."""
    kernel, _, pads, pool, relu, _ = LAYERS[name]
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[0]), (pads[1], pads[1])))
    y = kernel(x, weights[name + ".weight"], weights[name + ".bias"], pool)
    return np.maximum(y, 0) if relu else y


def definition(name, x, weights):
    """The same in float64, and the sums of magnitudes that its rounding grows with."""
    _, _, pads, pool, relu, _ = LAYERS[name]
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[0]), (pads[1], pads[1]))).astype(np.float64)
    w, bias = weights[name + ".weight"].astype(np.float64), weights[name + ".bias"].astype(np.float64)
    k = w.shape[2]
    oh, ow = x.shape[2] - k + 1, x.shape[3] - k + 1
    y = np.zeros((x.shape[0], w.shape[0], oh, ow)) + bias[:, None, None]
    size = np.abs(y)
    for i in range(k):
        for j in range(k):
            window = x[:, :, i : i + oh, j : j + ow]
            y += np.einsum("oc,nchw->nohw", w[:, :, i, j], window, optimize=True)
            size += np.einsum("oc,nchw->nohw", np.abs(w[:, :, i, j]), np.abs(window), optimize=True)
    shape = (y.shape[0], y.shape[1], oh // pool, pool, ow // pool, pool)
    y, size = y.reshape(shape).max(axis=(3, 5)), size.reshape(shape).max(axis=(3, 5))
    return (np.maximum(y, 0) if relu else y), size


def main():
    wanted = sys.argv[1:] or list(LAYERS)
    for name in wanted:
        if name not in LAYERS:
            why = f"left out: {LEFT_OUT[name]}" if name in LEFT_OUT else "no layer of this script"
            sys.exit(f"{name}: {why}\nlayers: {', '.join(LAYERS)}")
    weights = read_safetensors(pathlib.Path(__file__).resolve().parent / WEIGHTS_FILE)
    right = 0
    for name in wanted:
        _, shape, _, _, _, simulated = LAYERS[name]
        x = np.random.default_rng(42).standard_normal(shape).astype(np.float32)
        y = run_layer(name, x, weights)
        want, size = definition(name, x, weights)
        terms = weights[name + ".weight"][0].size
        same = y.shape == want.shape and bool((np.abs(y - want) <= (terms + 2) * 2.0**-23 * size).all())
        right += same
        print(f"{name}: {list(y.shape)}, {simulated:.1f} us simulated, {'right' if same else 'WRONG'}", flush=True)
    for name, why in LEFT_OUT.items():
        print(f"{name}: left out: {why}")
    print(f"{right} of {len(wanted)} layers right")
    return 0 if right == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
)py";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// The imports and the kernel of a script for one problem.
struct KernelText {
  std::string imports, kernel;
};
KernelText kernel_text(const NkiLayer& layer) {
  const std::string script = neuron::nki_script(layer.problem, layer.schedule);
  const std::size_t imports = script.find("import numpy"), rows = script.find("ROWS = ");
  const std::size_t main = script.find("\n\nif __name__");
  check(imports < rows && rows < main && main != std::string::npos, Code::internal,
        "an NKI script is not made as it was");
  return {script.substr(imports, rows - imports), script.substr(rows, main - rows)};
}

class NkiWriter {
 public:
  NkiWriter(Graph graph, const NeuronSpec& spec, const std::function<void(const std::string&)>& progress)
      : graph_(std::move(graph)), spec_(spec), progress_(progress) {
    run_passes(graph_, {.off = {"fuse_epilogue"}});
    readers_.resize(graph_.values.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const ValueId id : graph_.nodes[i].inputs)
        if (id != kNoValue) readers_[static_cast<std::size_t>(id)].push_back(i);
    for (const ValueId id : graph_.outputs) readers_[static_cast<std::size_t>(id)].push_back(graph_.nodes.size());
  }

  NkiNetwork run(const std::string& model, const std::string& weights_file) {
    out_.script.weights_file = weights_file;
    std::size_t covered = 0;
    for (const Node& node : graph_.nodes)
      if (const auto* conv = std::get_if<Conv>(&node.op)) covered += plan(node, *conv);
    out_.other_operators = static_cast<std::int64_t>(graph_.nodes.size() - covered - out_.left_out.size());
    if (out_.layers.empty()) refuse_all();
    write(model);
    return std::move(out_);
  }

 private:
  const Node* only_reader(ValueId id) const {
    const auto& readers = readers_[static_cast<std::size_t>(id)];
    return readers.size() == 1 && readers[0] < graph_.nodes.size() ? &graph_.nodes[readers[0]] : nullptr;
  }

  std::size_t left_out(const Node& node, std::string reason) {
    out_.left_out.push_back({node.name, std::move(reason)});
    return 0;
  }

  // How many nodes of the graph the kernel covers.
  std::size_t plan(const Node& node, const Conv& op) {
    const Shape in = graph_.value(node.inputs[0]).type.shape();
    const Array* weights = graph_.value(node.inputs[1]).constant.get();
    const bool biased = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
    if (in.rank() != 4) return left_out(node, fmt::format("its image has rank {}", in.rank()));
    if (weights == nullptr || (biased && !graph_.value(node.inputs[2]).constant))
      return left_out(node, "its weights are computed");
    tessera::Window window = op.window;
    window.kernel = {weights->shape()[2], weights->shape()[3]};
    const ResolvedWindow w = resolve(window, {in[2], in[3]}, false, Conv::kName);
    if (op.groups != 1) return left_out(node, fmt::format("{} groups", op.groups));
    if (w.strides != std::vector<std::int64_t>{1, 1})
      return left_out(node, fmt::format("a stride of {}x{}", w.strides[0], w.strides[1]));
    if (w.dilations != std::vector<std::int64_t>{1, 1}) return left_out(node, "it is dilated");
    if (w.kernel[0] != w.kernel[1]) return left_out(node, fmt::format("a filter of {}x{}", w.kernel[0], w.kernel[1]));
    if (w.begins != w.ends) return left_out(node, "padding differs from side to side");

    NkiLayer layer;
    layer.node = node.name;
    layer.pad_h = w.begins[0];
    layer.pad_w = w.begins[1];
    layer.problem = {in[0],       in[1], weights->shape()[0], in[2] + 2 * layer.pad_h, in[3] + 2 * layer.pad_w,
                     w.kernel[0], 1,     ElementType::float32};
    std::size_t covered = 1;
    const Node* next = only_reader(node.outputs[0]);
    const auto* function = next != nullptr ? std::get_if<Unary>(&next->op) : nullptr;
    if (function != nullptr && function->kind == Unary::Kind::relu) {
      layer.relu = true;
      ++covered;
      next = only_reader(next->outputs[0]);
    }
    if (next != nullptr && takes_pool(*next, layer.problem)) {
      layer.problem.pool = 2;
      ++covered;
    }
    if (const auto found = attempt([&] { search(layer); }); !found) return left_out(node, found.refusal().reason());
    keep(node.name + ".weight", *weights);
    Array none(ElementType::float32, Shape{layer.problem.oc});
    keep(node.name + ".bias", biased ? *graph_.value(node.inputs[2]).constant : none);
    out_.layers.push_back(std::move(layer));
    return covered;
  }

  static bool takes_pool(const Node& node, const neuron::ConvProblem& p) {
    const auto* pool = std::get_if<MaxPool>(&node.op);
    if (pool == nullptr || p.oh() % 2 != 0 || p.ow() % 2 != 0) return false;
    const ResolvedWindow w = resolve(pool->window, {p.oh(), p.ow()}, pool->ceil_mode, MaxPool::kName);
    const std::vector<std::int64_t> two{2, 2}, none{0, 0}, one{1, 1};
    return w.kernel == two && w.strides == two && w.dilations == one && w.begins == none && w.ends == none &&
           (node.outputs.size() < 2 || node.outputs[1] == kNoValue);
  }

  void search(NkiLayer& layer) {
    const std::string key = layer.problem.text();
    auto found = known_.find(key);
    if (found == known_.end()) {
      neuron::check_problem(spec_, layer.problem);
      if (progress_) progress_(layer.node);
      const neuron::ConvTuning tuning = neuron::tune_conv(spec_, layer.problem);
      found = known_.emplace(key, std::pair(tuning.winner().schedule, tuning.winner().profile->total_us())).first;
    }
    layer.schedule = found->second.first;
    layer.simulated_us = found->second.second;
  }

  void keep(const std::string& name, const Array& array) {
    std::vector<std::int64_t> shape;
    for (int d = 0; d < array.shape().rank(); ++d) shape.push_back(array.shape()[d]);
    out_.script.weights.push_back({name, std::move(shape), std::make_shared<const Array>(array)});
  }

  [[noreturn]] void refuse_all() const {
    std::vector<std::string> reasons;
    for (const NkiRefusal& each : out_.left_out) reasons.push_back(fmt::format("'{}': {}", each.node, each.reason));
    fail(Code::unsupported, Hint{"the kernel takes convolutions with stride 1 and multiples of 128 channels"},
         "no layer can be written as a fused convolution for a NeuronCore{}{}", reasons.empty() ? "" : ": ",
         fmt::join(reasons, "; "));
  }

  void write(const std::string& model) {
    std::string kernels, layers, left_out, imports;
    std::map<std::string, int> numbers;
    for (const NkiLayer& layer : out_.layers) {
      const KernelText text = kernel_text(layer);
      imports = text.imports;
      const auto [found, fresh] = numbers.emplace(text.kernel, static_cast<int>(numbers.size()));
      if (fresh) {
        std::string kernel = text.kernel;
        const std::string suffix = fmt::format("_{}", found->second);
        for (const std::string_view name : {"ROWS", "BLOCKS", "fused_conv2d_maxpool"})
          replace_all(kernel, name, std::string(name) + suffix);
        kernels += "\n" + kernel + "\n";
      }
      const neuron::ConvProblem& p = layer.problem;
      layers += fmt::format(
          "    # {}\n    {}: (fused_conv2d_maxpool_{}, ({}, {}, {}, {}), ({}, {}), {}, {}, {:.1f}),\n",
          layer.schedule.text(), emit::py(layer.node), found->second, p.n, p.ic, p.h - 2 * layer.pad_h,
          p.w - 2 * layer.pad_w, layer.pad_h, layer.pad_w, p.pool, emit::py(layer.relu), layer.simulated_us);
    }
    for (const NkiRefusal& each : out_.left_out)
      left_out += fmt::format("    {}: {},\n", emit::py(each.node), emit::py(each.reason));
    std::string& text = out_.script.text;
    text = fmt::format(
        R"("""{}: {} of its {} convolutions as fused kernels (convolution, bias, maximum pool) for a NeuronCore, as
planned by Tessera.

    python FILE.py [LAYER ...]

Runs with neuronxcc.nki, or on tessera.nki where that is not installed, and compares each layer with its definition.
Weights lie beside it. LEFT_OUT says which convolutions are missing, and why; {} other operators are not written.
"""

)",
        emit::py_comment(model), out_.layers.size(), out_.layers.size() + out_.left_out.size(), out_.other_operators);
    text += kNkiHead.substr(1);
    text += imports;
    text += fmt::format("WEIGHTS_FILE = {}\n", emit::py(out_.script.weights_file));
    text += kernels;
    text += fmt::format(
        "\n# name: kernel, input, padding of rows and columns, pool, relu behind it, microseconds simulated\nLAYERS = "
        "{{\n{}}}\nLEFT_OUT = {{\n{}}}\n",
        layers, left_out);
    text += "\n\n" + std::string(emit::kReadSafetensors) + std::string(kNkiTail);
  }

  Graph graph_;
  const NeuronSpec& spec_;
  const std::function<void(const std::string&)>& progress_;
  std::vector<std::vector<std::size_t>> readers_;
  std::map<std::string, std::pair<neuron::ConvSchedule, double>> known_;
  NkiNetwork out_;
};

}  // namespace

NkiNetwork nki_network(Graph graph, const NeuronSpec& spec, const std::string& model, const std::string& weights_file,
                       const std::function<void(const std::string&)>& progress) {
  return NkiWriter(std::move(graph), spec, progress).run(model, weights_file);
}

}  // namespace tessera::neuron
