// Small random networks on the kernels of this processor, beside the definition: the bytes say which operators, in
// which shapes, on which instruction set and how many threads.

#include "fuzz.h"

#include "tessera/core/isa.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/graph.h"
#include "tessera/session/session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace tessera;

constexpr int kMostNodes = 8;

// One choice after the other; where the bytes end, always the first.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  // 0 where there is nothing to choose from: the axes of a scalar.
  std::int64_t below(std::int64_t n) { return n > 0 && at_ < bytes_.size() ? bytes_[at_++] % n : 0; }
  std::int64_t between(std::int64_t least, std::int64_t most) { return least + below(most - least + 1); }
  bool coin() { return below(2) == 1; }
  bool more() const { return at_ < bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

class Builder {
 public:
  explicit Builder(Choices& choices) : choices_(choices) {
    const Shape shape{choices.between(1, 2), choices.between(1, 20), choices.between(1, 12), choices.between(1, 12)};
    values_.push_back(graph_.add_input("x", TensorType(ElementType::float32, shape)));
  }

  // A node that does not fit is left out: what is refused is not what is looked for here.
  void add_node() {
    const ValueId x = values_[static_cast<std::size_t>(choices_.below(static_cast<std::int64_t>(values_.size())))];
    Graph before = graph_;
    try {
      const ValueId y = make(x);
      infer_types(graph_);
      const TensorType& type = graph_.value(y).type;
      if (type.is_static() && type.shape().volume() > 0 && type.shape().volume() < 1 << 15) {
        values_.push_back(y);
        return;
      }
    } catch (const Error& error) {
      fuzz::require(error.code() != Code::internal, "a refusal is not our own fault");
    }
    graph_ = std::move(before);
  }

  Graph take() {
    graph_.outputs = {values_.back()};
    if (choices_.coin()) graph_.outputs.push_back(values_[values_.size() / 2]);
    return std::move(graph_);
  }

 private:
  ValueId weights(const Shape& shape) {
    Array array(ElementType::float32, shape);
    std::normal_distribution<float> normal;
    for (float& value : array.as<float>()) value = normal(random_);
    return graph_.add_constant("w" + std::to_string(graph_.values.size()), std::move(array));
  }
  template <class O>
  ValueId add(O op, std::vector<ValueId> inputs) {
    return graph_.add_node("n" + std::to_string(graph_.nodes.size()), std::move(op), std::move(inputs))[0];
  }
  Window window(bool with_kernel) {
    Window w;
    const std::int64_t k = choices_.between(1, 4);
    if (with_kernel) w.kernel = {k, choices_.between(1, 3)};
    w.strides = {choices_.between(1, 2), choices_.between(1, 2)};
    const std::int64_t pad = choices_.below(2);
    w.pads = {pad, pad, choices_.below(2), pad};
    return w;
  }

  ValueId make(ValueId x) {
    const TensorType type = graph_.value(x).type;
    const bool image = type.rank() == 4;
    const std::int64_t channels = type.rank() > 1 ? type.shape()[1] : 1;
    switch (choices_.below(14)) {
      case 0:
      case 1: {  // convolution: dense, grouped or of each channel alone
        if (!image) return x;
        const std::int64_t groups = choices_.coin() ? 1 : choices_.coin() ? channels : (channels % 2 == 0 ? 2 : 1);
        const std::int64_t out = groups * choices_.between(1, groups > 1 ? 2 : 34);
        Conv conv{window(false), groups};
        if (choices_.below(4) == 0) conv.window.dilations = {2, choices_.between(1, 2)};
        std::vector<ValueId> inputs{
            x, weights(Shape{out, channels / groups, choices_.between(1, 3), choices_.between(1, 3)})};
        if (choices_.coin()) inputs.push_back(weights(Shape{out}));
        return add(conv, inputs);
      }
      case 2: {
        constexpr Unary::Kind kKinds[] = {Unary::Kind::relu,       Unary::Kind::sigmoid, Unary::Kind::tanh,
                                          Unary::Kind::silu,       Unary::Kind::gelu,    Unary::Kind::abs,
                                          Unary::Kind::hard_swish, Unary::Kind::exp};
        return add(Unary{kKinds[choices_.below(8)]}, {x});
      }
      case 3: {
        constexpr Binary::Kind kKinds[] = {Binary::Kind::add, Binary::Kind::sub, Binary::Kind::mul, Binary::Kind::max};
        return add(Binary{kKinds[choices_.below(4)]}, {x, values_.back()});
      }
      case 4: return image ? add(MaxPool{window(true), choices_.coin()}, {x}) : x;
      case 5: return image ? add(AveragePool{window(true), choices_.coin(), choices_.coin()}, {x}) : x;
      case 6: return image ? add(GlobalPool{}, {x}) : x;
      case 7: return add(Concat{choices_.below(type.rank())}, {x, values_.back()});
      case 8:
        return image ? add(BatchNorm{}, {x, weights(Shape{channels}), weights(Shape{channels}),
                                         weights(Shape{channels}), positive(channels)})
                     : x;
      case 9: return add(Softmax{choices_.below(type.rank())}, {x});
      case 10: {
        std::vector<std::int64_t> order{0, 1, 2, 3};
        order.resize(static_cast<std::size_t>(type.rank()));
        std::shuffle(order.begin(), order.end(), random_);
        return add(Transpose{order}, {x});
      }
      case 11: {
        constexpr Reduce::Kind kKinds[] = {Reduce::Kind::mean, Reduce::Kind::sum, Reduce::Kind::max};
        return add(Reduce{kKinds[choices_.below(3)], {choices_.below(type.rank())}, choices_.coin()}, {x});
      }
      case 12: {
        if (type.rank() == 0) return x;
        const std::int64_t inner = type.shape()[type.rank() - 1];
        return add(MatMul{}, {x, weights(Shape{inner, choices_.between(1, 40)})});
      }
      default: return add(Binary{Binary::Kind::mul}, {x, weights(Shape{1})});
    }
  }

  ValueId positive(std::int64_t channels) {
    Array array(ElementType::float32, Shape{channels});
    for (float& value : array.as<float>()) value = 0.5f + static_cast<float>(random_() % 100) / 100;
    return graph_.add_constant("v" + std::to_string(graph_.values.size()), std::move(array));
  }

  Choices& choices_;
  Graph graph_;
  std::vector<ValueId> values_;
  std::mt19937_64 random_{1};
};

// What sums of that many products of numbers of that size may be off, through all nodes: each of them may double what
// came into it, times what its own weights and sums add.
double tolerance(const Graph& graph, const Array& x, bool exact) {
  Graph all = graph;
  all.outputs.clear();
  for (const Node& node : all.nodes)
    for (const ValueId id : node.outputs)
      if (id != kNoValue) all.outputs.push_back(id);
  double largest = 1, sums = 1;
  for (const Array& value : evaluate(all, {x}))
    for (const double element : value.to_double())
      if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  for (const Node& node : graph.nodes)
    for (const ValueId id : node.inputs)
      if (id != kNoValue && graph.value(id).constant)
        sums += static_cast<double>(graph.value(id).constant->count()) /
                static_cast<double>(std::max<std::int64_t>(1, graph.value(id).constant->shape()[0]));
  constexpr double kWinograd = 16;
  return largest * sums * std::ldexp(1.0, static_cast<int>(graph.nodes.size())) *
         std::numeric_limits<float>::epsilon() * (exact ? 1 : kWinograd);
}

}  // namespace

int fuzz_one(std::span<const std::uint8_t> input) {
  Choices choices(input);
  SessionOptions options;
  options.threads = static_cast<int>(choices.between(1, 3));
  options.isa = static_cast<Isa>(choices.below(static_cast<std::int64_t>(host_isa()) + 1));
  options.exact = choices.coin();
  Builder builder(choices);
  for (int n = 0; n < kMostNodes && choices.more(); ++n) builder.add_node();
  const Graph graph = builder.take();
  Array x(ElementType::float32, graph.value(graph.inputs[0]).type.shape());
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal;
  for (float& value : x.as<float>()) value = normal(random);
  const std::vector<Array> wanted = evaluate(graph, {x}), got = Session(graph, options).run({x});
  const double allowed = tolerance(graph, x, options.exact);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    fuzz::require(wanted[i].shape() == got[i].shape(), "outputs have the shapes of the definition");
    const std::vector<double> a = wanted[i].to_double(), b = got[i].to_double();
    for (std::size_t k = 0; k < a.size(); ++k)
      fuzz::require(std::isnan(a[k]) == std::isnan(b[k]) &&
                        (!std::isfinite(a[k]) || a[k] == b[k] || std::abs(a[k] - b[k]) <= allowed),
                    "kernels compute what the definition does");
  }
  return static_cast<int>(graph.nodes.size());
}
